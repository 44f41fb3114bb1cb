/** Reciprocal rank fusion. `rrf` takes queries and sets what fusion needs, `Rrf` is Chroma's and takes expressions. */
import { type MembersOf, requireArray, requireKnown } from "../require-known.ts";
import { type KnnParams, knnLeaf } from "./knn.ts";
import { type RankInput, RankExpression, Val, rankOf } from "./rank.ts";

interface FusionParams {
  /** Damping of the first ranks; 60 as in Cormack, Clarke and Büttcher (SIGIR 2009). */
  readonly k?: number;
  /** One for each of `ranks`; 1 if omitted. */
  readonly weights?: readonly number[];
}

export interface RrfParams extends FusionParams {
  /** The nearest-neighbour queries whose rankings are combined. */
  readonly ranks: readonly KnnParams[];
}

export interface ChromaRrfParams extends FusionParams {
  /** Expressions whose values are positions, such as those of `Knn` with `returnRank`. */
  readonly ranks: readonly RankInput[];
  /** Divides the weights by their sum. */
  readonly normalize?: boolean;
}

const RRF: MembersOf<RrfParams> = { ranks: true, k: true, weights: true };
const CHROMA_RRF: MembersOf<ChromaRrfParams> = { ...RRF, normalize: true };

/** Each ranking looks this deep at least: beyond it 1 / (k + rank) hardly moves an order of the first ten. */
const FUSION_LIMIT = 100;

/**
 * Fuses the rankings of several queries: `-sum(weight / (k + rank))`, lower is better. Every query gets `returnRank`, and
 * its own limit as the default, so that a record found by only one of them is included.
 */
export function rrf(params: RrfParams): RankExpression {
  const { ranks, k, weights } = requireKnown(params, RRF, "params");
  const leaves = requireArray(ranks, "params.ranks").map((query, i) => {
    const defaults = { path: `params.ranks[${i}]`, limit: FUSION_LIMIT, scoreMissing: true };
    const isObject = typeof query === "object" && query !== null && !Array.isArray(query);
    return knnLeaf(isObject ? { ...query, returnRank: true } : query, defaults);
  });
  return fuse(leaves, k, weights);
}

/**
 * Fusion of expressions as they are: give each `Knn` in it `returnRank: true`, and a `default` if a record found by one of
 * them alone shall count.
 */
export function Rrf(params: ChromaRrfParams): RankExpression {
  const { ranks, k, weights, normalize = false } = requireKnown(params, CHROMA_RRF, "params");
  const expressions = requireArray(ranks, "params.ranks").map((rank, i) =>
    rankOf(rank, `params.ranks[${i}]`),
  );
  if (!normalize) return fuse(expressions, k, weights);
  const given = weights ?? expressions.map(() => 1);
  const total = given.reduce((sum, weight) => sum + weight, 0);
  if (!(total > 0)) throw new TypeError("params.weights: their sum must be positive to normalize them");
  return fuse(
    expressions,
    k,
    given.map((weight) => weight / total),
  );
}

function fuse(ranks: readonly RankExpression[], k = 60, weights?: readonly number[]): RankExpression {
  if (!(Number.isInteger(k) && k > 0)) throw new TypeError("params.k: must be a positive integer");
  if (ranks.length === 0) throw new TypeError("params.ranks: must not be empty");
  if (weights !== undefined && requireArray(weights, "params.weights").length !== ranks.length) {
    throw new TypeError(`params.weights: must have as many items as params.ranks, ${ranks.length}`);
  }
  if (weights?.some((weight) => !(weight >= 0)) === true) {
    throw new TypeError("params.weights: must be numbers of at least 0");
  }
  const terms = ranks.map((rank, i) => Val(weights?.[i] ?? 1).divide(rank.add(k)));
  return RankExpression.many("$sum", terms).negate();
}
