/** Regular expressions that take long or much memory hurt only the request that brings them. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LIMITS } from "@sheaf/protocol";
import { SLOW_PATTERN } from "./testing/attack-requests.ts";
import { Stage } from "./testing/stage.ts";
import { type Tenant, createTenant } from "./testing/tenant.ts";

const REQUEST_SECONDS = 8;
/** Whoever waits for a slow expression waits for as long as that may take. */
const HELD_UP_MS = 4_000;
const WITHIN_MIB = 800;
const WORDS = ["river", "engine", "forest", "bridge"];

let stage: Stage;
let neighbour: Tenant;
let long: string;
let short: string;
let neighbours: string;

beforeAll(async () => {
  stage = await Stage.open({ args: ["--request-seconds", String(REQUEST_SECONDS)] });
  neighbour = await createTenant(stage.served, "neighbour");
  long = await fill(stage.attacker, ["a".repeat(100_000), "a".repeat(2_000_000)]);
  short = await fill(stage.attacker, manyDocuments());
  neighbours = await fill(neighbour, manyDocuments());
});
afterAll(async () => {
  await stage.close();
});

function manyDocuments(): string[] {
  return Array.from({ length: 2_000 }, (_, i) => `fast ${WORDS[i % 4]} ${i} `);
}

async function fill(tenant: Tenant, documents: readonly string[]): Promise<string> {
  const path = await tenant.createCollection(`documents-${documents.length}`);
  const ids = documents.map((_, i) => `r${i}`);
  await tenant.expect(201, `${path}/add`, { ids, documents, embeddings: ids.map((_, i) => [i, 1]) });
  return path;
}

interface Found {
  readonly status: number;
  readonly ids: readonly string[];
  readonly message: string;
  readonly retryAfter: string | null;
}

async function get(tenant: Tenant, path: string, where: object, signal?: AbortSignal): Promise<Found> {
  const body = { where_document: where, include: [] };
  const reply = await tenant.send(`${path}/get`, body, signal === undefined ? {} : { signal });
  const { ids, message } = (await reply.json()) as { ids?: string[]; message?: string };
  const retryAfter = reply.headers.get("retry-after");
  return { status: reply.status, ids: ids ?? [], message: message ?? "", retryAfter };
}

/** Asks the neighbour's own expression until `work` is over. */
async function beside<T>(work: Promise<T>): Promise<T> {
  const over = new AbortController();
  const settled = work.finally(() => over.abort());
  settled.catch(() => {});
  for (let i = 0; !over.signal.aborted || i < 3; i++) {
    const startedAt = performance.now();
    const found = await get(neighbour, neighbours, { $regex: `(?i)FAST (river|engine) ${i % 2_000} $` });
    expect(found).toMatchObject({ status: 200, ids: i % 4 < 2 && i < 2_000 ? [`r${i}`] : [] });
    expect(performance.now() - startedAt).toBeLessThan(HELD_UP_MS);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return settled;
}

function endedThreads(): Promise<number> {
  return stage.metric("sheaf_regex_ended_threads");
}

describe("a tenant with slow regular expressions", () => {
  it("waits alone: its request is answered 504 and its thread ended", async () => {
    await stage.unharmed(WITHIN_MIB, async () => {
      const slow = get(stage.attacker, long, { $regex: SLOW_PATTERN });
      expect(await beside(slow)).toMatchObject({ status: 504 });
      // The same text, and an expression of the same size that is done in time.
      const legal = await get(stage.attacker, long, {
        $or: [{ $regex: "^(?:aa)*$" }, { $regex: "a{100}b" }],
      });
      expect(legal).toMatchObject({ status: 200, ids: ["r0", "r1"] });
    });
  });

  it("frees its thread by leaving, and deletes nothing by a filter that is not done", async () => {
    await stage.unharmed(WITHIN_MIB, async () => {
      const before = await endedThreads();
      const leave = async (): Promise<number> => {
        const left = get(stage.attacker, long, { $regex: SLOW_PATTERN }, AbortSignal.timeout(500));
        expect(await beside(left.catch(String))).toMatch(/aborted|timeout/iu);
        return endedThreads();
      };
      // One who leaves before its turn has come ends none.
      await expect.poll(leave).toBeGreaterThan(before);
      const doomed = stage.attacker.send(
        `${long}/delete`,
        { where_document: { $not_regex: SLOW_PATTERN } },
        { signal: AbortSignal.timeout(500) },
      );
      await expect(doomed).rejects.toThrow(/aborted|timeout/iu);
      expect((await get(stage.attacker, long, { $regex: "a" })).ids).toEqual(["r0", "r1"]);
    });
  });

  it("gets 429 with Retry-After for what its queue does not hold, and everything else answered", async () => {
    await stage.unharmed(WITHIN_MIB, async () => {
      const leaving = new AbortController();
      const slow = get(stage.attacker, long, { $regex: SLOW_PATTERN }, leaving.signal).catch(() => null);
      const asked: Promise<Found>[] = [];
      for (let i = 0; i < LIMITS.queuedRegexRequests + 50; i++) {
        asked.push(get(stage.attacker, short, { $regex: `fast (river|engine) ${i} ` }));
        // All at once it is the connections that this process opens that take long.
        if (i % 32 === 0) await new Promise((resolve) => setTimeout(resolve, 50));
      }
      const answers = beside(Promise.all(asked));
      const refusals = asked.map(async (answer) => expect((await answer).status).toBe(429));
      // The thread is held until the queue is full.
      await Promise.race([Promise.any(refusals), slow]);
      leaving.abort();
      const found = await answers;
      await slow;
      const [refused, answered] = [
        found.filter(({ status }) => status === 429),
        found.filter(({ status }) => status === 200),
      ];
      expect(refused.length + answered.length).toBe(found.length);
      expect(refused.length).toBeGreaterThan(0);
      expect(refused.every(({ retryAfter }) => retryAfter !== null)).toBe(true);
      expect(answered.length).toBeGreaterThanOrEqual(LIMITS.queuedRegexRequests);
      for (const [i, { status, ids }] of found.entries()) {
        if (status === 200) expect(ids).toEqual(i % 4 < 2 ? [`r${i}`] : []);
      }
    });
  });
});

describe("a tenant with large regular expressions", () => {
  it("takes the memory of a few at a time", async () => {
    const large = Array.from({ length: LIMITS.regexPatterns }, (_, i) => ({
      $regex: `\\w{120}|fast r.* ${i} $`,
    }));
    const { value } = await stage.unharmed(WITHIN_MIB, () =>
      beside(get(stage.attacker, short, { $or: large })),
    );
    expect(value.status === 504 || value.ids.length === 16).toBe(true);
    const few = await get(stage.attacker, short, { $or: large.slice(0, 5) });
    expect(few).toMatchObject({ status: 200, ids: ["r0", "r4"] });
  });

  it("is told which one is too large", async () => {
    const { value } = await stage.unharmed(WITHIN_MIB, () =>
      beside(get(stage.attacker, short, { $and: [{ $regex: "fast" }, { $regex: "\\w{400}" }] })),
    );
    expect(value).toMatchObject({
      status: 400,
      message: expect.stringMatching(/^where_document\.\$and\[1\]\.\$regex: .*size limit/u),
    });
    expect(await get(stage.attacker, short, { $regex: "^fast \\w{1,60} 7 $" })).toMatchObject({
      ids: ["r7"],
    });
  });
});
