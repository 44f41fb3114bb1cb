/** The exact answers to every query under every filter, found by comparing everything with everything. */
import { FILTERS, FILTER_NAMES, type FilterName } from "./filters.ts";
import { mean } from "../../measure/statistics.ts";
import { type RecordContent, recordContent } from "./record-content.ts";

/** Neighbours that a query asks for. */
export const K = 10;
/** Rows that are compared at a time, so that of a large set nothing has to be in memory but these. */
export const BLOCK_ROWS = 1_024;
/** Queries that are compared at a time. */
const TOGETHER = 4;

/** Queries, and the group of each. */
export interface Queries {
  readonly dimension: number;
  readonly queries: number;
  readonly queryVectors: Float32Array;
  readonly queryGroups: Uint16Array;
}

export interface Truth<Filter extends FilterName = FilterName> {
  /** Mean cosine of the queries to their nearest record. */
  readonly topCosine: number;
  /** Rows, best first, of each query. */
  readonly nearest: Readonly<Record<Filter, readonly (readonly number[])[]>>;
}

/** The nearest of the rows looked at so far, best first. */
export interface Nearest {
  readonly rows: readonly number[];
  readonly cosines: readonly number[];
}

/** Of every filter the nearest to each query. */
export type Found<Filter extends FilterName> = Readonly<Record<Filter, readonly Nearest[]>>;

interface Vectors extends Queries {
  readonly rows: number;
  readonly vectors: Float32Array;
  readonly groups: Uint16Array;
}

export function findTruth(set: Vectors): Truth {
  const { rows, dimension, vectors, groups } = set;
  const finder = new TruthFinder(set, FILTER_NAMES);
  for (let from = 0; from < rows; from += BLOCK_ROWS) {
    const to = Math.min(from + BLOCK_ROWS, rows);
    finder.add(from, vectors.subarray(from * dimension, to * dimension), groups.subarray(from, to));
  }
  return truthOf(finder.found);
}

/** @param found Of the filter `all` too. */
export function truthOf<Filter extends FilterName>(found: Found<Filter | "all">): Truth<Filter | "all"> {
  const nearest = {} as Record<Filter | "all", number[][]>;
  for (const name of namesOf(found)) nearest[name] = found[name].map(({ rows }) => [...rows]);
  const best = found.all.map(({ cosines }) => cosines[0] ?? Number.NaN);
  return { topCosine: mean(best), nearest };
}

/** What was found among two parts of the rows. */
export function mergeFound<Filter extends FilterName>(
  one: Found<Filter>,
  other: Found<Filter>,
): Found<Filter> {
  const merged = {} as Record<Filter, Nearest[]>;
  for (const name of namesOf(one))
    merged[name] = one[name].map((nearest, query) => mergeNearest(nearest, other[name][query]!));
  return merged;
}

function namesOf<Filter extends FilterName>(found: Found<Filter>): Filter[] {
  return Object.keys(found) as Filter[];
}

/** Takes the rows of a set block by block. */
export class TruthFinder<Filter extends FilterName> {
  readonly #queries: Queries;
  readonly #filters: readonly Filter[];
  readonly #found: Record<Filter, Nearest[]>;

  constructor(queries: Queries, filters: readonly Filter[]) {
    this.#queries = queries;
    this.#filters = filters;
    const nothing = (): Nearest[] =>
      Array.from({ length: queries.queries }, () => ({ rows: [], cosines: [] }));
    this.#found = {} as Record<Filter, Nearest[]>;
    for (const name of filters) this.#found[name] = nothing();
  }

  get found(): Found<Filter> {
    return this.#found;
  }

  /** The rows from `from` on; their vectors may have any length. */
  add(from: number, vectors: Float32Array, groups: Uint16Array): void {
    const { queries, dimension, queryVectors, queryGroups } = this.#queries;
    const rows = groups.length;
    const masks = new FilterMasks({ from, rows, groups, queryGroups });
    const lengths = lengthsOf(vectors, dimension);
    const cosines = new Float64Array(TOGETHER * rows);
    for (let query = 0; query < queries; query++) {
      const place = query % TOGETHER;
      if (place === 0) {
        const asked = queryVectors.subarray(query * dimension, (query + TOGETHER) * dimension);
        compareAll(vectors, asked, lengths, cosines);
      }
      const own = cosines.subarray(place * rows, (place + 1) * rows);
      for (const name of this.#filters) {
        const before = this.#found[name][query]!;
        const near = best(own, masks.of(name, query), before.cosines[K - 1] ?? -Infinity);
        const more = { rows: near.map((row) => from + row), cosines: near.map((row) => own[row]!) };
        if (near.length > 0) this.#found[name][query] = mergeNearest(before, more);
      }
    }
  }
}

