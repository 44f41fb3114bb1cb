/**
 * The dense index of one vector key: the k nearest rows to a query, under a filter, by exact distance.
 *
 * Rows are estimated from 1-bit codes; those that may be among the nearest are scored from bf16; those that still may
 * are compared by their exact distance, from memory where the vectors are there to the bit, else from the store. So
 * every distance returned is the f32 that `kernels/distance.ts` defines, and equal ones go to the lower row. Which rows
 * are found is certain with `exact` and while rows are few; otherwise recall@10 is at least 0.99 whatever the filter.
 *
 * A write goes to an unsealed tail at once. `maintain` seals full tails into segments that are ordered in lists, slice
 * by slice: searches are right without it, and faster with it.
 */
import { type Space, SheafError } from "@sheaf/protocol";
import { norm, prepare, preparedDistance } from "../../kernels/distance.ts";
import type { KernelKind } from "../../kernels/kernel-memory.ts";
import { QueryDistance } from "../../kernels/value-memory.ts";
import { hasBit } from "../row-set.ts";
import { type Hit, MAX_LENGTH, relativeTo, searchSegments } from "./search-segments.ts";
import { SegmentSet, type SegmentSizes } from "./segment-set.ts";
import { VectorMemory } from "./vector-memory.ts";

export interface DenseIndexOptions {
  readonly space: Space;
  readonly dimension: number;
  /** The vector of a row, as it was put last; `null`: it cannot be had any more. May return the same array every time. */
  readonly readVector: (row: number) => Float32Array | null;
  /** For the vectors of sealed segments; without limit if left out. */
  readonly memory?: VectorMemory | undefined;
  /** `plain` for tests: the same results without WASM. */
  readonly kernels?: KernelKind | undefined;
  /** Small ones for tests. */
  readonly sizes?: DenseIndexSizes | undefined;
}

export interface TopKOptions {
  /** The k nearest with certainty, at the price of looking at every row that passes the mask. */
  readonly exact?: boolean;
  /** Exact distance to a row, instead of to what `readVector` gives; `null`: it cannot be had any more. */
  readonly distanceTo?: (row: number) => number | null;
  /** Whether a row that this index can compare by itself is wanted; all are if left out. */
  readonly isWanted?: (row: number) => boolean;
}

/** By ascending distance, then row. */
export interface NearestRows {
  readonly rows: Uint32Array;
  readonly distances: Float32Array;
}

export interface DenseIndexSizes extends SegmentSizes {
  /** Rows from which on segments are used; below, vectors are kept as they are and compared one by one. */
  readonly flatRows: number;
}

/**
 * Fewer than 1,024 vectors are compared sooner than a memory for kernels is made. A flat scan of a tail takes less than
 * 0.1 ms at 384 dimensions. Sealing the largest segment takes seconds of background work.
 */
const DEFAULT_SIZES: DenseIndexSizes = { flatRows: 1_024, tailSlots: 16_384, segmentRows: 131_072 };

export class DenseIndex {
  readonly #options: DenseIndexOptions;
  readonly #sizes: DenseIndexSizes;
  /** Prepared vectors of rows that are in no segment. */
  readonly #flat = new Map<number, Float32Array>();
  /** Rows of `#flat` that no segment can hold. */
  readonly #tooLong = new Set<number>();
  #segments: SegmentSet | undefined;
  /** What the segments' vectors are relative to: for l2 the mean of the first rows, else nothing. */
  #origin: Float32Array | null = null;

  constructor(options: DenseIndexOptions) {
    this.#options = options;
    this.#sizes = options.sizes ?? DEFAULT_SIZES;
  }

  get size(): number {
    return this.#flat.size + (this.#segments?.size ?? 0);
  }

