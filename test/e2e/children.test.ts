/** A killed engine host or model replica comes back by itself; callers in between hear 503 with Retry-After. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { descendants, type ProcessInfo, ServedSheaf } from "./testing/served-sheaf.ts";

const MINILM = { "x-service-embedding-model": "sentence-transformers/all-MiniLM-L6-v2" };
const COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections";

let served: ServedSheaf;
let collection: string;

beforeAll(async () => {
  served = await ServedSheaf.start();
  const made = await served.ask<{ id: string }>(COLLECTIONS, { name: "loaded" });
  collection = `${COLLECTIONS}/${made.id}`;
  await served.ask(`${collection}/add`, {
    ids: Array.from({ length: 200 }, (_, i) => `r${i}`),
    embeddings: Array.from({ length: 200 }, (_, i) => [i, 1, 0]),
  });
});

afterAll(async () => {
  await served.dispose();
});

async function child(pattern: RegExp): Promise<ProcessInfo> {
  const found = (await descendants(served.pid)).find(({ command }) => pattern.test(command));
  if (found === undefined) throw new Error(`no child matches ${pattern.source}`);
  return found;
}

interface Seen {
  readonly status: number;
  readonly retryAfter: string | null;
}

/** Sends requests from four callers until told to stop; gives every answer. */
function load(send: () => Promise<Response>): { stop: () => Promise<readonly Seen[]> } {
  const seen: Seen[] = [];
  const halt = new AbortController();
  const callers = Array.from({ length: 4 }, async () => {
    while (!halt.signal.aborted) {
      const response = await send();
      await response.arrayBuffer();
      seen.push({ status: response.status, retryAfter: response.headers.get("retry-after") });
    }
  });
  return {
    stop: async () => {
      halt.abort();
      await Promise.all(callers);
      return seen;
    },
  };
}

function expectOnlyShortOutage(seen: readonly Seen[]): void {
  const refused = seen.filter(({ status }) => status !== 200);
  expect(refused.length).toBeGreaterThan(0);
  for (const { status, retryAfter } of refused) {
    expect(status).toBe(503);
    expect(Number(retryAfter)).toBeGreaterThanOrEqual(1);
  }
  expect(seen.at(-1)?.status).toBe(200);
}

describe("a child that is killed under load", () => {
  it("engine host: comes back with everything that was acknowledged", async () => {
    const before = await child(/engine-host/u);
    const query = { json: { query_embeddings: [[3, 1, 0]], n_results: 3 } };
    const callers = load(() => served.request(`${collection}/query`, query));
    await sleep(300);
    process.kill(before.pid, "SIGKILL");
    await untilOk(() => served.request(`${collection}/count`));
    await sleep(300);
    expectOnlyShortOutage(await callers.stop());
    expect((await child(/engine-host/u)).pid).not.toBe(before.pid);
    expect(await served.ask(`${collection}/count`)).toBe(200);
  });

  it("model replica: only its own batch is lost", async () => {
    const embed = { json: { texts: ["a short text", "and another"], instructions: "" }, headers: MINILM };
    await untilOk(() => served.request("/embed", embed));
    const before = await child(/replica/u);
    const callers = load(() => served.request("/embed", embed));
    await sleep(300);
    // A stopped one has a batch when it is killed; another might be between two.
    process.kill(before.pid, "SIGSTOP");
    await sleep(300);
    process.kill(before.pid, "SIGKILL");
    await sleep(200);
    await untilOk(() => served.request("/embed", embed));
    expectOnlyShortOutage(await callers.stop());
    expect((await child(/replica/u)).pid).not.toBe(before.pid);
  });
});

async function untilOk(send: () => Promise<Response>): Promise<void> {
  for (let attempt = 0; attempt < 1_000; attempt++) {
    if ((await send()).status === 200) return;
    await sleep(50);
  }
  throw new Error("it did not come back");
}
