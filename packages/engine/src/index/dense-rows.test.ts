import { setTimeout } from "node:timers/promises";
import type { IndexPlan } from "@sheaf/protocol";
import { describe, expect, it } from "vitest";
import { prepare, preparedDistance } from "../kernels/distance.ts";
import type { StoredRecord } from "../storage/stored-record.ts";
import { randomOf } from "./dense/testing/data-sets.ts";
import { type ExactIndex, createExactIndex } from "./exact-index.ts";
import type { IndexSnapshot } from "./index-snapshot.ts";
import { RowSet, SEGMENT_ROWS, countBits, listBits } from "./row-set.ts";

const PLAN: IndexPlan = { space: "cosine", embeddingFunction: null, sparse: [] };
const SIZES = { flatRows: 64, tailSlots: 256, segmentRows: 4_096 };
const DIMENSION = 8;
const random = randomOf(11);
let sequence = 0;

function record(offset: number, embedding = randomVector()): StoredRecord {
  const id = `r${offset}`;
  return { offset, sequence: ++sequence, id, embedding, document: null, uri: null, metadata: null };
}

function randomVector(): Float32Array {
  // Few different coordinates: many distances are equal.
  return Float32Array.from({ length: DIMENSION }, () => Math.floor(random() * 3) - 1);
}

/** An index beside the store that it may read. */
class Indexed {
  readonly index: ExactIndex;
  readonly #plan: IndexPlan;
  readonly #records = new Map<number, StoredRecord>();

  constructor(records: readonly StoredRecord[], plan = PLAN, filling = false) {
    const read = (offset: number): StoredRecord | null => this.#records.get(offset) ?? null;
    this.#plan = plan;
    const options = { denseRows: 200, denseSizes: SIZES, filling };
    this.index = createExactIndex(plan, { read, readVector: read }, options);
    for (const one of records) this.put(one);
  }

  put(one: StoredRecord): void {
    this.#records.set(one.offset, one);
    this.index.put(one);
  }

  remove(offset: number): void {
    this.#records.delete(offset);
    this.index.remove(offset);
  }

  /** Waits until nothing is left to do in the background. */
  async built(): Promise<this> {
    while (this.index.isBuilding) await setTimeout(1);
    return this;
  }

  /** `null`: the store has another version. */
  distanceAt(position: number, snapshot: IndexSnapshot, query: Float32Array): number | null {
    const { space } = this.#plan;
    const held = snapshot.vector(position);
    if (held !== null) return preparedDistance(space, query, held);
    const stored = this.#records.get(snapshot.offset(position));
    if (stored?.sequence !== snapshot.sequence(position)) return null;
    return preparedDistance(space, query, prepare(space, stored.embedding));
  }

  /** The whole search at once. */
  answer(query: Float32Array, k: number, snapshot: IndexSnapshot, rows = snapshot.live) {
    const distanceAt = (position: number): number | null => this.distanceAt(position, snapshot, query);
    const steps = this.index.searchDense({ query, k, exact: true, distanceAt }, rows, snapshot);
    for (;;) {
      const { done, value } = steps.next();
      if (done === true) return value;
    }
  }

