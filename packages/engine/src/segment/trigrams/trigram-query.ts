/**
 * Which trigrams a document must have: a tree of "all of" and "one of", so that alternatives of a regular expression
 * narrow as well as what stands between them. It only rules out; `EVERY_DOCUMENT` rules out nothing.
 */
import { trigramsOf } from "./trigrams.ts";

export interface TrigramQuery {
  /** Buckets that a document has to have. */
  readonly all: readonly number[];
  /** And of each list one that it satisfies. */
  readonly any: readonly (readonly TrigramQuery[])[];
}

/** Buckets in one query; what goes beyond is left out of it, which rules out less. */
const MAX_BUCKETS = 512;

export const EVERY_DOCUMENT: TrigramQuery = Object.freeze({ all: [], any: [] });

export function containing(text: string): TrigramQuery {
  const all = trigramsOf(text);
  return all.length === 0 ? EVERY_DOCUMENT : { all: all.slice(0, MAX_BUCKETS), any: [] };
}

export function both(one: TrigramQuery, other: TrigramQuery): TrigramQuery {
  if (isEvery(one)) return other;
  if (isEvery(other) || sizeOf(one) + sizeOf(other) > MAX_BUCKETS) return one;
  return { all: [...new Set([...one.all, ...other.all])], any: [...one.any, ...other.any] };
}

/** What all of them ask for stands apart, so that it is looked up once. */
export function either(queries: readonly TrigramQuery[]): TrigramQuery {
  const [first, ...others] = queries;
  if (first === undefined || queries.some(isEvery)) return EVERY_DOCUMENT;
  if (others.length === 0) return first;
  const common = first.all.filter((bucket) => others.every(({ all }) => all.includes(bucket)));
  const rest = queries.map(({ all, any }) => ({ all: all.filter((b) => !common.includes(b)), any }));
  if (rest.some(isEvery)) return { all: common, any: [] };
  const query = { all: common, any: [rest] };
  return sizeOf(query) > MAX_BUCKETS ? { all: common, any: [] } : query;
}

function isEvery({ all, any }: TrigramQuery): boolean {
  return all.length === 0 && any.length === 0;
}

function sizeOf({ all, any }: TrigramQuery): number {
  return any.flat().reduce((sum, query) => sum + sizeOf(query), all.length);
}
