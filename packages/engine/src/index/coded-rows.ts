/**
 * The rows of a set by how their vectors are searched: those that have codes, by segment, and the others. The same sets
 * are asked for again (all rows of a snapshot, those of a filter that is remembered), so it is kept beside them.
 */
import type { Segment } from "../segment/segment.ts";
import type { DenseDocs } from "../segment/dense/search-dense.ts";
import { countBits, placesOfBits } from "../segment/bits.ts";
import { RowSet } from "./row-set.ts";

export interface CodedRows {
  readonly parts: readonly DenseDocs[];
  /** Rows of all parts. */
  readonly count: number;
  /** Rows without codes; `null`: there are none. */
  readonly rest: RowSet | null;
  /** Rows of the segments that had codes when this was made. */
  readonly coded: number;
}

/** Slots that are kept as long as their set is. */
const MAX_KEPT = 16_384;

/** `known`: of the same set, given back if no row has got a code since. */
export function codedRows(
  rows: RowSet,
  segments: readonly Segment[],
  known: CodedRows | undefined,
): CodedRows {
  let coded = 0;
  for (const { vectors } of segments) coded += vectors.coded;
  if (known?.coded === coded) return known;
  const parts: DenseDocs[] = [];
  let rest: RowSet | null = null;
  for (const [index, segment] of segments.entries()) {
    const words = rows.segment(index);
    const docs = codedDocs(words, segment);
    if (docs !== null) {
      const count = countBits(docs);
      const { search } = segment.vectors;
      if (count > 0)
        parts.push({ search: search!, base: rows.bases.of(index), docs, count, slots: slotsOf(docs, count) });
    }
    if (docs !== null && isWhole(segment)) continue;
    for (let i = 0; i < words.length; i++) {
      const others = words[i]! & ~(docs?.[i] ?? 0);
      if (others === 0) continue;
      rest ??= new RowSet(rows.bases);
      rest.segment(index)[i] = others;
    }
  }
  return { parts, count: parts.reduce((sum, { count }) => sum + count, 0), rest, coded };
}

/** Those of the docIds that have codes; `null`: none has. */
function codedDocs(words: Uint32Array, { capacity, vectors }: Segment): Uint32Array | null {
  const { search, coded, uncoded } = vectors;
  if (search === null || coded === 0) return null;
  const docs = words.subarray(0, capacity / 32);
  if (isWhole({ capacity, vectors })) return docs;
  const limited = docs.slice();
  if (coded < capacity) {
    limited[coded >>> 5]! &= 2 ** (coded & 31) - 1;
    limited.fill(0, (coded >>> 5) + 1);
  }
  if (uncoded !== null) for (let i = 0; i < limited.length; i++) limited[i]! &= ~uncoded[i]!;
  return limited;
}

/** All of its rows have codes. */
function isWhole({ capacity, vectors: { coded, uncoded } }: Pick<Segment, "capacity" | "vectors">): boolean {
  return coded === capacity && uncoded === null;
}

function slotsOf(docs: Uint32Array, count: number): () => Uint32Array {
  let kept: Uint32Array | null = null;
  return () => {
    if (kept !== null) return kept;
    const slots = placesOfBits(docs, count);
    if (count <= MAX_KEPT) kept = slots;
    return slots;
  };
}
