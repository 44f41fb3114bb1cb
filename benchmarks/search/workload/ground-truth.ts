/** The exact answers to every query under every filter, found by comparing everything with everything. */
import { FILTERS, FILTER_NAMES, type FilterName } from "./filters.ts";
import { type RecordContent, recordContent } from "./record-content.ts";

/** Neighbours that a query asks for. */
export const K = 10;

export interface Truth {
  /** Mean cosine of the queries to their nearest record. */
  readonly topCosine: number;
  /** Rows, best first, of each query. */
  readonly nearest: Readonly<Record<FilterName, readonly (readonly number[])[]>>;
}

interface Vectors {
  readonly rows: number;
  readonly dimension: number;
  readonly queries: number;
  readonly vectors: Float32Array;
  readonly groups: Uint16Array;
  readonly queryVectors: Float32Array;
  readonly queryGroups: Uint16Array;
}

export function findTruth(set: Vectors): Truth {
  const masks = new FilterMasks(set);
  const nearest = Object.fromEntries(FILTER_NAMES.map((name) => [name, [] as number[][]])) as Record<
    FilterName,
    number[][]
  >;
  const cosines = new Float64Array(set.rows);
  let topCosines = 0;
  for (let query = 0; query < set.queries; query++) {
    compareAll(set, query, cosines);
    for (const name of FILTER_NAMES) nearest[name].push(best(cosines, masks.of(name, query)));
    topCosines += cosines[nearest.all[query]?.[0] ?? 0] ?? Number.NaN;
  }
  return { topCosine: topCosines / set.queries, nearest };
}

/** Bytes of 0 and 1 by row. Queries share few different filters. */
export class FilterMasks {
  readonly #set: Pick<Vectors, "rows" | "groups" | "queryGroups">;
  readonly #known = new Map<string, Uint8Array>();
  /** Made once: to make one takes longer than all filters of a run take to look at it. */
  readonly #records: readonly RecordContent[];

  constructor(set: Pick<Vectors, "rows" | "groups" | "queryGroups">) {
    this.#set = set;
    this.#records = Array.from({ length: set.rows }, (_, row) => recordContent(row, set.groups[row] ?? 0));
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

/** All vectors have length 1, so the inner product is the cosine. Four sums, for one would wait for itself. */
function compareAll(set: Vectors, query: number, cosines: Float64Array): void {
  const { vectors, dimension, rows } = set;
  const asked = Float64Array.from(set.queryVectors.subarray(query * dimension, (query + 1) * dimension));
  const whole = dimension - (dimension % 4);
  for (let row = 0, at = 0; row < rows; row++, at += dimension) {
    let a = 0;
    let b = 0;
    let c = 0;
    let d = 0;
    for (let j = 0; j < whole; j += 4) {
      a += asked[j]! * vectors[at + j]!;
      b += asked[j + 1]! * vectors[at + j + 1]!;
      c += asked[j + 2]! * vectors[at + j + 2]!;
      d += asked[j + 3]! * vectors[at + j + 3]!;
    }
    for (let j = whole; j < dimension; j++) a += asked[j]! * vectors[at + j]!;
    cosines[row] = a + b + (c + d);
  }
}

function best(cosines: Float64Array, mask: Uint8Array): number[] {
  const found: number[] = [];
  let worst = -Infinity;
  for (let row = 0; row < cosines.length; row++) {
    const cosine = cosines[row]!;
    if (mask[row] === 0 || cosine <= worst) continue;
    const place = found.findIndex((other) => cosines[other]! < cosine);
    found.splice(place < 0 ? found.length : place, 0, row);
    if (found.length > K) found.pop();
    if (found.length === K) worst = cosines[found[K - 1]!]!;
  }
  return found;
}
