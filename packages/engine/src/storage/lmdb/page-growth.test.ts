/** What a batch is expected to take, held against what LMDB makes of it: never less, and not far more. */
import { tmpdir } from "node:os";
import { describe, expect, it } from "vitest";
import { record } from "../../testing/engine-fixtures.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { createDiskSpace } from "../folder/disk-space.ts";
import { LmdbRecordStore } from "./lmdb-record-store.ts";
import { ownEnvironment } from "./own-environment.ts";
import type { StoreView } from "../record-store.ts";
import { planRemove, planWrite } from "../../collection/plan-write.ts";

interface Batch {
  readonly records: number;
  readonly dimension: number;
  readonly characters: number;
  /** Number of the first id. */
  readonly from: number;
}

/** Ids in no order that offsets have. */
const idOf = (n: number): string => `${(n * 7_919) % 99_991}-${n}`;

async function put(store: LmdbRecordStore, batch: Batch): Promise<{ expected: number; found: number }> {
  const before = store.usedBytes;
  const records = Array.from({ length: batch.records }, (_, i) =>
    record(idOf(batch.from + i), {
      embedding: new Float32Array(batch.dimension).fill(i),
      document: "x".repeat(batch.characters),
    }),
  );
  let expected = 0;
  await store.apply(
    (view: StoreView) => planWrite(view, { kind: "upsert", records }),
    (growth) => (expected = growth),
  );
  return { expected, found: store.usedBytes - before };
}

describe("the expected growth of a store", () => {
  it.each([
    ["values that share pages", 16, 20],
    ["values of which two fill a page", 400, 300],
    ["values that just have pages of their own", 500, 100],
    ["large values", 8, 60_000],
  ])("is not less than what %s take, nor far more", async (_what, dimension, characters) => {
    const folder = temporaryFolder();
    const store = new LmdbRecordStore(
      ownEnvironment({ folder, name: "test", disk: createDiskSpace(tmpdir()) }),
    );
    const shape = { dimension, characters };
    const batches: readonly Batch[] = [
      { ...shape, records: 500, from: 0 },
      { ...shape, records: 1, from: 500 },
      { ...shape, records: 200, from: 501 },
      { ...shape, records: 1, from: 701 },
      { ...shape, records: 30, from: 702 },
    ];
    for (const batch of batches) {
      const { expected, found } = await put(store, batch);
      expect(expected).toBeGreaterThanOrEqual(found);
      if (batch.records >= 200) expect(expected).toBeLessThan(2.5 * found);
    }
    // What replaces as much takes nothing.
    expect(await put(store, { ...shape, records: 500, from: 0 })).toEqual({ expected: 0, found: 0 });
    const longer = await put(store, { dimension, characters: characters * 2, records: 100, from: 0 });
    expect(longer.expected).toBeGreaterThanOrEqual(longer.found);
    const shorter = await put(store, { dimension, characters: 1, records: 100, from: 0 });
    expect(shorter.expected).toBeGreaterThanOrEqual(shorter.found);
    await store.apply(
      (view) => planRemove(view, [idOf(0)]),
      () => expect.unreachable("removing is not measured"),
    );
    await store.close();
  });
});
