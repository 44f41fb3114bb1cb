/**
 * Buckets of equal width from the least number to the greatest, their bounds in f64. A number belongs to the last bucket
 * whose `from` is not above it; what rounding leaves outside belongs to the first and the last.
 */
import type { FacetBucket } from "@sheaf/protocol";
import { lowerBound } from "../../storage/lower-bound.ts";

export class Histogram {
  /** One more than there are buckets, ascending. */
  readonly #bounds: Float64Array;
  readonly #counts: Float64Array;

  /** One bucket where all numbers are the same. */
  constructor(min: number, max: number, buckets: number) {
    const count = min === max ? 1 : buckets;
    this.#bounds = Float64Array.from({ length: count + 1 }, (_, i) => boundOf(i, count, { min, max })).sort();
    this.#counts = new Float64Array(count);
  }

  add(value: bigint | number, count: number): void {
    const last = this.#counts.length - 1;
    const bucket = lowerBound(last + 1, (i) => this.#bounds[i]! <= value) - 1;
    this.#counts[Math.max(0, bucket)]! += count;
  }

  buckets(): readonly FacetBucket[] {
    return Array.from(this.#counts, (count, i) => ({
      from: this.#bounds[i]!,
      to: this.#bounds[i + 1]!,
      count,
    }));
  }
}

function boundOf(
  i: number,
  count: number,
  { min, max }: { readonly min: number; readonly max: number },
): number {
  if (i === 0 || i === count) return i === 0 ? min : max;
  const step = ((max - min) * i) / count;
  // Twice what f64 holds may lie between two numbers.
  const bound = Number.isFinite(step) ? min + step : min * (1 - i / count) + max * (i / count);
  return Math.min(max, Math.max(min, bound));
}
