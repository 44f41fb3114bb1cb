import { setTimeout } from "node:timers/promises";
import type { IndexPlan } from "@sheaf/protocol";
import { describe, expect, it } from "vitest";
import { prepare, preparedDistance } from "../kernels/distance.ts";
import type { StoredRecord } from "../storage/stored-record.ts";
import { randomOf } from "./dense/testing/data-sets.ts";
import { type ExactIndex, createExactIndex } from "./exact-index.ts";
import type { IndexSnapshot } from "./index-snapshot.ts";
import { RowSet, SEGMENT_ROWS, listBits } from "./row-set.ts";

const PLAN: IndexPlan = { space: "cosine", embeddingFunction: null, sparse: [] };
const SIZES = { flatRows: 64, tailSlots: 256, segmentRows: 4_096 };
const DIMENSION = 8;
const random = randomOf(11);

function record(offset: number, embedding = randomVector()): StoredRecord {
  const id = `r${offset}`;
  return { offset, sequence: offset + 1, id, embedding, document: null, uri: null, metadata: null };
}

function randomVector(): Float32Array {
  // Few different coordinates: many distances are equal.
  return Float32Array.from({ length: DIMENSION }, () => Math.floor(random() * 3) - 1);
}

function newIndex(records: readonly StoredRecord[]): ExactIndex {
  const index = createExactIndex(
    PLAN,
    { read: (offset) => records[offset] ?? null },
    { denseRows: 200, denseSizes: SIZES },
  );
  for (const one of records) index.put(one);
  return index;
}

async function built(index: ExactIndex): Promise<ExactIndex> {
  while (index.isBuilding) await setTimeout(1);
  return index;
}

/** Offsets and distances by comparing every row. */
function scan(query: Float32Array, k: number, rows: RowSet, snapshot: IndexSnapshot): unknown[] {
  return listBits(rows.words)
    .map((position) => {
      const segment = snapshot.segments[Math.floor(position / SEGMENT_ROWS)];
      const vector = segment?.vector(position % SEGMENT_ROWS) ?? new Float32Array(0);
      return [snapshot.offset(position), preparedDistance(PLAN.space, query, vector)] as const;
    })
    .sort(([a, x], [b, y]) => x - y || a - b)
    .slice(0, k);
}

/** The fast index's answer where it holds all rows; how many it does not hold. */
function search(index: ExactIndex, k: number, snapshot: IndexSnapshot, rows = snapshot.live) {
  const query = prepare(PLAN.space, randomVector().fill(1, 0, 2));
  const answer = index.searchDense({ query, k, exact: true }, rows, snapshot);
  const found = [...(answer?.nearest.positions ?? [])].map((position, i) => [
    snapshot.offset(position),
    answer?.nearest.distances[i],
  ]);
  return { found, expected: scan(query, k, rows, snapshot), rest: answer?.rest.count() };
}

describe("DenseRows", () => {
  it("answers nothing for few records", () => {
    const index = newIndex(Array.from({ length: 100 }, (_, i) => record(i)));
    expect(search(index, 3, index.snapshot()).rest).toBeUndefined();
  });

  it("holds no row at first and all in the end, with the exact scan's distances and ties", async () => {
    const index = newIndex(Array.from({ length: 5_000 }, (_, i) => record(i)));
    const first = search(index, 10, index.snapshot());
    expect([first.found, first.rest]).toStrictEqual([[], 5_000]);
    await built(index);
    for (const k of [1, 10, 300]) {
      const { found, expected, rest } = search(index, k, index.snapshot());
      expect(found).toStrictEqual(expected);
      expect(rest).toBe(0);
    }
    index.close();
  });

  it("leaves rows of a snapshot that were written over or moved to the exact scan", async () => {
    const index = await built(newIndex(Array.from({ length: 5_000 }, (_, i) => record(i))));
    const before = index.snapshot();
    for (let i = 0; i < 3_000; i++) {
      if (i % 3 === 0) index.remove(i);
      else index.put(record(i));
    }
    const { rest } = search(index, 5, before);
    expect(rest).toBeGreaterThanOrEqual(3_000);
    await built(index);
    const { found, expected, rest: none } = search(index, 50, index.snapshot());
    expect(found).toStrictEqual(expected);
    expect(none).toBe(0);
    index.close();
  });

  it("takes filters as they are, also over rows whose numbers are no longer in order", async () => {
    const index = await built(newIndex(Array.from({ length: 2_000 }, (_, i) => record(i))));
    for (let i = 0; i < 700; i++) index.put(record((i * 7) % 500));
    await built(index);
    const snapshot = index.snapshot();
    const rows = snapshot.live.words.map((word, i) => word & (0x1234_5678 * (i + 1)));
    const { found, expected } = search(index, 20, snapshot, new RowSet(rows));
    expect(found).toStrictEqual(expected);
    index.close();
  });

  it("keeps vectors that are too long with the exact scan, and refuses such queries", async () => {
    const long = new Float32Array(DIMENSION).fill(3e38);
    const l2: IndexPlan = { ...PLAN, space: "l2" };
    const index = createExactIndex(l2, { read: () => null }, { denseRows: 200, denseSizes: SIZES });
    for (let i = 0; i < 300; i++) index.put(record(i, i === 7 ? long : randomVector()));
    await built(index);
    const snapshot = index.snapshot();
    const request = { query: randomVector(), k: 3, exact: false };
    const rest = index.searchDense(request, snapshot.live, snapshot)?.rest;
    expect(listBits(rest?.words ?? new Uint32Array(0))).toStrictEqual([7]);
    expect(index.searchDense({ ...request, query: long }, snapshot.live, snapshot)).toBeNull();
    index.close();
  });

  it("gives records new numbers when most numbers are unused", async () => {
    const index = newIndex(Array.from({ length: 600 }, (_, i) => record(i)));
    let offset = 600;
    for (; offset < 75_000; offset++) {
      index.put(record(offset));
      if (offset % 600 !== 0) index.remove(offset - 500);
    }
    await built(index);
    const { found, expected, rest } = search(index, 40, index.snapshot());
    expect(found).toStrictEqual(expected);
    expect(rest).toBe(0);
    index.close();
  });

  it("goes when records do, and comes again", async () => {
    const records = Array.from({ length: 400 }, (_, i) => record(i));
    const index = await built(newIndex(records));
    for (let i = 0; i < 350; i++) index.remove(i);
    expect(search(index, 3, index.snapshot()).rest).toBeUndefined();
    for (const one of records) index.put({ ...one, offset: one.offset + 1_000, id: `n${one.offset}` });
    await built(index);
    const { found, expected } = search(index, 30, index.snapshot());
    expect(found).toStrictEqual(expected);
    index.close();
  });
});
