/** What is decided on one state of a collection and written on another, where other servers write between. */
import { SheafError } from "@sheaf/protocol";
import type { StoreView } from "../../storage/record-store.ts";

const MOST_ATTEMPTS = 16;
/** Well before the request's own end: its caller is to hear why, and when to come back. */
const MOST_MS = 20_000;

class OutdatedPlan extends SheafError {
  constructor() {
    super("rate_limited", "too many others write this collection", { retryAfterSeconds: 1 });
  }
}

/** @param at Sequence number of the state that something was decided on; left out where nobody else writes. */
export function requireStill({ head }: StoreView, at: number | undefined): void {
  if (at !== undefined && head.sequence !== at) throw outdated();
}

export function outdated(): SheafError {
  return new OutdatedPlan();
}

export function isOutdated(error: unknown): boolean {
  return error instanceof OutdatedPlan;
}

/**
 * 429 where others are always faster.
 *
 * @param now In milliseconds.
 */
export async function againWhileOutdated<T>(
  work: () => Promise<T>,
  now: () => number = () => performance.now(),
): Promise<T> {
  const until = now() + MOST_MS;
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!isOutdated(error) || attempt === MOST_ATTEMPTS || now() >= until) throw error;
    }
  }
}
