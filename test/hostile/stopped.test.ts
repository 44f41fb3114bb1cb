/**
 * Processes of the server that are stopped while they have calls: the health routes say so, what waits is bounded, and
 * everything is answered once they go on. Threads that read bodies are part of the gateway and stop with it.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { descendants } from "../e2e/testing/served-sheaf.ts";
import { QUESTIONS } from "./testing/bystander.ts";
import { MIB, MemoryWatch } from "./testing/memory-watch.ts";
import { Stage } from "./testing/stage.ts";

const WITHIN_MIB = 1_500;
const PATIENCE = { timeout: 30_000, interval: 50 };
const WRITES = 12;
const READS = 50;
const DOCUMENT = "word ".repeat(MIB);

let stage: Stage;
let path: string;
beforeAll(async () => {
  stage = await Stage.open();
  path = await stage.attacker.createCollection("written");
  await write(0);
});
afterAll(() => stage.close());

async function write(i: number): Promise<number> {
  const body = { ids: [`r${i}`], embeddings: [[i, 1]], documents: [DOCUMENT] };
  const reply = await stage.attacker.send(`${path}/upsert`, body);
  await reply.arrayBuffer();
  return reply.status;
}

async function read(): Promise<number> {
  const reply = await stage.attacker.send(`${path}/get`, { ids: ["r0"], include: [] });
  await reply.arrayBuffer();
  return reply.status;
}

function health(): Promise<readonly number[]> {
  return Promise.all(
    ["/readyz", "/api/v2/healthcheck", "/livez"].map((route) =>
      stage.served.request(route).then(({ status }) => status),
    ),
  );
}

/** Stops the process while `work` goes on. */
async function whileStopped<T>(pid: number, work: () => Promise<T>): Promise<T> {
  process.kill(pid, "SIGSTOP");
  try {
    return await work();
  } finally {
    process.kill(pid, "SIGCONT");
  }
}

async function expectUnharmed(host: number): Promise<void> {
  await expect.poll(health, PATIENCE).toEqual([200, 200, 200]);
  for (const [i, question] of QUESTIONS.entries()) {
    expect((await stage.bystander.ask(question, i)).fault).toBeNull();
  }
  expect(await stage.hostPid(), "the engine host was not started again").toBe(host);
  expect(stage.served.output).not.toMatch(/out of service|hangs/u);
}

describe("an engine host that is stopped", () => {
  it("is told of within 10 s, and answers what waited once it goes on", async () => {
    const host = await stage.hostPid();
    const watch = MemoryWatch.start(stage.served.pid);
    const { writes, reads } = await whileStopped(host, async () => {
      const waiting = {
        writes: Array.from({ length: WRITES }, (_, i) => write(i)),
        reads: Array.from({ length: READS }, read),
      };
      await expect.poll(health, { timeout: 10_000, interval: 100 }).toEqual([503, 503, 200]);
      return waiting;
    });
    for (const status of await Promise.all(writes)) expect([200, 429]).toContain(status);
    expect(new Set(await Promise.all(reads))).toEqual(new Set([200]));
    expect((await watch.stop()) / MIB, "anonymous memory in MiB").toBeLessThan(WITHIN_MIB);
    await expectUnharmed(host);
  });
});

describe("a model's process that is stopped", () => {
  it("holds up embedding and nothing else", async () => {
    const host = await stage.hostPid();
    const replica = (await descendants(stage.served.pid)).find(({ command }) =>
      /replica-process/u.test(command),
    );
    const embedding = await whileStopped(replica!.pid, async () => {
      const asked = stage.bystander.ask("embed", 0);
      for (let i = 0; i < 20; i++) {
        expect((await stage.bystander.ask(i % 2 === 0 ? "get" : "search", i)).fault).toBeNull();
      }
      expect(await health()).toEqual([200, 200, 200]);
      return { asked };
    });
    expect((await embedding.asked).fault).toBeNull();
    await expectUnharmed(host);
  });
});

describe("a gateway that is stopped", () => {
  it("blames nobody and answers what waited", async () => {
    const host = await stage.hostPid();
    const waiting = await whileStopped(stage.served.pid, async () => {
      const asked = [write(0), read(), stage.bystander.ask("search", 1).then(({ fault }) => fault ?? 200)];
      await sleep(4_000);
      return asked;
    });
    expect(await Promise.all(waiting)).toEqual([200, 200, 200]);
    await expectUnharmed(host);
  });
});
