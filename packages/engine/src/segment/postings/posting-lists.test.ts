import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { SparseVector } from "@sheaf/protocol";
import { BLOCK_DOCS } from "../block-docs.ts";
import { randomOf } from "../dense/testing/data-sets.ts";
import { documentLength } from "./document-length.ts";
import { NO_DOC, type PostingSource, mergePostings } from "./merge-postings.ts";
import { PostingCursor } from "./posting-cursor.ts";
import { type ListsSize, MAX_LIST_ROWS, type PostingLists } from "./posting-lists.ts";
import { runSteps } from "../../storage/steps.ts";
import { SparseTail } from "./sparse-tail.ts";

/** By row, ascending. */
type Rows = ReadonlyMap<number, SparseVector>;

const vectors = fc.uniqueArray(fc.constantFrom(0, 1, 2, 9, 4_294_967_295), { maxLength: 4 }).map((terms) => {
  const indices = Uint32Array.from(terms).sort();
  return { indices, values: Float32Array.from(indices, (term, i) => (term % 7) + i / 4) };
});
const segments: fc.Arbitrary<Rows> = fc
  .uniqueArray(fc.tuple(fc.integer({ min: 0, max: BLOCK_DOCS - 1 }), vectors), {
    selector: ([row]) => row,
    maxLength: 12,
  })
  .map((rows) => new Map(rows.sort(([a], [b]) => a - b)));

function packed(rows: Rows, hasLengths = false): PostingLists {
  const tail = new SparseTail(hasLengths);
  for (const [row, vector] of rows) tail.add(row, vector);
  return runSteps(tail.pack(BLOCK_DOCS));
}

function merged(sources: readonly PostingSource[], docCount: number): PostingLists[] {
  const make = ({ rowCount, terms, postings, columns, lengths }: ListsSize): { lists: PostingLists } => ({
    lists: {
      terms: new Uint32Array(terms),
      starts: new Uint32Array(terms + 1),
      rows: new Uint16Array(postings),
      values: new Float32Array(postings),
      columnTerms: new Uint32Array(columns),
      columns: new Float32Array(columns * rowCount),
      lengths: new Float32Array(lengths),
      rowCount,
    },
  });
  const steps = mergePostings(sources, docCount, make);
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value.map(({ lists }) => lists);
}

/** What there is, by docId, without rows that hold no term. */
function contentOf(parts: readonly PostingLists[]): Rows {
  const terms = new Map<number, [number, number][]>();
  for (const [i, lists] of parts.entries()) {
    for (const cursor = new PostingCursor(lists); cursor.term !== Infinity; cursor.next()) {
      let last = -1;
      for (let at = cursor.start; at < cursor.end; at++) {
        const row = cursor.rowAt(at);
        if (row < 0) continue;
        expect(row).toBeGreaterThan(last);
        last = row;
        const doc = i * MAX_LIST_ROWS + row;
        terms.set(doc, [...(terms.get(doc) ?? []), [cursor.term, cursor.values[at]!]]);
      }
    }
  }
  return new Map(
    [...terms]
      .sort(([a], [b]) => a - b)
      .map(([doc, list]) => {
        const indices = Uint32Array.from(list, ([term]) => term);
        return [doc, { indices, values: Float32Array.from(list, ([, value]) => value) }];
      }),
  );
}

/** About `share` of the rows, each with a rare term, one that all have, and one that is negative once. */
function commonRows(share: number, seed: number): Rows {
  const random = randomOf(seed);
  const rows = Array.from({ length: BLOCK_DOCS }, (_, row) => row).filter(() => random() < share);
  return new Map(
    rows.map((row, i) => {
      const values = Float32Array.of(i === 0 ? -1 : i % 5, i % 3, row);
      return [row, { indices: Uint32Array.of(2, 9, 1_000 + (row % 64)), values }];
    }),
  );
}

function withTerms(rows: Rows): Rows {
  return new Map([...rows].filter(([, { indices }]) => indices.length > 0).sort(([a], [b]) => a - b));
}

/** The docIds of `docCount` at random places for so many rows of each source; some have none. */
function scattered(sources: number, docCount: number, seed: number): Uint32Array[] {
  const random = randomOf(seed);
  const places = Array.from({ length: docCount }, (_, doc) => ({ doc, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ doc }) => doc);
  return Array.from({ length: sources }, () =>
    Uint32Array.from({ length: BLOCK_DOCS }, () => (random() < 0.2 ? NO_DOC : (places.pop() ?? NO_DOC))),
  );
}

