/** Tries again what may pass by itself, for as long as there is progress and a few times without. */
import { throwIfAborted } from "@sheaf/protocol";
import { setTimeout as delay } from "node:timers/promises";
import { hubError, TransientHubError } from "./hub-error.ts";

/** Failures in a row without a byte of progress. */
const ATTEMPTS = 6;
const FIRST_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 30_000;
/** A server may ask for patience, not for a day. */
const MAX_RETRY_AFTER_MS = 300_000;

export type Wait = (ms: number, signal: AbortSignal | undefined) => Promise<void>;

export interface RetryOptions {
  readonly wait: Wait;
  readonly signal: AbortSignal | undefined;
  /** Grows with what has been achieved; failures count from the last growth. */
  readonly progress?: () => number;
}

export async function retrying<T>(attempt: () => Promise<T>, options: RetryOptions): Promise<T> {
  const progress = options.progress ?? (() => 0);
  let reached = progress();
  let failures = 0;
  for (;;) {
    throwIfAborted(options.signal);
    try {
      return await attempt();
    } catch (error) {
      throwIfAborted(options.signal);
      if (!(error instanceof TransientHubError)) throw error;
      const now = progress();
      failures = now > reached ? 1 : failures + 1;
      reached = Math.max(reached, now);
      if (failures === ATTEMPTS) throw hubError(`${error.message}; gave up after ${ATTEMPTS} tries`, error);
      await options.wait(backoffMs(error, failures), options.signal);
    }
  }
}

/** Really waits; an abort ends it. */
export const waitForReal: Wait = async (ms, signal) => {
  await delay(ms, undefined, signal === undefined ? {} : { signal }).catch(() => throwIfAborted(signal));
};

function backoffMs({ retryAfterMs }: TransientHubError, failures: number): number {
  if (retryAfterMs !== null) return Math.min(retryAfterMs, MAX_RETRY_AFTER_MS);
  return Math.min(FIRST_BACKOFF_MS * 2 ** (failures - 1), MAX_BACKOFF_MS);
}
