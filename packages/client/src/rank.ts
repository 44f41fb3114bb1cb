/** Builders of rank expressions. Each returns the plain JSON of the search dictionary, so they nest freely. */

export interface SparseVectorJson {
  readonly indices: readonly number[];
  readonly values: readonly number[];
}

export interface KnnParams {
  /** A text is embedded by the server with the model of `key`. */
  readonly query: string | readonly number[] | SparseVectorJson;
  /** `#embedding` if omitted, else the metadata key of a sparse index. */
  readonly key?: string;
  readonly limit?: number;
  /** Score of records outside this leaf's results, so that a sum becomes a union. */
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

/** Nearest neighbours of a query; the score is the distance, lower is closer. */
export function knn(params: KnnParams): RankExpression {
  return { $knn: params };
}

export interface RrfParams {
  readonly leaves: readonly KnnParams[];
  /** Damping of the first ranks; 60 as in Cormack, Clarke and Büttcher (SIGIR 2009). */
  readonly k?: number;
  readonly weights?: readonly number[];
}

/**
 * Reciprocal rank fusion: `-sum(weight / (k + rank))`, lower is better. Every leaf gets `return_rank`, and a
 * default at its own limit, so that a record found by one leaf only still takes part.
 */
export function rrf({ leaves, k = 60, weights }: RrfParams): RankExpression {
  const terms = leaves.map((leaf, position): RankExpression => {
    const limit = leaf.limit ?? 100;
    const rank = knn({ ...leaf, limit, default: leaf.default ?? limit, return_rank: true });
    return { $div: { left: { $val: weights?.[position] ?? 1 }, right: { $sum: [{ $val: k }, rank] } } };
  });
  const [only] = terms;
  const total = terms.length === 1 && only !== undefined ? only : { $sum: terms };
  return { $mul: [{ $val: -1 }, total] };
}