describe("posting lists", () => {
  it("give back the vectors they were made of", () => {
    fc.assert(
      fc.property(segments, (rows) => {
        expect(contentOf([packed(rows)])).toStrictEqual(withTerms(rows));
      }),
    );
  });

  it("merge into rows of any order, some of which are left out", () => {
    const all = fc.array(segments, { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(all, fc.integer(), fc.constantFrom(5, 20), (list, seed, blocks) => {
        const docCount = blocks * BLOCK_DOCS;
        const docIds = scattered(list.length, docCount, seed);
        const sources = list.map((rows, i) => ({ lists: packed(rows), firstDoc: 0, docIds: docIds[i]! }));
        const parts = merged(sources, docCount);
        expect(parts.map(({ rowCount }) => rowCount)).toStrictEqual(
          blocks === 5 ? [docCount] : [MAX_LIST_ROWS, docCount - MAX_LIST_ROWS],
        );
        const expected = list.flatMap((rows, i) =>
          [...rows].flatMap(([row, vector]) => {
            const doc = docIds[i]![row]!;
            return doc === NO_DOC ? [] : [[doc, vector] as const];
          }),
        );
        expect(contentOf(parts)).toStrictEqual(withTerms(new Map(expected)));
        for (const { terms } of parts) expect(terms).toStrictEqual(terms.toSorted());
        // Once more, of what was merged, with the rows behind those that there were.
        const moved = parts.map((lists, i) => ({ lists, firstDoc: i * MAX_LIST_ROWS, docIds: null }));
        expect(contentOf(merged(moved, docCount))).toStrictEqual(contentOf(parts));
      }),
      { numRuns: 30 },
    );
  });

  it("keep the length of every document that is left, with its terms and without", () => {
    const all = fc.array(segments, { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(all, fc.integer(), fc.constantFrom(5, 20), (list, seed, blocks) => {
        const docCount = blocks * BLOCK_DOCS;
        const docIds = scattered(list.length, docCount, seed);
        const sources = list.map((rows, i) => ({
          lists: packed(rows, true),
          firstDoc: 0,
          docIds: docIds[i]!,
        }));
        const expected = new Float32Array(docCount);
        for (const [i, rows] of list.entries())
          for (const [row, { values }] of rows)
            if (docIds[i]![row] !== NO_DOC) expected[docIds[i]![row]!] = documentLength(values);
        const parts = merged(sources, docCount);
        expect(parts.flatMap(({ lengths }) => [...lengths])).toStrictEqual([...expected]);
        const moved = parts.map((lists, i) => ({ lists, firstDoc: i * MAX_LIST_ROWS, docIds: null }));
        expect(merged(moved, docCount).map(({ lengths }) => lengths)).toStrictEqual(
          parts.map(({ lengths }) => lengths),
        );
      }),
      { numRuns: 10 },
    );
  });

  it("are not merged where only some have lengths", () => {
    const rows: Rows = new Map([[3, { indices: Uint32Array.of(1), values: Float32Array.of(2) }]]);
    const sources = [true, false].map((hasLengths) => ({
      lists: packed(rows, hasLengths),
      firstDoc: 0,
      docIds: null,
    }));
    expect(() => merged(sources, BLOCK_DOCS)).toThrow("without lengths");
  });

  it("keep a column for a term that half of the rows hold, and for no other", () => {
    const shares = fc.array(fc.constantFrom(0, 0.3, 0.6, 1), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(shares, fc.integer(), (list, seed) => {
        const all = list.map((share, i) => commonRows(share, i));
        const docCount = all.length * BLOCK_DOCS;
        const docIds = scattered(all.length, docCount, seed);
        for (const ids of [null, docIds]) {
          const sources = all.map((rows, i) => ({
            lists: packed(rows),
            firstDoc: ids === null ? i * BLOCK_DOCS : 0,
            docIds: ids?.[i] ?? null,
          }));
          const expected = all.flatMap((rows, i) =>
            [...rows].flatMap(([row, vector]) => {
              const doc = ids === null ? i * BLOCK_DOCS + row : ids[i]![row]!;
              return doc === NO_DOC ? [] : [[doc, vector] as const];
            }),
          );
          const parts = merged(sources, docCount);
          expect(contentOf(parts)).toStrictEqual(withTerms(new Map(expected)));
          const isCommon = expected.length >= docCount / 2;
          const isNegative = expected.some(([, { values }]) => values[0]! < 0);
          const columns = !isCommon ? [] : isNegative ? [9] : [2, 9];
          expect(parts.flatMap(({ columnTerms }) => [...columnTerms])).toStrictEqual(columns);
        }
      }),
      { numRuns: 8 },
    );
  });
});
