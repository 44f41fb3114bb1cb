/** Builders of rank expressions. Each returns the plain JSON of a search, so they nest freely. */
import { type MembersOf, requireArray, requireKnown } from "./require-known.ts";

export interface SparseVectorJson {
  readonly indices: readonly number[];
  readonly values: readonly number[];
}

export interface KnnParams {
  /** A text is embedded by the server with the model of `key`. */
  readonly query: string | readonly number[] | SparseVectorJson;
  /** `#embedding` if omitted, else the metadata key of a sparse index. */
  readonly key?: string;
  /** How many records it finds: 16 if omitted, whatever the limit of the search. 100 in `rrf`. */
  readonly limit?: number;
  /** Score of records that this query does not find, so that a sum includes them. */
  readonly default?: number;
  readonly return_rank?: boolean;
  readonly exact?: boolean;
}

export type RankExpression =
  | { readonly $val: number }
  | { readonly $knn: KnnParams }
  | { readonly $sum: readonly RankExpression[] }
  | { readonly $mul: readonly RankExpression[] }
  | { readonly $max: readonly RankExpression[] }
  | { readonly $min: readonly RankExpression[] }
  | { readonly $sub: { readonly left: RankExpression; readonly right: RankExpression } }
  | { readonly $div: { readonly left: RankExpression; readonly right: RankExpression } }
  | { readonly $abs: RankExpression }
  | { readonly $exp: RankExpression }
  | { readonly $log: RankExpression };

const KNN: MembersOf<KnnParams> = {
  query: true,
  key: true,
  limit: true,
  default: true,
  return_rank: true,
  exact: true,
};

/** Nearest neighbours of a query; the score is the distance, lower is closer. */
export function knn(params: KnnParams): RankExpression {
  return { $knn: requireKnown(params, KNN, "params") };
}

export interface RrfParams {
  /** The nearest-neighbour queries whose rankings are combined. */
  readonly ranks: readonly KnnParams[];
  /** Damping of the first ranks; 60 as in Cormack, Clarke and Büttcher (SIGIR 2009). */
  readonly k?: number;
  /** One for each of `ranks`; 1 if omitted. */
  readonly weights?: readonly number[];
}

const RRF: MembersOf<RrfParams> = { ranks: true, k: true, weights: true };

/**
 * Reciprocal rank fusion: `-sum(weight / (k + rank))`, lower is better. Every query gets `return_rank`, and its
 * own limit as the default, so that a record found by only one of them is included.
 */
export function rrf(params: RrfParams): RankExpression {
  const { ranks, k = 60, weights } = requireKnown(params, RRF, "params");
  if (requireArray(ranks, "params.ranks").length === 0)
    throw new TypeError("params.ranks: must not be empty");
  if (weights !== undefined && requireArray(weights, "params.weights").length !== ranks.length) {
    throw new TypeError(`params.weights: must have as many items as params.ranks, ${ranks.length}`);
  }
  const terms = ranks.map((query, position): RankExpression => {
    requireKnown(query, KNN, `params.ranks[${position}]`);
    const limit = query.limit ?? 100;
    const rank = knn({ ...query, limit, default: query.default ?? limit, return_rank: true });
    return { $div: { left: { $val: weights?.[position] ?? 1 }, right: { $sum: [{ $val: k }, rank] } } };
  });
  const [only] = terms;
  const total = terms.length === 1 && only !== undefined ? only : { $sum: terms };
  return { $mul: [{ $val: -1 }, total] };
}
