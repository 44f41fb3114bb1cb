import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { SparseVector } from "@sheaf/protocol";
import { randomOf } from "./dense/testing/data-sets.ts";
import { type MergeSource, mergeLists } from "./merge-lists.ts";
import { type ListsSize, type PostingLists, vectorsOf } from "./posting-lists.ts";
import { SEGMENT_ROWS, SEGMENT_WORDS } from "./row-set.ts";
import { SparseTail } from "./sparse-tail.ts";

type Rows = ReadonlyMap<number, SparseVector>;

const vectors = fc.uniqueArray(fc.constantFrom(0, 1, 2, 9, 4_294_967_295), { maxLength: 4 }).map((terms) => {
  const indices = Uint32Array.from(terms).sort();
  return { indices, values: Float32Array.from(indices, (term, i) => (term % 7) + i / 4) };
});
const segments: fc.Arbitrary<Rows> = fc
  .uniqueArray(fc.tuple(fc.integer({ min: 0, max: SEGMENT_ROWS - 1 }), vectors), {
    selector: ([row]) => row,
    maxLength: 12,
  })
  .map((rows) => new Map(rows.sort(([a], [b]) => a - b)));

function packed(rows: Rows): PostingLists {
  const tail = new SparseTail();
  for (const [row, vector] of rows) tail.add(row, vector);
  return tail.pack();
}

function merged(sources: readonly MergeSource[]): PostingLists {
  const make = ({ slots, terms, postings, columns }: ListsSize): { lists: PostingLists } => ({
    lists: {
      terms: new Uint32Array(terms),
      starts: new Uint32Array(terms + 1),
      rows: new Uint16Array(postings),
      values: new Float32Array(postings),
      columnTerms: new Uint32Array(columns),
      columns: new Float32Array(columns * slots * SEGMENT_ROWS),
      slots,
    },
  });
  const steps = mergeLists(sources, make);
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value.lists;
}

/** What is there of a slot, without rows that hold no term. */
function slotOf(lists: PostingLists, slot: number): Rows {
  return vectorsOf(lists, slot, new Uint32Array(SEGMENT_WORDS).fill(0xffff_ffff));
}

/** Of every segment about `share` of the rows, each with a rare term, one that all have, and one that is negative once. */
function commonRows(share: number, seed: number): Rows {
  const random = randomOf(seed);
  const rows = Array.from({ length: SEGMENT_ROWS }, (_, row) => row).filter(() => random() < share);
  return new Map(
    rows.map((row, i) => {
      const values = Float32Array.of(i === 0 ? -1 : i % 5, i % 3, row);
      return [row, { indices: Uint32Array.of(2, 9, 1_000 + (row % 64)), values }];
    }),
  );
}

function withTerms(rows: Rows): Rows {
  return new Map([...rows].filter(([, { indices }]) => indices.length > 0));
}

describe("posting lists", () => {
  it("give back the vectors they were made of", () => {
    fc.assert(
      fc.property(segments, (rows) => {
        const lists = packed(rows);
        expect(slotOf(lists, 0)).toStrictEqual(withTerms(rows));
        for (let list = 0; list < lists.terms.length; list++) {
          const ascending = lists.rows.slice(lists.starts[list], lists.starts[list + 1]);
          expect(ascending).toStrictEqual(ascending.toSorted());
        }
      }),
    );
  });

  it("merge segments into slots and leave some out, then others", () => {
    const all = fc.array(segments, { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(all, fc.infiniteStream(fc.boolean()), (list, stream) => {
        const once = merged(list.map((rows, slot) => ({ lists: packed(rows), slots: [slot] })));
        list.forEach((rows, slot) => expect(slotOf(once, slot)).toStrictEqual(withTerms(rows)));
        const kept = list.map(() => stream.next().value);
        let next = 0;
        const slots = kept.map((keep) => (keep ? next++ : -1));
        const twice = merged([
          { lists: once, slots },
          { lists: packed(list[0]!), slots: [next] },
        ]);
        slots.forEach((slot, i) => {
          if (slot !== -1) expect(slotOf(twice, slot)).toStrictEqual(withTerms(list[i]!));
        });
        expect(slotOf(twice, next)).toStrictEqual(withTerms(list[0]!));
        const postings = [...list.filter((_, i) => kept[i]), list[0]!]
          .flatMap((rows) => [...rows.values()])
          .reduce((sum, { indices }) => sum + indices.length, 0);
        expect(twice.rows).toHaveLength(postings);
        expect(twice.terms).toStrictEqual(twice.terms.toSorted());
      }),
    );
  });

  it("keep a column for a term that half of the rows hold, and for no other", () => {
    const shares = fc.array(fc.constantFrom(0, 0.3, 0.6, 1), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(shares, fc.infiniteStream(fc.boolean()), (list, stream) => {
        const all = list.map((share, seed) => commonRows(share, seed));
        const hasColumn = (parts: readonly Rows[]): boolean =>
          parts.reduce((sum, { size }) => sum + size, 0) >= (parts.length * SEGMENT_ROWS) / 2;
        const once = merged(all.map((rows, slot) => ({ lists: packed(rows), slots: [slot] })));
        expect(once.columnTerms).toStrictEqual(Uint32Array.from(hasColumn(all) ? [9] : []));
        all.forEach((rows, slot) => expect(slotOf(once, slot)).toStrictEqual(rows));
        const kept = all.filter(() => stream.next().value);
        let next = 0;
        const slots = all.map((rows) => (kept.includes(rows) ? next++ : -1));
        const twice = merged([
          { lists: once, slots },
          { lists: packed(all[0]!), slots: [next] },
        ]);
        expect(twice.columnTerms).toStrictEqual(Uint32Array.from(hasColumn([...kept, all[0]!]) ? [9] : []));
        [...kept, all[0]!].forEach((rows, slot) => expect(slotOf(twice, slot)).toStrictEqual(rows));
      }),
      { numRuns: 8 },
    );
  });

  it("leave out rows that are not wanted", () => {
    const vector = { indices: Uint32Array.of(3), values: Float32Array.of(1) };
    const rows = new Map([1, 2, 40].map((row) => [row, vector]));
    const wanted = new Uint32Array(SEGMENT_WORDS);
    wanted.set([0b100, 0b1_0000_0000]);
    expect(vectorsOf(packed(rows), 0, wanted)).toStrictEqual(new Map([2, 40].map((row) => [row, vector])));
  });
});
