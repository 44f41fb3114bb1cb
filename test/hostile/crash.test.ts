/**
 * The engine host is ended, again and again, while several tenants have calls in flight: only whoever ended it is held
 * responsible. The restarts are forced here, by signals and by exhausting the heap of the host for real.
 */
import { copyFileSync, truncateSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { OWN_FILES, PAGE_BYTES, collectionFile } from "../damage/testing/damage-files.ts";
import { COME_BACK, QUESTIONS } from "./testing/bystander.ts";
import { Stage } from "./testing/stage.ts";

const PATIENCE = { timeout: 30_000, interval: 50 };
/** Has every process of the server fill up its heap when it gets this signal; only the host is sent it. */
const EXHAUST_HEAP = "SIGUSR2";
const HOOK = `process.on("${EXHAUST_HEAP}", () => { for (const held = []; ; ) held.push({ held }); });`;

const OUT_OF_SERVICE = "out of service";

let stage: Stage;
let hookFolder: string;
/** Path of a collection of the attacker. */
let attacked: string;

beforeAll(async () => {
  hookFolder = await mkdtemp(join(tmpdir(), "sheaf-hook-"));
  await writeFile(join(hookFolder, "exhaust-heap.mjs"), HOOK);
});
afterAll(() => rm(hookFolder, { recursive: true, force: true }));

// A server for each: what is attributed to a tenant lasts for ten minutes.
beforeEach(async () => {
  const hook = pathToFileURL(join(hookFolder, "exhaust-heap.mjs")).href;
  stage = await Stage.open({
    env: { ...OWN_FILES, NODE_OPTIONS: `--max-old-space-size=250 --import=${hook}` },
  });
  attacked = await stage.attacker.createCollection("attacked");
  await fill(attacked);
});
afterEach(() => stage.close());

async function fill(path: string): Promise<void> {
  const ids = Array.from({ length: 50 }, (_, i) => `r${i}`);
  const documents = ids.map((id) => `${id} ${"x".repeat(2_000)}`);
  await stage.attacker.expect(201, `${path}/add`, {
    ids,
    documents,
    embeddings: ids.map((_, i) => [i, 1]),
  });
}

async function count(path: string): Promise<{ status: number; retryAfter: number }> {
  const reply = await stage.attacker.send(`${path}/count`);
  await reply.arrayBuffer();
  return { status: reply.status, retryAfter: Number(reply.headers.get("retry-after")) };
}

async function untilReady(): Promise<void> {
  await expect.poll(() => stage.served.request("/readyz").then(({ status }) => status), PATIENCE).toBe(200);
}

/** Ends the host while a call of the attacker is in flight, and one of the bystander that came later. */
async function exhaustHeap(): Promise<void> {
  const pid = await stage.hostPid();
  process.kill(pid, EXHAUST_HEAP);
  // It takes about a second, in which the host comes round to nothing else.
  await sleep(100);
  const attack = count(attacked);
  await sleep(100);
  const { fault } = await stage.bystander.ask("get", 1);
  expect(fault).toMatch(COME_BACK);
  expect((await attack).status).toBe(503);
  await expect.poll(() => stage.hostPid().catch(() => pid), PATIENCE).not.toBe(pid);
  await untilReady();
}

describe("ends of the engine host", () => {
  it("by signals cost a bystander that works all the time nothing but 503 with Retry-After for a moment", async () => {
    const signals = ["SIGSEGV", "SIGKILL", "SIGABRT", "SIGKILL", "SIGKILL"] as const;
    const { answers } = await stage.bystander.during(async () => {
      for (const signal of signals) {
        const pid = await stage.hostPid();
        process.kill(pid, signal);
        await expect.poll(() => stage.hostPid().catch(() => pid), PATIENCE).not.toBe(pid);
        await sleep(500);
      }
      await untilReady();
    });
    const faults = answers.flatMap(({ fault }) => fault ?? []);
    expect(faults.filter((fault) => !COME_BACK.test(fault))).toEqual([]);
    for (const [i, question] of QUESTIONS.entries()) {
      expect((await stage.bystander.ask(question, i)).fault).toBeNull();
    }
    expect((await count(attacked)).status).toBe(200);
  });

  it("by an exhausted heap are attributed to the tenant that caused them, and to no collection", async () => {
    for (let round = 0; round < 3; round++) {
      expect((await count(attacked)).status).toBe(200);
      await exhaustHeap();
      expect((await stage.bystander.ask("get", round)).fault).toBeNull();
    }
    expect(stage.served.output).toContain("SIGABRT: out of memory");
    expect(stage.served.output).not.toContain(OUT_OF_SERVICE);
    const refused = await count(attacked);
    expect(refused.status).toBe(503);
    expect(refused.retryAfter).toBeGreaterThan(60);
    const { answers } = await stage.bystander.during(() => sleep(1_000));
    expect(answers.flatMap(({ fault }) => fault ?? [])).toEqual([]);
    // What is not heavy goes on, and a collection can be removed.
    await stage.attacker.expect(200, stage.attacker.collections);
    await stage.attacker.createCollection("another");
    const removed = await stage.attacker.send(`${stage.attacker.collections}/attacked`, undefined, {
      method: "DELETE",
    });
    expect(removed.status).toBe(200);
  });

  it("by a damaged file take that collection alone out of service, until its file is restored", async () => {
    const host = await stage.hostPid();
    const file = collectionFile(stage.served.data, attacked.split("/").at(-1)!);
    const backup = join(hookFolder, "backup.mdb");
    copyFileSync(file, backup);
    truncateSync(file, 2 * PAGE_BYTES);
    const write = async (): Promise<number> => {
      const record = { ids: ["new"], embeddings: [[1, 1]] };
      return (await stage.attacker.send(`${attacked}/upsert`, record)).status;
    };
    const { answers } = await stage.bystander.during(async () => {
      await expect
        .poll(async () => [await write(), stage.served.output][1], PATIENCE)
        .toContain(OUT_OF_SERVICE);
      await expect.poll(write, PATIENCE).toBe(500);
      for (let i = 0; i < 5; i++) expect([500, 503]).toContain(await write());
    });
    expect(answers.flatMap(({ fault }) => fault ?? []).filter((fault) => !COME_BACK.test(fault))).toEqual([]);
    await untilReady();
    expect((await stage.bystander.ask("search", 7)).fault).toBeNull();
    const next = await stage.hostPid();
    expect(next).not.toBe(host);
    copyFileSync(backup, file);
    await expect.poll(write, PATIENCE).toBe(200);
    expect(await stage.hostPid(), "nothing had to be started again").toBe(next);
  });
});
