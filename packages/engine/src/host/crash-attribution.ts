/**
 * Which tenant ended the engine host. An end is attributed to the tenant of the call that had run longest: the only one
 * in flight, or the one that the others were stuck behind. After three within ten minutes the heavy calls of that
 * tenant are refused until the first of the three is ten minutes old (decision 9).
 */
import { SheafError } from "@sheaf/protocol";
import type { CallInFlight } from "./calls-in-flight.ts";

const ENDS = 3;
const WINDOW_MS = 10 * 60_000;

export class CrashAttribution {
  /** Tenant -> when ends within the window were attributed to it, oldest first. */
  readonly #ends = new Map<string, readonly number[]>();
  readonly #now: () => number;

  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  /** The host has ended with these calls in flight. Gives the tenant; `null`: none had a call. */
  ended(calls: readonly CallInFlight[]): string | null {
    let longest: CallInFlight | null = null;
    for (const call of calls) {
      if (call.tenant !== null && (longest === null || call.since < longest.since)) longest = call;
    }
    if (longest === null || longest.tenant === null) return null;
    const { tenant } = longest;
    for (const known of this.#ends.keys()) this.#recent(known);
    this.#ends.set(tenant, [...this.#recent(tenant), this.#now()].slice(-ENDS));
    return tenant;
  }

  /** For a heavy call of the tenant: `null` if it may run, else 503 with the time to come back. */
  refusal(tenant: string): SheafError | null {
    if (this.#ends.size === 0) return null;
    const recent = this.#recent(tenant);
    const [first] = recent;
    if (first === undefined || recent.length < ENDS) return null;
    const retryAfterSeconds = Math.ceil((first + WINDOW_MS - this.#now()) / 1_000);
    return new SheafError(
      "unavailable",
      `requests of this tenant ended the engine ${ENDS} times within ${WINDOW_MS / 60_000} minutes; ` +
        "those that open a collection are refused for a while",
      { retryAfterSeconds },
    );
  }

  #recent(tenant: string): readonly number[] {
    const since = this.#now() - WINDOW_MS;
    const recent = (this.#ends.get(tenant) ?? []).filter((at) => at > since);
    if (recent.length === 0) this.#ends.delete(tenant);
    return recent;
  }
}
