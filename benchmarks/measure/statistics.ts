/** The few statistics that the benchmarks print. */

/** The smallest value that at least `share` of the values do not exceed (nearest rank); `NaN` of none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** `NaN` of none. */
export function mean(values: readonly number[]): number {
  return sum(values) / values.length;
}
