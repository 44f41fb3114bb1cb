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
  /** The position (0 for the nearest) instead of the distance. */
  readonly returnRank?: boolean;
  /** Compares with every record, without an index. */
  readonly exact?: boolean;
}

/** As it is sent. */
export interface KnnExpression extends Omit<KnnParams, "returnRank"> {
  readonly return_rank?: boolean;
}

export type RankExpression =
  | { readonly $val: number }
  | { readonly $knn: KnnExpression }
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
  returnRank: true,
  exact: true,
};

/** Nearest neighbours of a query; the score is the distance, lower is closer. */
export function knn(params: KnnParams): RankExpression {
  const { returnRank, ...rest } = requireKnown(params, KNN, "params");
  return { $knn: returnRank === undefined ? rest : { ...rest, return_rank: returnRank } };
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
 * Reciprocal rank fusion: `-sum(weight / (k + rank))`, lower is better. Every query gets `returnRank`, and its
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
    const rank = knn({ ...query, limit, default: query.default ?? limit, returnRank: true });
    return { $div: { left: { $val: weights?.[position] ?? 1 }, right: { $sum: [{ $val: k }, rank] } } };
  });
  const [only] = terms;
  const total = terms.length === 1 && only !== undefined ? only : { $sum: terms };
  return { $mul: [{ $val: -1 }, total] };
}