  /** The fast index's answer where it holds all rows; how many it does not hold; what comparing every row finds. */
  search(k: number, snapshot = this.index.snapshot(), rows = snapshot.live) {
    const query = prepare(this.#plan.space, randomVector().fill(1, 0, 2));
    const answer = this.answer(query, k, snapshot, rows);
    const found = [...(answer?.nearest.positions ?? [])].map((position, i) => [
      snapshot.offset(position),
      answer?.nearest.distances[i],
    ]);
    const expected = listBits(rows.words)
      .map((position) => [snapshot.offset(position), this.distanceAt(position, snapshot, query)] as const)
      .map(([offset, distance]) => [offset, distance ?? Number.NaN] as const)
      .sort(([a, x], [b, y]) => x - y || a - b)
      .slice(0, k);
    return { found, expected, rest: answer === null ? undefined : (answer.rest?.count() ?? 0) };
  }
}

function recordsOf(count: number): StoredRecord[] {
  return Array.from({ length: count }, (_, i) => record(i));
}

describe("DenseRows", () => {
  it("answers nothing for few records", () => {
    expect(new Indexed(recordsOf(100)).search(3).rest).toBeUndefined();
  });

  it("holds no row at first and all in the end, with the exact scan's distances and ties", async () => {
    const indexed = new Indexed(recordsOf(5_000));
    const first = indexed.search(10);
    expect([first.found, first.rest]).toStrictEqual([[], 5_000]);
    await indexed.built();
    for (const k of [1, 10, 300]) {
      const { found, expected, rest } = indexed.search(k);
      expect(found).toStrictEqual(expected);
      expect(rest).toBe(0);
    }
    indexed.index.close();
  });

  it("puts segments together once writes have come to rest", async () => {
    const indexed = await new Indexed(recordsOf(SIZES.tailSlots * 2)).built();
    for (let i = 0; i < SIZES.tailSlots + 10; i++) indexed.put(record(SIZES.tailSlots * 2 + i));
    await indexed.built();
    while (!indexed.index.isBuilding) await setTimeout(1);
    await indexed.built();
    const { found, expected, rest } = indexed.search(20);
    expect(found).toStrictEqual(expected);
    expect(rest).toBe(0);
    indexed.index.close();
  });

  it("takes in no row while it is filled", async () => {
    const indexed = new Indexed(recordsOf(5 * SEGMENT_ROWS), PLAN, true);
    await setTimeout(20);
    expect(indexed.search(10)).toMatchObject({ found: [], rest: 5 * SEGMENT_ROWS });
    indexed.index.filled();
    await indexed.built();
    const { found, expected, rest } = indexed.search(10);
    expect(found).toStrictEqual(expected);
    expect(rest).toBe(0);
    indexed.index.close();
  });

  it("leaves the vectors of full segments to the store once all their rows got in", async () => {
    const indexed = await new Indexed(recordsOf(2 * SEGMENT_ROWS + 10)).built();
    const held = (): number[] => indexed.index.snapshot().segments.map((segment) => countBits(segment.held));
    expect(held()).toStrictEqual([0, 0, 10]);
    // A segment that is dissolved moves its rows without their vectors.
    for (let i = 0; i < 3_000; i++) indexed.remove(i);
    expect(held()).toStrictEqual([0, 10]);
    const { found, expected, rest } = indexed.search(50);
    expect(found).toStrictEqual(expected);
    expect(rest).toBe(0);
    // Too few for a fast index: all are compared, so all come back.
    for (let i = 3_000; i < 2 * SEGMENT_ROWS - 80; i++) indexed.remove(i);
    expect(indexed.search(3).rest).toBeUndefined();
    const { segments, live } = indexed.index.snapshot();
    const wanting = segments.flatMap((segment, i) =>
      [...live.segment(i)].map((word, j) => word & ~(segment.held[j] ?? 0)),
    );
    expect(new Set(wanting)).toStrictEqual(new Set([0]));
    indexed.index.close();
  });

  it("leaves rows of a snapshot that were written over or moved to the exact scan", async () => {
    const indexed = await new Indexed(recordsOf(5_000)).built();
    const before = indexed.index.snapshot();
    expect(indexed.search(5, before).rest).toBe(0);
    for (let i = 0; i < 3_000; i++) {
      if (i % 3 === 0) indexed.remove(i);
      else indexed.put(record(i));
    }
    expect(indexed.search(5, before).rest).toBeGreaterThanOrEqual(3_000);
    await indexed.built();
    const { found, expected, rest } = indexed.search(50);
    expect(found).toStrictEqual(expected);
    expect(rest).toBe(0);
    indexed.index.close();
  });

  it("says when rows were written while a search paused", async () => {
    const indexed = await new Indexed(recordsOf(1_000)).built();
    const snapshot = indexed.index.snapshot();
    const search = (meanwhile: () => void): boolean | undefined => {
      const query = randomVector().fill(1, 0, 2);
      const distanceAt = (position: number): number | null => indexed.distanceAt(position, snapshot, query);
      const request = { query, k: 10, exact: false, distanceAt };
      const steps = indexed.index.searchDense(request, snapshot.live, snapshot);
      expect(steps.next().done).toBe(false);
      meanwhile();
      for (;;) {
        const { done, value } = steps.next();
        if (done === true) return value?.overtaken;
      }
    };
    expect(search(() => {})).toBe(false);
    expect(search(() => indexed.remove(17))).toBe(true);
    indexed.index.close();
  });

  it("takes filters as they are, also over rows whose numbers are no longer in order", async () => {
    const indexed = await new Indexed(recordsOf(2_000)).built();
    for (let i = 0; i < 700; i++) indexed.put(record((i * 7) % 500));
    await indexed.built();
    const snapshot = indexed.index.snapshot();
    const rows = snapshot.live.words.map((word, i) => word & (0x1234_5678 * (i + 1)));
    const { found, expected } = indexed.search(20, snapshot, new RowSet(snapshot.bases, rows));
    expect(found).toStrictEqual(expected);
    indexed.index.close();
  });

  it("keeps vectors that are too long with the exact scan, and refuses such queries", async () => {
    const long = new Float32Array(DIMENSION).fill(3e38);
    const l2: IndexPlan = { ...PLAN, space: "l2" };
    const records = Array.from({ length: 300 }, (_, i) => record(i, i === 7 ? long : randomVector()));
    const indexed = await new Indexed(records, l2).built();
    const snapshot = indexed.index.snapshot();
    const rest = indexed.answer(randomVector(), 3, snapshot)?.rest;
    expect(listBits(rest?.words ?? new Uint32Array(0))).toStrictEqual([7]);
    expect(indexed.answer(long, 3, snapshot)).toBeNull();
    indexed.index.close();
  });

  it("gives records new numbers when most numbers are unused", async () => {
    const indexed = new Indexed(recordsOf(600));
    let offset = 600;
    for (; offset < 75_000; offset++) {
      indexed.put(record(offset));
      if (offset % 600 !== 0) indexed.remove(offset - 500);
    }
    await indexed.built();
    const { found, expected, rest } = indexed.search(40);
    expect(found).toStrictEqual(expected);
    expect(rest).toBe(0);
    indexed.index.close();
  });

  it("goes when records do, and comes again", async () => {
    const records = recordsOf(400);
    const indexed = await new Indexed(records).built();
    const before = indexed.index.snapshot();
    expect(indexed.search(3, before).rest).toBe(0);
    for (let i = 0; i < 350; i++) indexed.remove(i);
    expect(indexed.search(3).rest).toBeUndefined();
    for (const one of records) indexed.put({ ...one, offset: one.offset + 1_000, id: `n${one.offset}` });
    await indexed.built();
    const { found, expected } = indexed.search(30);
    expect(found).toStrictEqual(expected);
    expect(indexed.search(3, before).rest).toBe(350);
    indexed.index.close();
  });
});
