/** When a refused request is sent again. Pure: chance is passed in. */

const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 8_000;
/** A server that asks for more, such as one without the weights of a model, is not waited for. */
const LONGEST_RETRY_AFTER_SECONDS = 30;

export interface Refusal {
  /** Attempts so far, this one included. */
  readonly attempts: number;
  /** `Retry-After` of the answer. */
  readonly retryAfterSeconds: number | null;
  /** From 0 to 1. Callers that were refused together come back apart. */
  readonly chance: number;
}

/** Milliseconds to wait, at least what the server asked for; `null` if that is too long. */
export function retryDelayMs({ attempts, retryAfterSeconds, chance }: Refusal): number | null {
  const backoff = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempts - 1));
  if (retryAfterSeconds === null) return backoff * (0.5 + chance / 2);
  if (retryAfterSeconds > LONGEST_RETRY_AFTER_SECONDS) return null;
  return retryAfterSeconds * 1000 + backoff * chance;
}
