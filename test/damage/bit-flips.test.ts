/**
 * Bits are turned at random in the files of collections, while no server runs and while one does: whatever is
 * answered is right, one collection never takes another along for longer than 5 s, and the server always starts.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServedSheaf } from "../e2e/testing/served-sheaf.ts";
import { OWN_FILES, collectionFile, flipBits, seeded } from "./testing/damage-files.ts";
import { hostPid, KnownCollection } from "./testing/known-collection.ts";

const SEEDS = Number(process.env["SHEAF_FLIP_SEEDS"] ?? 40);
const FIRST_SEED = Number(process.env["SHEAF_SEED"] ?? 1);

let served: ServedSheaf;
let sound: KnownCollection;
const current = (): ServedSheaf => served;

beforeAll(async () => {
  served = await ServedSheaf.start({ env: OWN_FILES });
  sound = await KnownCollection.make(current, "sound");
});
afterAll(() => served.dispose());

/** Between one bit and sixty-four. */
function damage(collection: KnownCollection, seed: number): void {
  const random = seeded(seed);
  flipBits(collectionFile(served.data, collection.id), 2 ** Math.floor(random() * 7), random);
}

async function makeVictims(from: number, count: number): Promise<ReadonlyMap<number, KnownCollection>> {
  const victims = new Map<number, KnownCollection>();
  for (let seed = from; seed < from + count; seed++) {
    victims.set(seed, await KnownCollection.make(current, `victim-${seed}`));
  }
  return victims;
}

/** Reads and writes the damaged collections, with the sound one in between. */
async function useAll(victims: ReadonlyMap<number, KnownCollection>): Promise<string> {
  let right = 0;
  let hosts = 0;
  for (const [seed, victim] of victims) {
    try {
      const host = await hostPid(served);
      right += await victim.expectRightOrRefused();
      await sound.expectSound();
      const { status } = await victim.upsert(`later-${seed}`, 1);
      expect([200, 500, 503]).toContain(status);
      await sound.expectSound();
      if ((await hostPid(served)) !== host) hosts += 1;
    } catch (error) {
      const log = served.output.split("\n").slice(-6).join("\n");
      const problem = error instanceof Error ? error.message : String(error);
      throw new Error(`seed ${seed}: ${problem}; the server said last: ${log}`, { cause: error });
    }
  }
  return `${right} of ${5 * victims.size} reads answered, ${hosts} hosts ended`;
}

describe(`turned bits, ${SEEDS} seeds from ${FIRST_SEED}`, () => {
  it("in closed collections", { timeout: 60_000 + SEEDS * 5_000 }, async () => {
    const victims = await makeVictims(FIRST_SEED, Math.ceil(SEEDS / 2));
    await served.stop();
    for (const [seed, victim] of victims) damage(victim, seed);
    served = await ServedSheaf.start({ data: served.data, env: OWN_FILES });
    await sound.expectSound();
    console.log(await useAll(victims));
  });

  it("in open collections", { timeout: 60_000 + SEEDS * 5_000 }, async () => {
    const half = Math.ceil(SEEDS / 2);
    const victims = await makeVictims(FIRST_SEED + half, SEEDS - half);
    for (const [seed, victim] of victims) damage(victim, seed);
    console.log(await useAll(victims));
  });

  it("keep nothing from being deleted, and no server from starting", async () => {
    await served.stop();
    served = await ServedSheaf.start({ data: served.data, env: OWN_FILES });
    await sound.expectSound();
    const listed = await served.ask<{ name: string }[]>(
      "/api/v2/tenants/default_tenant/databases/default_database/collections",
    );
    expect(listed).toHaveLength(SEEDS + 1);
    for (const { name } of listed) {
      const path = `/api/v2/tenants/default_tenant/databases/default_database/collections/${name}`;
      expect((await served.request(path, { method: "DELETE" })).status).toBe(200);
    }
    expect(await served.stop()).toBe(0);
  });
});
