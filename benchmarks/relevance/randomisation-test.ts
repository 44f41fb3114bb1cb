/**
 * Whether two systems differ over the same queries: Fisher's paired randomisation test on the mean difference, the
 * choice of Smucker, Allan & Carterette ("A Comparison of Statistical Significance Tests for Information Retrieval
 * Evaluation", CIKM 2007). It assumes no distribution. Each permutation swaps the two systems in a random half of the
 * queries; p is the share of permutations whose mean differs at least as much as the measured one.
 */
import { mean, sum } from "../measure/statistics.ts";

/** Fine enough for p near 0.001 to be within 20 % of itself. */
const PERMUTATIONS = 100_000;
/** Sums that are equal but for rounding must count as equal. */
const TOLERANCE = 1e-9;

export interface PairedDifference {
  /** Mean of `a` minus mean of `b`. */
  readonly difference: number;
  /** Two-sided; never 0, because the measured assignment is one of the permutations. */
  readonly p: number;
}

/** `a` and `b`: the scores of two systems for the same queries in the same order. `random`: uniform in [0, 1). */
export function comparePaired(
  a: readonly number[],
  b: readonly number[],
  random: () => number,
): PairedDifference {
  const differences = a.map((score, query) => score - (b[query] ?? Number.NaN));
  const measured = Math.abs(sum(differences)) - TOLERANCE;
  // Queries on which the systems agree change no sum.
  const unequal = differences.filter((difference) => difference !== 0);
  let atLeast = 1;
  for (let permutation = 0; permutation < PERMUTATIONS; permutation++) {
    let total = 0;
    for (const difference of unequal) total += random() < 0.5 ? difference : -difference;
    if (Math.abs(total) >= measured) atLeast += 1;
  }
  return { difference: mean(differences), p: atLeast / (PERMUTATIONS + 1) };
}
