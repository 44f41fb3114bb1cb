/** The calls that an engine host has under way, and the collections that it reads by itself: what may have ended it. */
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
  /** Collection -> how often the host reads it just now. */
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

  /** The host begins, or ends, to read the collection for another reason than a call on it. */
  touch(collection: string, touching: boolean): void {
    const times = (this.#touched.get(collection) ?? 0) + (touching ? 1 : -1);
    if (times > 0) this.#touched.set(collection, times);
    else this.#touched.delete(collection);
  }

  /** The host has ended: what it had under way, and nothing is from now on. */
  ended(): { readonly calls: readonly CallInFlight[]; readonly collections: readonly string[] } {
    const calls = [...this.#calls];
    const collections = [...new Set([...calls.map(({ collection }) => collection), ...this.#touched.keys()])];
    this.#calls.clear();
    this.#touched.clear();
    return { calls, collections };
  }
}
