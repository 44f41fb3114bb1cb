/**
 * A query as one segment takes it. Rows are held relative to an origin, and every space ranks by
 * score = <x, q> + bias(x), higher is nearer: the bias is -|x|^2 / 2 for l2 and 0 for the others.
 */
import type { DenseTally } from "../dense-tally.ts";
import type { WaitingCandidates } from "./candidate-pool.ts";
import type { CopyingShare } from "./code-copies.ts";
import type { Nearest } from "./nearest.ts";
import type { PlaneScale } from "./sign-code.ts";

export interface DenseQuery {
  readonly k: number;
  /** How many of the k are expected in the segment that is searched. */
  readonly expected: number;
  /** Relative to the origin for l2; padded with zeros to the segments' width. */
  readonly vector: Float32Array;
  /** Euclidean length of `vector`. */
  readonly length: number;
  /** What the first segment makes of it for all. */
  readonly rotated: RotatedQuery;
  /** How far scores from bf16 are off. */
  readonly slack: ScoreSlack;
  /** Exact score of the record at a position, from the store. */
  readonly scoreOf: (position: number) => number;
  /** Collects positions with their scores from bf16. */
  readonly nearest: Nearest;
  /** Of the segment that is searched: the position of its slot 0, and a bit for each slot that is wanted. */
  readonly base: number;
  readonly docs: Uint32Array;
  /** Counts how the search goes. */
  readonly tally: DenseTally;
  readonly copying: CopyingShare;
  /** Where candidates go that are not offered as soon as they are known. */
  readonly waiting?: WaitingCandidates | undefined;
}

/** Segments of an index rotate alike. */
export interface RotatedQuery {
  vector: Float32Array | null;
  planes: QueryPlanes | null;
  levels: QueryLevels | null;
}

/** As `buildPlanes` leaves them. */
export interface QueryPlanes extends PlaneScale {
  readonly bytes: Uint8Array;
}

/** An element is its level times `scale` and `low`; `total`: of all levels. */
export interface QueryLevels {
  readonly planes: Uint8Array;
  readonly total: number;
  readonly scale: number;
  readonly low: number;
}

/** What `slackOf` needs to know of a query. */
export interface ScoreSlack {
  /** A row's length plus this bounds every term of the sums that its scores and its distance are made of. */
  readonly reach: number;
  /** Most that such sums are off, per square of their reach. */
  readonly perSquare: number;
  /** Added to these squares: what terms are that do not grow with the vectors. */
  readonly beside: number;
  /** Most that a score is off per length that bf16 lost of the row. */
  readonly perLoss: number;
}

/** Most that the score from bf16 of a row is off what its exact distance says. */
export function slackOf(
  { reach, perSquare, beside, perLoss }: ScoreSlack,
  length: number,
  loss: number,
): number {
  return perSquare * ((length + reach) ** 2 + beside) + perLoss * loss;
}

/**
 * Estimates from codes count at so many deviations above their value. 2.2: of the rows right at the edge 1.4 % are
 * missed, of the nearer ones next to none.
 */
export const CONFIDENCE = 2.2;
