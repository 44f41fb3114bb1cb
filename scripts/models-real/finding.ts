/** What a check of a model has found, in words for the one who reads the report. */

export interface Finding {
  /** What was looked at, with the figure that was seen. */
  readonly seen: string;
  readonly right: boolean;
}

export function finding(right: boolean, seen: string): Finding {
  return { right, seen };
}

/** A difference or a distance from what should be, as `3.1e-7`. */
export function small(value: number): string {
  return value.toExponential(1);
}
