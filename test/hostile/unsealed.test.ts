/** Records that come faster than index files are written: their memory stays within its bound, and nobody else waits. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { MIB } from "./testing/memory-watch.ts";
import { LONGEST_TURN_MS, Stage } from "./testing/stage.ts";

const WITHIN_MIB = 2_000;
const BOUND_GIB = 1 / 16;
const DIMENSION = 384;
const BATCH = 1_000;
const BATCHES = 60;
const WRITERS = 4;
/** As many as make a segment full. */
const ARRAYS = 44;
const NUMBERS = 100_000;
/** Batches that were let in before it was too much. */
const AHEAD_MIB = (WRITERS * BATCH * (4 * DIMENSION + 300)) / MIB;

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open({ args: ["--unsealed-memory", String(BOUND_GIB)] });
});
afterAll(() => stage.close());

async function unsealedMib(): Promise<number> {
  return (await stage.metric('sheaf_index_memory_bytes{kind="unsealed"}')) / MIB;
}

/** The highest of many looks. */
async function highest(isOver: () => boolean): Promise<number> {
  let most = 0;
  while (!isOver()) {
    most = Math.max(most, await unsealedMib());
    await sleep(50);
  }
  return most;
}

it("a load at full speed is slowed to what can be sealed, and loses nothing", async () => {
  const path = await stage.attacker.createCollection("load");
  let next = 0;
  let isOver = false;
  const { value: most } = await stage.unharmed(WITHIN_MIB, async () => {
    const watched = highest(() => isOver);
    await Promise.all(
      Array.from({ length: WRITERS }, async () => {
        for (let batch = next++; batch < BATCHES; batch = next++) {
          await stage.attacker.expect(200, `${path}/upsert`, {
            ids: Array.from({ length: BATCH }, (_, i) => `r${batch * BATCH + i}`),
            embeddings: Array.from({ length: BATCH }, (_, i) => vectorOf(batch * BATCH + i)),
          });
        }
      }),
    );
    isOver = true;
    return watched;
  });
  if (process.env["HOSTILE_FIGURES"] !== undefined) console.log(`${Math.round(most)} MiB not sealed at most`);
  expect(most).toBeLessThan(1_024 * BOUND_GIB + AHEAD_MIB);
  const count = await stage.attacker.send(`${path}/count`);
  expect(await count.json()).toBe(BATCH * BATCHES);
});

it("millions of different numbers in arrays are indexed in short turns", async () => {
  const path = await stage.attacker.createCollection("arrays");
  const body = JSON.stringify({
    ids: Array.from({ length: ARRAYS }, (_, i) => `r${i}`),
    embeddings: Array.from({ length: ARRAYS }, (_, i) => [i, 1]),
    metadatas: Array.from({ length: ARRAYS }, (_, i) => ({
      numbers: Array.from({ length: NUMBERS }, (_, n) => i * NUMBERS + n),
    })),
  });
  const { turns } = await stage.unharmed(WITHIN_MIB, async () => {
    await stage.attacker.expect(201, `${path}/add`, body);
    while ((await unsealedMib()) > 1) await sleep(50);
  });
  expect(turns.host, "processor time of a turn of the engine host in ms").toBeLessThan(LONGEST_TURN_MS);
});

/** No two lie on the same place. */
function vectorOf(i: number): number[] {
  return Array.from({ length: DIMENSION }, (_, d) =>
    Math.fround(((i * 7_919 + d * 104_729) % 10_007) / 10_007),
  );
}
