import type { SparseVector } from "@sheaf/protocol";
import { describe, expect, it } from "vitest";
import { runSteps } from "../../storage/steps.ts";
import { BLOCK_DOCS } from "../block-docs.ts";
import { PostingCursor } from "./posting-cursor.ts";
import { SparsePostings } from "./sparse-postings.ts";

const LENGTH = 4_096;
/** As many as are packed at once of vectors that long. */
const VECTORS = 64;
/** Postings that may be looked at between two pauses. */
const PER_STEP = 65_536;

/** Most terms are in no other vector. */
function longVector(docId: number): SparseVector {
  const indices = Uint32Array.from({ length: LENGTH }, (_, i) =>
    i % 16 === 0 ? i : i + LENGTH * (docId + 1),
  ).sort();
  return { indices, values: Float32Array.from(indices, (term) => (term % 100) / 8 + docId) };
}

/** Values by term, of a row that is packed. */
function termsOf(postings: SparsePostings, docId: number): ReadonlyMap<number, number> {
  const found = new Map<number, number>();
  for (const { block, firstDoc } of postings.blocks)
    for (const cursor = new PostingCursor(block.lists); cursor.term !== Infinity; cursor.next())
      for (let at = cursor.start; at < cursor.end; at++)
        if (firstDoc + cursor.rowAt(at) === docId) found.set(cursor.term, cursor.values[at]!);
  return found;
}

describe("SparsePostings", () => {
  it("packs long vectors in steps of so many postings, while others are added", () => {
    const postings = new SparsePostings();
    for (let docId = 0; docId < VECTORS; docId++) {
      expect(postings.isDue).toBe(false);
      postings.add(docId, longVector(docId));
    }
    expect(postings.isDue).toBe(true);
    const packing = postings.pack();
    let pauses = 0;
    for (; packing.next().done !== true; pauses++)
      if (pauses === 3) postings.add(VECTORS, longVector(VECTORS));
    // Brought into order by four digits, placed, measured and written.
    expect(pauses).toBeGreaterThan((7 * VECTORS * LENGTH) / PER_STEP);
    expect(postings.tails).toHaveLength(1);
    runSteps(postings.seal());
    expect(postings.tails).toEqual([]);
    for (const docId of [0, 7, VECTORS]) {
      const { indices, values } = longVector(docId);
      expect(termsOf(postings, docId)).toEqual(new Map(Array.from(indices, (term, i) => [term, values[i]!])));
    }
    postings.close();
  });

  it("packs what waited for long, of several blocks, by two at a time", () => {
    const postings = new SparsePostings({ minTail: 2 });
    const vectorOf = (docId: number): SparseVector => {
      return { indices: Uint32Array.of(docId % 3, 5), values: Float32Array.of(docId, 1) };
    };
    const docIds = [0, 1, 2, 3, BLOCK_DOCS, BLOCK_DOCS + 40, 3 * BLOCK_DOCS + 1];
    for (const docId of docIds) postings.add(docId, vectorOf(docId));
    const [first, second] = [postings.seal(), postings.pack()];
    first.next();
    runSteps(second);
    runSteps(first);
    expect(postings.blocks.map(({ firstDoc }) => firstDoc)).toEqual([0, BLOCK_DOCS, 3 * BLOCK_DOCS]);
    for (const docId of docIds)
      expect(termsOf(postings, docId)).toEqual(
        new Map([
          [docId % 3, docId],
          [5, 1],
        ]),
      );
    postings.close();
  });
});
