/** How what was measured again and again grows, once the first quarter of the time is over. */

export const GOAL_MIB_PER_HOUR = 16;
const MS_PER_HOUR = 3_600_000;

export interface Sample {
  readonly at: number;
  /** MiB by what was measured. */
  readonly mebibytes: ReadonlyMap<string, number>;
}

export interface Growth {
  readonly name: string;
  readonly first: number;
  /** Of the line through all samples after the first quarter: where it begins, and how it rises. */
  readonly quarter: number;
  readonly perHour: number;
  readonly last: number;
}

export function slopes(samples: readonly Sample[]): readonly Growth[] {
  const [start, end] = [samples[0]?.at ?? 0, samples.at(-1)?.at ?? 0];
  const from = start + (end - start) / 4;
  const names = new Set(samples.flatMap(({ mebibytes }) => [...mebibytes.keys()]));
  return [...names].map((name) => {
    const points = samples.flatMap(({ at, mebibytes }) => {
      const value = mebibytes.get(name);
      return value === undefined ? [] : [{ at, value }];
    });
    const { quarter, perHour } = lineThrough(
      points.filter(({ at }) => at >= from),
      from,
    );
    return { name, first: points[0]!.value, quarter, perHour, last: points.at(-1)!.value };
  });
}

/** Least squares. */
function lineThrough(
  points: readonly { readonly at: number; readonly value: number }[],
  from: number,
): Pick<Growth, "quarter" | "perHour"> {
  const mean = (of: (point: { at: number; value: number }) => number): number =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [at, value] = [mean((point) => point.at), mean((point) => point.value)];
  const variance = mean((point) => (point.at - at) ** 2);
  const slope = variance === 0 ? 0 : mean((point) => (point.at - at) * (point.value - value)) / variance;
  return { quarter: value + slope * (from - at), perHour: slope * MS_PER_HOUR };
}
