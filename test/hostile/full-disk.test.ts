/**
 * A disk that two tenants fill up at the same time: 507 for what has no room beside the reserve, nothing of it is kept,
 * reads and deletes go on, and so do writes once there is room again.
 */
import { mkdirSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type SmallDisk, makeSmallDisk } from "../damage/testing/small-disk.ts";
import { Stage } from "./testing/stage.ts";
import { type Tenant, createTenant } from "./testing/tenant.ts";

const MIB = 1024 * 1024;
const WITHIN_MIB = 1_500;
const COLLECTIONS = 4;
const WRITES_PER_COLLECTION = 4;
/** Characters of the documents of one round after the other, each until nothing of that size fits. */
const ROUNDS = [2 * MIB, 512 * 1024, 32 * 1024];
const MOST_ROUNDS = 12;
/** What the catalog may take of the reserve. */
const CATALOG_BYTES = 256 * 1024;
const SAMPLE_MS = 5;
const WROTE = 200;
const FULL = 507;

interface Writer {
  readonly tenant: Tenant;
  readonly path: string;
  /** Id -> length of its document, of those that were acknowledged. */
  readonly stored: Map<string, number>;
}

let disk: SmallDisk;
let stage: Stage;
let writers: readonly Writer[];

beforeAll(async () => {
  disk = makeSmallDisk({ diskBytes: 96 * MIB, reserveBytes: 10 * MIB });
  const data = join(disk.folder, "data");
  mkdirSync(data);
  stage = await Stage.open({ data, env: { SHEAF_DISK_RESERVE: String(disk.reserveBytes) } });
  const tenants = [stage.attacker, await createTenant(stage.served, "second")];
  writers = await Promise.all(
    tenants.flatMap((tenant) =>
      Array.from({ length: COLLECTIONS }, async (_, i) => {
        const path = await tenant.createCollection(`filled-${i}`);
        return { tenant, path, stored: new Map<string, number>() };
      }),
    ),
  );
});
afterAll(async () => {
  await stage.close();
  disk.dispose();
});

function freeBytes(): number {
  const { bavail, bsize } = statfsSync(disk.folder);
  return bavail * bsize;
}

/** The least that was free at any time of the work. */
async function leastFree(work: () => Promise<void>): Promise<number> {
  let least = freeBytes();
  const timer = setInterval(() => (least = Math.min(least, freeBytes())), SAMPLE_MS);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  return least;
}

let made = 0;

async function write({ tenant, path, stored }: Writer, characters: number): Promise<number> {
  const id = `r${made++}`;
  const body = { ids: [id], embeddings: [[1, 2]], documents: [id.padEnd(characters, "x")] };
  const reply = await tenant.send(`${path}/upsert`, body);
  const text = await reply.text();
  if (reply.status === WROTE) stored.set(id, characters);
  else if (reply.status === FULL) expect(text).toMatch(/disk of the data folder is full/u);
  else expect([reply.status, text]).toEqual([429, expect.anything()]);
  return reply.status;
}

/** All writers at once, several writes each. */
function round(characters: number): Promise<readonly number[]> {
  const writes = writers.flatMap((writer) =>
    Array.from({ length: WRITES_PER_COLLECTION }, () => write(writer, characters)),
  );
  return Promise.all(writes);
}

async function fillUp(): Promise<ReadonlyMap<number, number>> {
  const counts = new Map<number, number>();
  for (const characters of ROUNDS) {
    for (let i = 0; i < MOST_ROUNDS; i++) {
      const statuses = await round(characters);
      for (const status of statuses) counts.set(status, (counts.get(status) ?? 0) + 1);
      if (statuses.every((status) => status === FULL)) break;
    }
  }
  return counts;
}

async function expectStored({ tenant, path, stored }: Writer): Promise<void> {
  const all = await tenant.expect<{ ids: string[]; documents: string[] }>(200, `${path}/get`, {
    include: ["documents"],
  });
  expect(new Map(all.ids.map((id, i) => [id, all.documents[i]!.length]))).toEqual(stored);
}

describe("a disk that is filled up by two tenants at once", () => {
  it("keeps its reserve, its records and its readers", async () => {
    await stage.unharmed(WITHIN_MIB, async () => {
      let counts: ReadonlyMap<number, number> = new Map();
      const least = await leastFree(async () => {
        counts = await fillUp();
      });
      expect(counts.get(WROTE) ?? 0).toBeGreaterThan(0);
      expect(counts.get(FULL) ?? 0).toBeGreaterThan(0);
      expect(least).toBeGreaterThanOrEqual(disk.reserveBytes - CATALOG_BYTES);
      for (const writer of writers) await expectStored(writer);
    });
  });

  it("takes deletes, and writes again once a collection is gone", async () => {
    await stage.unharmed(WITHIN_MIB, async () => {
      const [first, ...others] = writers as [Writer, ...Writer[]];
      const [id] = first.stored.keys();
      await first.tenant.expect(200, `${first.path}/delete`, { ids: [id] });
      first.stored.delete(id!);
      await expectStored(first);
      const largest = others.toSorted((a, b) => bytesOf(b) - bytesOf(a))[0]!;
      const name = `filled-${(writers.indexOf(largest) % COLLECTIONS).toString()}`;
      const path = `${largest.tenant.collections}/${name}`;
      expect((await largest.tenant.send(path, undefined, { method: "DELETE" })).status).toBe(200);
      expect(await write(first, 512 * 1024)).toBe(WROTE);
      await expectStored(first);
      expect(freeBytes()).toBeGreaterThanOrEqual(disk.reserveBytes);
    });
  });
});

function bytesOf({ stored }: Writer): number {
  return [...stored.values()].reduce((sum, length) => sum + length, 0);
}
