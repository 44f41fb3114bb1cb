/**
 * Runs work of many tenants a few at a time, and lets the tenants take turns: one that has much waiting holds up nobody
 * else by more than what is running.
 */
import { type CancelSignal, abortError, throwIfAborted } from "@sheaf/protocol";

interface Waiting {
  readonly start: () => void;
}

export class FairTurns {
  readonly #atOnce: number;
  /** By tenant, those that have waited longest first; the tenant whose turn it is first. */
  readonly #waiting = new Map<string, Set<Waiting>>();
  #running = 0;

  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  /** Rejects with the signal's reason if it aborts before the turn has come. */
  async run<T>(tenant: string, signal: CancelSignal, work: () => Promise<T>): Promise<T> {
    throwIfAborted(signal);
    if (this.#running < this.#atOnce) this.#running++;
    else await this.#turn(tenant, signal);
    try {
      return await work();
    } finally {
      this.#next();
    }
  }

  #turn(tenant: string, signal: CancelSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#forget(tenant, waiting);
        reject(abortError(signal));
      };
      const waiting: Waiting = {
        start: () => {
          signal.removeEventListener("abort", onAbort);
          resolve();
        },
      };
      signal.addEventListener("abort", onAbort, { once: true });
      const others = this.#waiting.get(tenant);
      if (others === undefined) this.#waiting.set(tenant, new Set([waiting]));
      else others.add(waiting);
    });
  }

  /** Hands the turn that has ended to the tenant that has waited for one the longest. */
  #next(): void {
    for (const [tenant, queue] of this.#waiting) {
      for (const waiting of queue) {
        this.#forget(tenant, waiting);
        // Behind the others, if it has more.
        if (queue.size > 0) {
          this.#waiting.delete(tenant);
          this.#waiting.set(tenant, queue);
        }
        waiting.start();
        return;
      }
    }
    this.#running--;
  }

  #forget(tenant: string, waiting: Waiting): void {
    const queue = this.#waiting.get(tenant);
    queue?.delete(waiting);
    if (queue?.size === 0) this.#waiting.delete(tenant);
  }
}
