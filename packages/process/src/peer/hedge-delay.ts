/** How long an answer may take before a second peer is asked: what 95 of 100 answers lately took at most, within bounds. */

/** Of which the newest ones count. */
const SAMPLES = 128;
/** How many come between two calculations. */
const STEP = 16;
const LEAST_MS = 20;
const MOST_MS = 1_000;
const FIRST_MS = 200;

export class HedgeDelay {
  readonly #samples: number[] = [];
  #seen = 0;
  #ms = FIRST_MS;

  get ms(): number {
    return this.#ms;
  }

  /** An answer came after so long, or would have taken longer. */
  add(ms: number): void {
    this.#samples[this.#seen++ % SAMPLES] = ms;
    if (this.#seen % STEP !== 0) return;
    const sorted = Float64Array.from(this.#samples).sort();
    this.#ms = Math.min(MOST_MS, Math.max(LEAST_MS, sorted[Math.floor(sorted.length * 0.95)] ?? FIRST_MS));
  }
}