/** Bytes of 0 and 1 by row. Queries share few different filters. */
export class FilterMasks {
  readonly #set: Pick<Vectors, "rows" | "groups" | "queryGroups">;
  readonly #known = new Map<string, Uint8Array>();
  /** Made once: to make one takes longer than all filters of a run take to look at it. */
  readonly #records: readonly RecordContent[];

  /** @param set Groups are of the rows from `from` on. */
  constructor(set: Pick<Vectors, "rows" | "groups" | "queryGroups"> & { readonly from?: number }) {
    const { from = 0, rows, groups } = set;
    this.#set = set;
    this.#records = Array.from({ length: rows }, (_, row) => recordContent(from + row, groups[row] ?? 0));
  }

  of(name: FilterName, query: number): Uint8Array {
    const { rows, queryGroups } = this.#set;
    const { body, keeps } = FILTERS[name](query, queryGroups[query] ?? 0);
    const key = JSON.stringify(body);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const mask = new Uint8Array(rows);
    for (let row = 0; row < rows; row++) mask[row] = Number(keeps(this.#records[row]!));
    this.#known.set(key, mask);
    return mask;
  }
}

/**
 * Cosines of up to four queries with every row, query after query. Together, for then an element of a row is read once for
 * all of them, and no sum waits for itself.
 */
function compareAll(
  vectors: Float32Array,
  queries: Float32Array,
  lengths: Float64Array,
  cosines: Float64Array,
): void {
  const rows = lengths.length;
  const dimension = vectors.length / rows;
  const asked = new Float64Array(TOGETHER * dimension);
  for (const [query, length] of lengthsOf(queries, dimension).entries())
    for (let j = query * dimension; j < (query + 1) * dimension; j++) asked[j] = queries[j]! / length;
  for (let row = 0; row < rows; row++) {
    const start = row * dimension;
    let [a, b, c, d] = [0, 0, 0, 0];
    for (let j = 0; j < dimension; j++) {
      const x = vectors[start + j]!;
      a += asked[j]! * x;
      b += asked[j + dimension]! * x;
      c += asked[j + 2 * dimension]! * x;
      d += asked[j + 3 * dimension]! * x;
    }
    const length = lengths[row]!;
    cosines[row] = a / length;
    cosines[rows + row] = b / length;
    cosines[2 * rows + row] = c / length;
    cosines[3 * rows + row] = d / length;
  }
}

function lengthsOf(vectors: Float32Array, dimension: number): Float64Array {
  const lengths = new Float64Array(vectors.length / dimension);
  for (let row = 0, at = 0; row < lengths.length; row++) {
    let squares = 0;
    for (const end = at + dimension; at < end; at++) squares += vectors[at]! ** 2;
    lengths[row] = Math.sqrt(squares);
  }
  return lengths;
}

/** At most `K` rows that are nearer than `bound`, best first. */
function best(cosines: Float64Array, mask: Uint8Array, bound: number): number[] {
  const found: number[] = [];
  let worst = bound;
  for (let row = 0; row < cosines.length; row++) {
    const cosine = cosines[row]!;
    if (cosine <= worst || mask[row] === 0) continue;
    const place = found.findIndex((other) => cosines[other]! < cosine);
    found.splice(place < 0 ? found.length : place, 0, row);
    if (found.length > K) found.pop();
    if (found.length === K) worst = cosines[found[K - 1]!]!;
  }
  return found;
}

/** Of equal ones those of `one` come first. */
function mergeNearest(one: Nearest, other: Nearest): Nearest {
  const both = [one, other].flatMap(({ rows, cosines }) =>
    rows.map((row, place) => ({ row, cosine: cosines[place]! })),
  );
  const nearest = both.toSorted((a, b) => b.cosine - a.cosine).slice(0, K);
  return { rows: nearest.map(({ row }) => row), cosines: nearest.map(({ cosine }) => cosine) };
}
