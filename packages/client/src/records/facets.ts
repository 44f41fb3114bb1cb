/** How many records match, and how often which values occur. */
import { type MembersOf, requireArray, requireKnown } from "../require-known.ts";
import { type KeyInput, keyName } from "../search/key.ts";
import { CALL, type CallOptions } from "../transport.ts";
import type { Metadata } from "./metadata.ts";
import { SELECTOR, type Selector, selectorJson } from "./read.ts";

/** All records, unless a selection is given. */
export interface CountParams<M = Metadata> extends Selector<M>, CallOptions {}

export interface FacetsParams<K, M = Metadata> extends Selector<M>, CallOptions {
  /** Fields of the metadata. */
  readonly keys: K;
  /** Values that are listed of each key, 10 if omitted. */
  readonly limit?: number | undefined;
  /** Buckets of equal width for the numbers of each key; none if omitted. */
  readonly histogram?: number | undefined;
}

export interface Facet<V> {
  /** The most frequent first, then by value. Members of an array count one by one. */
  readonly values: readonly { readonly value: V; readonly count: number }[];
  /** Records without a value under the key. */
  readonly missing: number;
  /** Occurrences of values that are not listed. */
  readonly other: number;
  /** Of the numbers. */
  readonly min: number | null;
  readonly max: number | null;
  /** Where it was asked for: a bucket holds the numbers from `from` on and below `to`, the last one `to` as well. */
  readonly histogram?: readonly { readonly from: number; readonly to: number; readonly count: number }[];
}

type Scalar = string | number | boolean;

/** What a facet lists of values of this type. */
export type FacetValue<V> = NonNullable<V> extends readonly (infer E)[] ? E : Extract<NonNullable<V>, Scalar>;

const COUNT: MembersOf<CountParams> = { ...SELECTOR, ...CALL };
const FACETS: MembersOf<FacetsParams<unknown>> = { keys: true, limit: true, histogram: true, ...COUNT };

type Loose<P> = Omit<P, "where"> & { readonly where?: object | null | undefined };

/** `null`: all records. */
export function countJson(params: Loose<CountParams>): object | null {
  const { ids, where, whereDocument } = requireKnown(params, COUNT, "params");
  const isAll = (ids ?? where ?? whereDocument ?? null) === null;
  return isAll ? null : selectorJson(params);
}

export function facetsJson(params: Loose<FacetsParams<readonly KeyInput[]>>): object {
  const { keys, limit, histogram } = requireKnown(params, FACETS, "params");
  const names = requireArray(keys, "params.keys").map((key, i) => keyName(key, `params.keys[${i}]`));
  return { ...selectorJson(params), keys: names, limit, histogram };
}
