/** The whole process group is killed during mixed writes, again and again: what was acknowledged is there, whole. */
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { descendants, ServedSheaf, temporaryFolder, waitUntilGone } from "../e2e/testing/served-sheaf.ts";
import { canonical, type Random, readState, Writer } from "./writer.ts";

const CYCLES = Number(process.env["SHEAF_KILL_CYCLES"] ?? 20);
const SEED = Number(process.env["SHEAF_SEED"] ?? Date.now() % 2 ** 31);
const WRITERS = 4;

describe("kill -9 of the process group", () => {
  it(
    `loses nothing acknowledged in ${CYCLES} cycles (seed ${SEED})`,
    { timeout: 60_000 + CYCLES * 15_000 },
    async () => {
      const random = seeded(SEED);
      const data = await temporaryFolder();
      const writers = Array.from({ length: WRITERS }, (_, i) => new Writer(`w${i}`, random));
      let acknowledged = 0;
      for (let cycle = 0; cycle < CYCLES; cycle++) {
        const served = await ServedSheaf.start({ data, group: true });
        await check(served, writers, `cycle ${cycle}, seed ${SEED}`);
        const running = Promise.all(writers.map((writer) => writer.run(served)));
        await sleep(20 + random() * 400);
        acknowledged += await killGroup(served, running);
      }
      const served = await ServedSheaf.start({ data });
      await check(served, writers, `the end, seed ${SEED}`);
      expect(await served.stop()).toBe(0);
      await rm(data, { recursive: true, force: true });
      expect(acknowledged).toBeGreaterThan(CYCLES);
    },
  );
});

async function check(served: ServedSheaf, writers: readonly Writer[], when: string): Promise<void> {
  for (const writer of writers) {
    const found = await readState(served, writer.prefix);
    expect(writer.allowed.map(canonical), `${writer.prefix} at ${when}`).toContain(canonical(found));
    writer.resume(found);
  }
}

async function killGroup(served: ServedSheaf, running: Promise<number[]>): Promise<number> {
  const children = await descendants(served.pid);
  const exited = once(served.process, "exit");
  process.kill(-served.pid, "SIGKILL");
  await exited;
  const counts = await running;
  expect(await waitUntilGone(children)).toEqual([]);
  return counts.reduce((sum, count) => sum + count, 0);
}

/** mulberry32, so that a printed seed repeats a run's choices. */
function seeded(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
