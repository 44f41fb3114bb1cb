/**
 * Finds the padded size of a batch at which a model is fastest on this machine. Small ones keep the activations in a
 * core's cache, large ones spread what each call costs; which wins depends on both. Short by design: a model for which
 * already the small batch takes long stays with it, because a long batch holds up whoever comes next.
 */

/** Padded tokens tried, smallest first. */
export const BATCH_CANDIDATES: readonly number[] = [256, 512, 1_024];
/** Tokens of each text: the middle of what is embedded. */
const TEXT_TOKENS = 32;
const RUNS = 2;
/** No larger batch is tried once a run took this long. */
const LONG_RUN_MS = 250;
/** A larger batch must be faster by this factor, or it only adds delay. */
const GAIN = 1.05;
/** An id that every vocabulary has. */
const TOKEN_ID = 1;

export interface CalibrationOptions {
  readonly run: (batch: readonly Int32Array[]) => Promise<unknown>;
  /** Longest text the model takes. */
  readonly maxTokens: number;
  /** Milliseconds, from any start. */
  readonly clock: () => number;
}

/** The best of `BATCH_CANDIDATES`. Fails as `run` does. */
export async function calibrateBatch(options: CalibrationOptions): Promise<number> {
  const { run, clock } = options;
  const textTokens = Math.min(TEXT_TOKENS, options.maxTokens);
  const [first = 0] = BATCH_CANDIDATES;
  // The first run of a session sets up its memory.
  await run(batchOf(first, textTokens));
  let best = { tokens: first, perToken: Infinity };
  for (const tokens of BATCH_CANDIDATES) {
    const batch = batchOf(tokens, textTokens);
    let fastestMs = Infinity;
    for (let attempt = 0; attempt < RUNS; attempt++) {
      const startedAt = clock();
      await run(batch);
      fastestMs = Math.min(fastestMs, clock() - startedAt);
    }
    const perToken = fastestMs / (batch.length * textTokens);
    if (perToken * GAIN < best.perToken) best = { tokens, perToken };
    if (fastestMs > LONG_RUN_MS) break;
  }
  return best.tokens;
}

function batchOf(tokens: number, textTokens: number): readonly Int32Array[] {
  const count = Math.max(1, Math.floor(tokens / textTokens));
  return Array.from({ length: count }, () => new Int32Array(textTokens).fill(TOKEN_ID));
}
