import { setTimeout } from "node:timers/promises";
import type { IndexPlan, Metadata } from "@sheaf/protocol";
import { describe, expect, it } from "vitest";
import { DataAbsent } from "../storage/data-absent.ts";
import { runSteps } from "../storage/steps.ts";
import type { StoredRecord } from "../storage/stored-record.ts";
import { BLOCK_DOCS } from "../segment/block-docs.ts";
import { CollectionIndex } from "./collection-index.ts";
import type { CollectionIndexOptions } from "./collection-index-options.ts";
import { listBits } from "../segment/bits.ts";
import { sparseParts } from "./sparse-parts.ts";
import { TermNumbers } from "../segment/postings/term-numbers.ts";
import { IndexMemory } from "../storage/files/index-memory.ts";

const PLAN: IndexPlan = {
  space: "l2",
  embeddingFunction: null,
  sparse: [{ key: "terms", bm25: true, sourceKey: null, embeddingFunction: null }],
};

/** So small that a few hundred rows go through every stage. */
const SIZES = { mutableRows: 64, sealedRows: 256 };

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

/** The index reads what is in `records` by offset. */
function newIndex(records: readonly StoredRecord[] = [], options?: CollectionIndexOptions): CollectionIndex {
  const read = (offset: number): StoredRecord | null => records[offset] ?? null;
  const index = new CollectionIndex(PLAN, { read, readVector: read }, options);
  for (const one of records) index.put(one);
  return index;
}

async function built(index: CollectionIndex): Promise<void> {
  while (index.isBuilding) await setTimeout(1);
}

function offsets(index: CollectionIndex): number[] {
  const snapshot = index.snapshot();
  return listBits(snapshot.live.words)
    .map((position) => snapshot.offset(position))
    .sort((a, b) => a - b);
}

