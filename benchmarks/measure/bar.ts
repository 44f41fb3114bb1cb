/** A bar that a benchmark has to clear, and the one line that says whether it did. */

export interface Bar {
  readonly name: string;
  readonly measured: number;
  readonly bound: number;
  readonly side: "at least" | "at most";
  /** Digits after the point. */
  readonly digits: number;
}

/** Prints each bar and gives whether all are cleared. What is printed is rounded; what is compared is not. */
export function reportBars(bars: readonly Bar[]): boolean {
  for (const bar of bars) {
    const { name, measured, bound, side, digits } = bar;
    const verdict = cleared(bar) ? "held  " : "MISSED";
    console.log(`${verdict} ${name}: ${measured.toFixed(digits)}, ${side} ${bound.toFixed(digits)}`);
  }
  return bars.every(cleared);
}

function cleared({ measured, bound, side }: Bar): boolean {
  return side === "at least" ? measured >= bound : measured <= bound;
}
