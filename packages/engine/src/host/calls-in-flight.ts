/** The calls that an engine host has under way, and the stores that it reads by itself: what may have ended it. */
import type { CancelSignal } from "@sheaf/protocol";

export interface CallInFlight {
  readonly collection: string;
  /** `null`: the server's own. */
  readonly tenant: string | null;
  /** Milliseconds of the clock that only goes forward. */
  readonly since: number;
}

/** An aborted call may still run in the host for a moment. */
const ABORT_GRACE_MS = 5_000;

export class CallsInFlight {
  readonly #calls = new Set<CallInFlight>();
  /** Collection or shared environment -> how often the host reads it just now. */
  readonly #touched = new Map<string, number>();

  async track<T>(call: CallInFlight, signal: CancelSignal | undefined, work: () => Promise<T>): Promise<T> {
    this.#calls.add(call);
    try {
      return await work();
    } finally {
      if (signal?.aborted === true) setTimeout(() => this.#calls.delete(call), ABORT_GRACE_MS).unref();
      else this.#calls.delete(call);
    }
  }

  /** The host begins, or ends, to read the store for another reason than a call on it. */
  touch(store: string, touching: boolean): void {
    const times = (this.#touched.get(store) ?? 0) + (touching ? 1 : -1);
    if (times > 0) this.#touched.set(store, times);
    else this.#touched.delete(store);
  }

  /** The host has ended: what it had under way, and nothing is from now on. */
  ended(): { readonly calls: readonly CallInFlight[]; readonly touched: readonly string[] } {
    const calls = [...this.#calls];
    const touched = [...new Set([...calls.map(({ collection }) => collection), ...this.#touched.keys()])];
    this.#calls.clear();
    this.#touched.clear();
    return { calls, touched };
  }
}
