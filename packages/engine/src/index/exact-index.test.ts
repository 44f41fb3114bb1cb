import type { IndexPlan, Metadata } from "@sheaf/protocol";
import { describe, expect, it } from "vitest";
import type { StoredRecord } from "../storage/stored-record.ts";
import { type ExactIndex, createExactIndex } from "./exact-index.ts";
import { SEGMENT_ROWS, listBits } from "./row-set.ts";
import { SparsePostings, SparseSums } from "./sparse-postings.ts";

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
  const index = createExactIndex(PLAN, { read: (offset) => records[offset] ?? null });
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

  it("weighs query terms by idf over the live records", () => {
    const index = newIndex([
      record(0, { metadata: withTerms(1, 2) }),
      record(1, { metadata: withTerms(1) }),
      record(2),
      record(3, { metadata: withTerms(1) }),
    ]);
    const query = { indices: Uint32Array.of(1, 2, 3), values: Float32Array.of(1, 2, 4) };
    const idf = (n: number, nt: number): number => Math.fround(Math.log(1 + (n - nt + 0.5) / (nt + 0.5)));
    const weights = (n: number, ...holders: number[]): number[] =>
      holders.map((nt, i) => Math.fround(2 ** i * idf(n, nt)));
    expect([...index.sparseWeights("terms", query)]).toStrictEqual(weights(4, 3, 1, 0));
    index.put(record(1, { metadata: withTerms(2) }));
    index.remove(3);
    expect([...index.sparseWeights("terms", query)]).toStrictEqual(weights(3, 1, 2, 0));
  });

  it("keeps sparse vectors without their tokens", () => {
    const index = newIndex([record(0, { metadata: withTerms(1) })]);
    const value = index.snapshot().metadata(0)?.get("terms");
    expect(value).toStrictEqual({ indices: Uint32Array.of(1), values: Float32Array.of(1) });
  });

  it("indexes what is already there when a plan names a new sparse key", () => {
    const records = Array.from({ length: SEGMENT_ROWS + 3 }, (_, i) =>
      record(i, { metadata: new Map([...withTerms(i % 2)].map(([, value]) => ["other", value])) }),
    );
    const index = newIndex(records);
    expect(index.snapshot().segments[0]?.postings("other")).toBeUndefined();
    const other = { key: "other", bm25: true, sourceKey: null, embeddingFunction: null };
    index.setPlan({ ...PLAN, sparse: [...PLAN.sparse, other] });
    const { segments, live } = index.snapshot();
    const holders = segments.map((segment, i) => {
      const into = new SparseSums();
      segment.postings("other")?.accumulate(1, 1, into);
      return into.rows(live.segment(i)).length;
    });
    expect(holders).toStrictEqual([SEGMENT_ROWS / 2, 1]);
    const query = { indices: Uint32Array.of(1), values: Float32Array.of(1) };
    const [n, nt] = [SEGMENT_ROWS + 3, SEGMENT_ROWS / 2 + 1];
    expect(index.sparseWeights("other", query)[0]).toBe(
      Math.fround(Math.log(1 + (n - nt + 0.5) / (nt + 0.5))),
    );
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

describe("SparsePostings", () => {
  it("adds up the same sums before and after they are packed", () => {
    const postings = new SparsePostings();
    postings.add(0, { indices: Uint32Array.of(3, 4_294_967_295), values: Float32Array.of(0.1, 0.7) });
    postings.add(2, { indices: Uint32Array.of(3, 8), values: Float32Array.of(0, 5) });
    postings.add(3, { indices: Uint32Array.of(3), values: Float32Array.of(9) });
    const mask = Uint32Array.of(0b0111);
    const sums = (): unknown => {
      const into = new SparseSums();
      for (const [term, weight] of [
        [3, 0.3],
        [5, 1],
        [4_294_967_295, 0.9],
      ] as const) {
        postings.accumulate(term, Math.fround(weight), into);
      }
      return { rows: into.rows(mask), sums: into.sums.slice(0, 3) };
    };
    const before = sums();
    const product = (a: number, b: number): number => Math.fround(Math.fround(a) * Math.fround(b));
    expect(before).toStrictEqual({
      // Row 2 shares a term whose value is 0; row 3 is not in the mask.
      rows: [0, 2],
      sums: Float32Array.of(Math.fround(product(0.3, 0.1) + product(0.9, 0.7)), -0, 0),
    });
    postings.seal();
    expect(sums()).toStrictEqual(before);
  });
});
