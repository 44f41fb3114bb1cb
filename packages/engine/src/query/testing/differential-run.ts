/**
 * How many reads are compared with the oracle, and with what randomness: `SHEAF_DIFFERENTIAL_CASES` sets how many,
 * `SHEAF_DIFFERENTIAL_SEED` repeats a run.
 */
const CASES = Number(process.env["SHEAF_DIFFERENTIAL_CASES"] ?? 5_000);

export class DifferentialRun {
  readonly cases: number;
  readonly seed = Number(process.env["SHEAF_DIFFERENTIAL_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
  /** To be printed: what repeats it. */
  readonly words: string;

  /** @param share Of all cases. */
  constructor(name: string, share = 1) {
    this.cases = CASES * share;
    this.words = `${name}: ${this.cases} cases, SHEAF_DIFFERENTIAL_SEED=${this.seed}`;
  }

  /** How often a property is tried so that its reads are a share of the cases. */
  runs(share: number, readsPerRun: number): { seed: number; numRuns: number } {
    return { seed: this.seed, numRuns: Math.ceil((this.cases * share) / readsPerRun) };
  }
}
