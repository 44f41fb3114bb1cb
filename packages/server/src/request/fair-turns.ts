/**
 * Runs work of many tenants a few at a time, and lets the tenants take turns: one that has much waiting holds up nobody
 * else by more than what is running. Of one tenant what is oldest goes first, so that what was begun is finished.
 */
import { type CancelSignal, TurnQueue, abortError, throwIfAborted } from "@sheaf/protocol";

/** Whose work it is, and when what it is part of began. */
export interface TurnOwner {
  readonly tenant: string;
  readonly age: number;
}

interface Waiting {
  readonly age: number;
  readonly start: () => void;
}

export class FairTurns {
  readonly #atOnce: number;
  /** By tenant, the oldest first. */
  readonly #waiting = new TurnQueue<Waiting>();
  #running = 0;

  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  /** Rejects with the signal's reason if it aborts before the turn has come. */
  async run<T>(owner: TurnOwner, signal: CancelSignal, work: () => Promise<T>): Promise<T> {
    throwIfAborted(signal);
    if (this.#running < this.#atOnce) this.#running++;
    else await this.#turn(owner, signal);
    try {
      return await work();
    } finally {
      this.#next();
    }
  }

  #turn({ tenant, age }: TurnOwner, signal: CancelSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiting.remove(tenant, waiting);
        reject(abortError(signal));
      };
      const start = (): void => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      const waiting = { age, start };
      signal.addEventListener("abort", onAbort, { once: true });
      this.#waiting.push(tenant, waiting, (other) => other.age > age);
    });
  }

  /** Hands the turn that has ended to the tenant that has waited for one the longest. */
  #next(): void {
    const waiting = this.#waiting.shift();
    if (waiting === undefined) this.#running--;
    else waiting.start();
  }
}