  /** Inserts a row or replaces its vector. `readVector` must give the new one from now on. */
  put(row: number, vector: Float32Array): void {
    this.#check(vector);
    this.remove(row);
    const prepared = prepare(this.#options.space, vector);
    const tooLong = !(norm(prepared) <= MAX_LENGTH);
    if (this.#segments !== undefined && !tooLong) {
      this.#addToSegments(this.#segments, row, prepared);
      return;
    }
    this.#flat.set(row, prepared === vector ? vector.slice() : prepared);
    if (tooLong) this.#tooLong.add(row);
    if (this.#flat.size - this.#tooLong.size >= this.#sizes.flatRows) this.#leaveFlat();
  }

  /** Nothing happens if the row is not there. */
  remove(row: number): void {
    this.#segments?.remove(row);
    this.#flat.delete(row);
    this.#tooLong.delete(row);
  }

  /** Does one slice of sealing, about a millisecond; false when there is nothing to do. `atRest`: see `SegmentSet`. */
  maintain(atRest = false): boolean {
    return this.#segments?.maintain(atRest) ?? false;
  }

  /**
   * The k nearest rows among those whose bit in `mask` is set; `null` means all. `query` is as long as the vectors. A
   * mask is not to be changed once it was asked with: where its rows are is remembered.
   */
  topK(query: Float32Array, k: number, mask: Uint32Array | null, options: TopKOptions = {}): NearestRows {
    const steps = this.search(query, k, mask, options);
    for (;;) {
      const { done, value } = steps.next();
      if (done === true) return value;
    }
  }

  /** `topK` with a pause about every millisecond; rows that are put or removed during one may be missed. */
  *search(
    query: Float32Array,
    k: number,
    mask: Uint32Array | null,
    options: TopKOptions = {},
  ): Generator<void, NearestRows> {
    this.#check(query);
    const { space } = this.#options;
    const prepared = prepare(space, query);
    const segments = this.#segments;
    let hits = this.#flatHits(prepared, mask);
    if (k > 0 && segments !== undefined && segments.size > 0) {
      const distanceTo = options.distanceTo ?? this.#distancesOf(prepared);
      const view = { space, segments, origin: this.#origin };
      const { exact = false, isWanted = () => true } = options;
      const request = { k, mask, exact, distanceTo, isWanted };
      hits = hits.concat(yield* searchSegments(view, prepared, request));
    }
    const nearest = hits.sort((a, b) => a.distance - b.distance || a.row - b.row).slice(0, k);
    const rows = new Uint32Array(nearest.length);
    const distances = new Float32Array(nearest.length);
    for (let i = 0; i < nearest.length; i++) {
      rows[i] = nearest[i]!.row;
      distances[i] = nearest[i]!.distance;
    }
    return { rows, distances };
  }

  /** Rows get other numbers: `numbers` says which, by the old one. */
  renumber(numbers: Uint32Array): void {
    this.#segments?.renumber(numbers);
    const flat = [...this.#flat];
    const tooLong = [...this.#tooLong];
    this.#flat.clear();
    this.#tooLong.clear();
    for (const [row, vector] of flat) this.#flat.set(numbers[row]!, vector);
    for (const row of tooLong) this.#tooLong.add(numbers[row]!);
  }

  close(): void {
    this.#segments?.close();
    this.#segments = undefined;
    this.#flat.clear();
    this.#tooLong.clear();
  }

  #check(vector: Float32Array): void {
    const { dimension } = this.#options;
    if (vector.length === dimension) return;
    throw new SheafError("internal", `a vector of ${vector.length} dimensions in an index of ${dimension}`);
  }

  /** From a list of vectors to segments, around the mean of what there is. */
  #leaveFlat(): void {
    const { dimension } = this.#options;
    const rows = [...this.#flat].filter(([row]) => !this.#tooLong.has(row));
    const sums = new Float64Array(dimension);
    for (const [, vector] of rows) for (let j = 0; j < dimension; j++) sums[j]! += vector[j]!;
    const mean = Float32Array.from(sums, (sum) => sum / rows.length);
    const isRelative = this.#options.space === "l2";
    this.#origin = isRelative ? mean : null;
    const segments = new SegmentSet(this.#options, {
      sizes: this.#sizes,
      memory: this.#options.memory ?? new VectorMemory(),
      readVector: (row) => this.#relativeVector(row),
      tailCentroid: isRelative ? null : relativeTo(null, mean),
    });
    this.#segments = segments;
    for (const [row, vector] of rows) {
      this.#flat.delete(row);
      this.#addToSegments(segments, row, vector);
    }
  }

  #addToSegments(segments: SegmentSet, row: number, prepared: Float32Array): void {
    segments.add(row, this.#relative(prepared));
  }

  #relativeVector(row: number): Float32Array | null {
    const vector = this.#options.readVector(row);
    return vector === null ? null : this.#relative(prepare(this.#options.space, vector));
  }

  #relative(prepared: Float32Array): Float32Array {
    return relativeTo(this.#origin, prepared);
  }

  #distancesOf(prepared: Float32Array): (row: number) => number | null {
    const { space, readVector } = this.#options;
    const query = new QueryDistance(space, prepared);
    return (row) => {
      const vector = readVector(row);
      return vector === null ? null : query.to(vector);
    };
  }

  #flatHits(prepared: Float32Array, mask: Uint32Array | null): Hit[] {
    const hits: Hit[] = [];
    for (const [row, vector] of this.#flat) {
      if (mask !== null && !isSet(mask, row)) continue;
      hits.push({ row, distance: preparedDistance(this.#options.space, prepared, vector) });
    }
    return hits;
  }
}

/** A mask need not reach up to the last row. */
function isSet(mask: Uint32Array, row: number): boolean {
  return row < mask.length * 32 && hasBit(mask, row);
}