describe("CollectionIndex", () => {
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
    const records = Array.from({ length: 500 }, (_, i) => record(i));
    const index = newIndex(records, { sizes: SIZES });
    const snapshot = index.snapshot();
    const positions = listBits(snapshot.live.words);
    for (let i = 0; i < 450; i++) index.remove(i);
    index.put(record(470, { sequence: 99_999 }));
    expect(index.snapshot()).not.toBe(snapshot);
    expect(positions.map((position) => snapshot.id(position))).toStrictEqual(records.map(({ id }) => id));
    expect(positions.map((position) => snapshot.sequence(position))).toStrictEqual(
      records.map(({ sequence }) => sequence),
    );
    expect(snapshot.size).toBe(records.length);
  });

  it("never keeps more garbage than a few segments beside what lives", async () => {
    const count = 500;
    for (const denseRows of [1, Infinity]) {
      const records = Array.from({ length: count }, (_, i) => record(i));
      const index = newIndex(records, { sizes: SIZES, denseRows });
      for (let i = 0; i < 60 * count; i++) {
        const offset = (i * 7_919) % count;
        records[offset] = record(offset, { sequence: count + i, metadata: withTerms(offset % 5) });
        index.put(records[offset]);
        if (i % 2_000 === 0) await built(index);
        const { segments } = index.snapshot();
        expect(segments.reduce((rows, { capacity }) => rows + capacity, 0)).toBeLessThanOrEqual(5 * count);
      }
      expect(index.size).toBe(count);
      expect(offsets(index)).toStrictEqual(Array.from({ length: count }, (_, i) => i));
      index.close();
    }
  });

  it("seals nothing and needs no records while it is being filled", async () => {
    const stored = Array.from({ length: 500 }, (_, i) => record(i, { sequence: 1_000 + i }));
    const problems: unknown[] = [];
    let isHere = false;
    const read = (offset: number): StoredRecord | null => {
      if (!isHere) throw new DataAbsent(null);
      return stored[offset] ?? null;
    };
    const index = new CollectionIndex(
      PLAN,
      { read, readVector: read },
      { sizes: SIZES, denseRows: 1, filling: true, onProblem: (error) => void problems.push(error) },
    );
    for (const { offset } of stored) index.put(record(offset));
    // Most rows of each segment go.
    for (const one of stored) if (one.offset % 4 > 0) index.put(one);
    for (const one of stored) if (one.offset % 4 === 0) index.put(one);
    runSteps(index.keepUp(10_000));
    expect(index.segments.filter(({ segment }) => segment.isSealed)).toEqual([]);
    isHere = true;
    index.filled();
    await built(index);
    expect(index.segments.filter(({ segment }) => segment.isSealed)).not.toEqual([]);
    expect(offsets(index)).toEqual(stored.map(({ offset }) => offset));
    expect(problems).toEqual([]);
    index.close();
  });

  it("keeps about as much garbage as there are rows, also where no segment is ever full", async () => {
    const index = new CollectionIndex(PLAN, {
      read: (offset) => stored[offset] ?? null,
      readVector: () => null,
    });
    const stored = Array.from({ length: 300 }, (_, offset) => record(offset));
    let most = 0;
    for (let sequence = 1; sequence <= 20_000; sequence++) {
      const offset = (sequence * 7) % 300;
      stored[offset] = record(offset, { sequence });
      index.put(stored[offset]);
      most = Math.max(
        most,
        index.segments.reduce(
          (sum, { segment }) => sum + (segment.isSealed ? segment.rows : segment.count),
          0,
        ),
      );
    }
    expect(most).toBeLessThan(4 * 300 + 256);
    await built(index);
    expect(offsets(index)).toEqual(stored.map(({ offset }) => offset));
    expect(index.segments.every(({ segment }) => !segment.isSealed)).toBe(true);
    index.close();
  });

  it("keeps little of long metadata that was overwritten", () => {
    const index = newIndex();
    const text = "x".repeat(500_000);
    let most = 0;
    for (let sequence = 1; sequence <= 300; sequence++) {
      index.put(
        record(sequence % 3, {
          sequence,
          metadata: new Map([["text", `${sequence} ${text}`]]),
        }),
      );
      const segments = index.segments.map(({ segment }) => (segment.isSealed ? 0 : segment.bytes));
      most = Math.max(
        most,
        segments.reduce((sum, bytes) => sum + bytes, 0),
      );
    }
    // Three records of 1 MB, and about as much again.
    expect(most).toBeLessThan(10_000_000);
    expect(offsets(index)).toEqual([0, 1, 2]);
    index.close();
  });

  it("seals few records where their metadata is long", async () => {
    const records: StoredRecord[] = [];
    const index = newIndex(records);
    const metadata = (i: number): Metadata => new Map([["text", `${i} ${"x".repeat(500_000)}`]]);
    for (let i = 0; i < 150; i++) index.put((records[i] = record(i, { metadata: metadata(i) })));
    await built(index);
    expect(index.segments.some(({ segment }) => segment.isSealed)).toBe(true);
    expect(offsets(index)).toEqual(records.map(({ offset }) => offset));
    const snapshot = index.snapshot();
    expect(snapshot.metadataValue(index.position("r77")!, "text")).toMatch(/^77 x/);
    index.close();
  });

  it("finds every record by id and offset while segments are sealed and merged", async () => {
    const records: StoredRecord[] = [];
    const index = newIndex(records, { sizes: SIZES, denseRows: 1 });
    for (let i = 0; i < 3_000; i++) {
      const offset = i % 5 === 4 ? (i * 31) % records.length : records.length;
      records[offset] = record(offset, { sequence: i });
      index.put(records[offset]);
      if (i % 97 === 0) await setTimeout(0);
    }
    await built(index);
    expect(
      index.snapshot().segments.some(({ vectors }) => vectors.uncoded === null && vectors.coded > 64),
    ).toBe(true);
    const snapshot = index.snapshot();
    for (const { id, offset, sequence } of records) {
      const position = index.position(id) ?? -1;
      expect([snapshot.id(position), snapshot.offset(position), snapshot.sequence(position)]).toStrictEqual([
        id,
        offset,
        sequence,
      ]);
    }
    for (const { offset } of records) index.remove(offset);
    expect(index.size).toBe(0);
    index.close();
  });

  it("seals a key's sparse vectors anew that is indexed while a segment is written", async () => {
    const records = Array.from({ length: 700 }, (_, i) => {
      const metadata = new Map([...withTerms(i % 2)].map(([, value]) => ["other", value]));
      return record(i, { metadata });
    });
    const index = newIndex(records, { sizes: SIZES, denseRows: 1 });
    while (index.isBuilding && index.snapshot().segments.every(({ vectors }) => vectors.coded < 64))
      await setTimeout(0);
    const other = { key: "other", bm25: true, sourceKey: null, embeddingFunction: null };
    runSteps(index.setPlan({ ...PLAN, sparse: [other] }));
    for (const isBuilt of [false, true]) {
      if (isBuilt) await built(index);
      const { blocks, tails } = sparseParts(index.snapshot(), "other");
      const counts = new Uint32Array(2);
      for (const { block } of blocks)
        for (const [i, count] of block.sums.count(Uint32Array.of(0, 1), null).entries()) counts[i]! += count;
      const query = new TermNumbers();
      for (const term of [0, 1]) query.add(term);
      for (const tail of tails) tail.tail.count(query, tail.mask(index.snapshot().live), counts);
      expect([...counts]).toStrictEqual([350, 350]);
    }
    index.close();
  });

  it("purges what was being sealed as its rows died", () => {
    const index = newIndex([], { sizes: SIZES, denseRows: 32 });
    const hasSealed = (): boolean => index.segments.some(({ segment }) => segment.isSealed);
    // As often as it takes for rows to die in each of the steps in which they are written anew.
    for (let offset = 0, steps = 0; steps < 40; steps++) {
      for (let i = 0; i < 2 * SIZES.mutableRows; i++) index.put(record(offset++));
      for (let i = 0; i < steps && index.maintain(false); i++);
      index.remove(offset - 10);
      runSteps(index.purge());
      while (index.isPurging && index.maintain(false));
      for (const { segment, liveCount } of index.segments)
        if (segment.isSealed) expect(segment.rows).toBe(liveCount);
      expect(hasSealed()).toBe(true);
    }
    index.close();
  });

  it("writes no larger segments than fit the memory meanwhile", async () => {
    const records = Array.from({ length: 600 }, (_, i) => record(i));
    const rowBytes = 512 + 4 * records[0]!.embedding.length;
    const most = 2.5 * SIZES.mutableRows;
    const memory = new IndexMemory(Infinity, undefined, most * rowBytes);
    const index = newIndex(records, { sizes: SIZES, denseRows: 1, memory });
    await built(index);
    while (index.maintain(true));
    const rows = index.segments.flatMap(({ segment }) => (segment.isSealed ? [segment.rows] : []));
    expect(Math.max(...rows)).toBeLessThanOrEqual(most);
    expect(Math.max(...rows)).toBeGreaterThan(SIZES.mutableRows);
    index.close();
  });

  it("goes on without sealing where that fails", async () => {
    const records = Array.from({ length: 100 }, (_, i) => record(i));
    const problems: unknown[] = [];
    const memory = new IndexMemory();
    memory.take = (): boolean => {
      throw new Error("no memory");
    };
    const onProblem = (error: unknown): void => void problems.push(error);
    const index = newIndex(records, { sizes: SIZES, denseRows: 1, memory, onProblem });
    await built(index);
    expect(problems).toStrictEqual([new Error("no memory")]);
    for (let i = 0; i < 300; i++) index.put((records[i] = record(i, { sequence: 1_000 + i })));
    expect(offsets(index)).toStrictEqual(records.map(({ offset }) => offset));
    expect(index.isBuilding).toBe(false);
    index.close();
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
    const records = Array.from({ length: BLOCK_DOCS + 3 }, (_, i) =>
      record(i, { metadata: new Map([...withTerms(i % 2)].map(([, value]) => ["other", value])) }),
    );
    const index = newIndex(records);
    expect(sparseParts(index.snapshot(), "other")).toStrictEqual({ blocks: [], tails: [] });
    // A version that is newer than the index's: the write that brings it is under way.
    records[5] = record(5, { sequence: 99_999, metadata: withTerms(7) });
    const other = { key: "other", bm25: true, sourceKey: null, embeddingFunction: null };
    runSteps(index.setPlan({ ...PLAN, sparse: [...PLAN.sparse, other] }));
    const { blocks, tails } = sparseParts(index.snapshot(), "other");
    const terms = Uint32Array.of(0, 1, 7);
    expect(blocks.map(({ block }) => [...block.sums.count(terms, null)])).toStrictEqual([
      [BLOCK_DOCS / 2, BLOCK_DOCS / 2 - 1, 0],
    ]);
    expect(tails).toHaveLength(1);
    runSteps(index.setPlan({ ...PLAN, sparse: [other] }));
    expect(sparseParts(index.snapshot(), "terms")).toStrictEqual({ blocks: [], tails: [] });
    expect(sparseParts(index.snapshot(), "other").blocks).toHaveLength(1);
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
