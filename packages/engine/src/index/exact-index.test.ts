import type { IndexPlan, Metadata } from "@sheaf/protocol";
import { describe, expect, it } from "vitest";
import type { StoredRecord } from "../storage/stored-record.ts";
import { type ExactIndex, createExactIndex } from "./exact-index.ts";
import { SEGMENT_ROWS, listBits } from "./row-set.ts";
import { sparseParts } from "./sparse-parts.ts";

const PLAN: IndexPlan = {
  space: "l2",
  embeddingFunction: null,
  sparse: [{ key: "terms", bm25: true, sourceKey: null, embeddingFunction: null }],
};

function record(offset: number, changes: Partial<StoredRecord> = {}): StoredRecord {
  return {
    offset,
    sequence: offset + 1,
    id: `r${offset}`,
    embedding: Float32Array.of(offset, 1),
    document: null,
    uri: null,
    metadata: null,
    ...changes,
  };
}

function withTerms(...indices: number[]): Metadata {
  const values = new Float32Array(indices.length).fill(1);
  return new Map([["terms", { indices: Uint32Array.from(indices), values, tokens: indices.map(String) }]]);
}

function newIndex(records: readonly StoredRecord[] = []): ExactIndex {
  const read = (offset: number): StoredRecord | null => records[offset] ?? null;
  const index = createExactIndex(PLAN, { read, readVector: read });
  for (const one of records) index.put(one);
  return index;
}

function offsets(index: ExactIndex): number[] {
  const snapshot = index.snapshot();
  return listBits(snapshot.live.words)
    .map((position) => snapshot.offset(position))
    .sort((a, b) => a - b);
}

describe("ExactIndex", () => {
  it("holds the newest version of every record", () => {
    const index = newIndex([record(0), record(1), record(2)]);
    index.put(record(1, { sequence: 9, embedding: Float32Array.of(7, 7) }));
    index.remove(0);
    index.remove(0);
    expect(index.size).toBe(2);
    expect(offsets(index)).toStrictEqual([1, 2]);
    const position = index.position("r1");
    expect(index.snapshot().sequence(position ?? -1)).toBe(9);
    expect(index.position("r0")).toBeNull();
  });

  it("takes an id again under a new offset", () => {
    const index = newIndex([record(0)]);
    index.put(record(5, { id: "r0" }));
    index.remove(0);
    expect(offsets(index)).toStrictEqual([5]);
  });

  it("keeps a snapshot as it was while records change, go and move", () => {
    const records = Array.from({ length: SEGMENT_ROWS + 10 }, (_, i) => record(i));
    const index = newIndex(records);
    const snapshot = index.snapshot();
    const positions = listBits(snapshot.live.words);
    for (let i = 0; i < SEGMENT_ROWS; i++) index.remove(i);
    index.put(record(SEGMENT_ROWS, { sequence: 99_999 }));
    expect(index.snapshot()).not.toBe(snapshot);
    expect(positions.map((position) => snapshot.id(position))).toStrictEqual(records.map(({ id }) => id));
    expect(positions.map((position) => snapshot.sequence(position))).toStrictEqual(
      records.map(({ sequence }) => sequence),
    );
    expect(snapshot.size).toBe(records.length);
  });

  it("never keeps more garbage than a few segments beside what lives", () => {
    const count = 2 * SEGMENT_ROWS;
    const index = newIndex(Array.from({ length: count }, (_, i) => record(i)));
    for (let i = 0; i < 6 * count; i++) {
      const offset = (i * 7_919) % count;
      index.put(record(offset, { sequence: count + i, metadata: withTerms(offset % 5) }));
    }
    expect(index.size).toBe(count);
    expect(offsets(index)).toStrictEqual(Array.from({ length: count }, (_, i) => i));
    const { segments } = index.snapshot();
    expect(segments.reduce((rows, segment) => rows + segment.count, 0)).toBeLessThanOrEqual(
      2 * count + SEGMENT_ROWS,
    );
  });

  it("drops its memory when the last record goes", () => {
    const index = newIndex([record(0), record(1)]);
    index.remove(0);
    index.remove(1);
    expect(index.snapshot().segments).toStrictEqual([]);
    index.put(record(2));
    expect(offsets(index)).toStrictEqual([2]);
  });

  it("keeps of a sparse vector only that there is one", () => {
    const index = newIndex([record(0, { metadata: withTerms(1) })]);
    const value = index.snapshot().metadata(0)?.get("terms");
    expect(value).toStrictEqual({ indices: new Uint32Array(0), values: new Float32Array(0) });
  });

  it("indexes what is already there when a plan names a new sparse key", () => {
    const records = Array.from({ length: SEGMENT_ROWS + 3 }, (_, i) =>
      record(i, { metadata: new Map([...withTerms(i % 2)].map(([, value]) => ["other", value])) }),
    );
    const index = newIndex(records);
    expect(sparseParts(index.snapshot(), "other")).toStrictEqual({ blocks: [], tails: [] });
    // A version that is newer than the index's: the write that brings it is under way.
    records[5] = record(5, { sequence: 99_999, metadata: withTerms(7) });
    const other = { key: "other", bm25: true, sourceKey: null, embeddingFunction: null };
    index.setPlan({ ...PLAN, sparse: [...PLAN.sparse, other] });
    const { blocks, tails } = sparseParts(index.snapshot(), "other");
    const terms = Uint32Array.of(0, 1, 7);
    expect(blocks.map(({ block }) => [...block.sums.count(terms, null)])).toStrictEqual([
      [SEGMENT_ROWS / 2, SEGMENT_ROWS / 2 - 1, 0],
    ]);
    expect(tails).toHaveLength(1);
    index.setPlan({ ...PLAN, sparse: [other] });
    expect(sparseParts(index.snapshot(), "terms")).toStrictEqual({ blocks: [], tails: [] });
    expect(sparseParts(index.snapshot(), "other").blocks).toHaveLength(1);
  });

  it("reads the stored vectors again when the space changes", () => {
    const index = newIndex([record(0, { embedding: Float32Array.of(3, 4) }), record(1)]);
    index.setPlan({ ...PLAN, space: "cosine" });
    const [segment] = index.snapshot().segments;
    expect([...(segment?.vector(0) ?? [])]).toStrictEqual([Math.fround(0.6), Math.fround(0.8)]);
    index.setPlan(PLAN);
    expect([...(index.snapshot().segments[0]?.vector(0) ?? [])]).toStrictEqual([3, 4]);
  });

  it("refuses a vector of another dimension", () => {
    const index = newIndex([record(0)]);
    expect(() => index.put(record(1, { embedding: new Float32Array(3) }))).toThrow(/dimension/);
  });

  it("is empty after it was closed", () => {
    const index = newIndex([record(0)]);
    index.close();
    expect(index.size).toBe(0);
    expect(index.position("r0")).toBeNull();
  });
});
