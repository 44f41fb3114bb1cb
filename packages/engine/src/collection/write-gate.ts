/**
 * Writes of a collection run side by side and share commits; a delete by filter must see the result of all earlier
 * ones and let none in between, so it runs alone. Turns are given in the order they were asked for.
 */
export class WriteGate {
  readonly #room: () => Promise<void> | undefined;
  /** Settles when the last exclusive section asked for has ended. Never rejects. */
  #exclusive: Promise<unknown> = Promise.resolve();
  /** Shared sections asked for since then. */
  readonly #shared = new Set<Promise<unknown>>();

  /** `room`: what shared sections wait for before they count. */
  constructor(room: () => Promise<void> | undefined = () => undefined) {
    this.#room = room;
  }

  async shared<T>(work: () => Promise<T>): Promise<T> {
    const room = this.#room();
    if (room !== undefined) await room;
    const running = this.#exclusive.then(work);
    this.#shared.add(running);
    try {
      return await running;
    } finally {
      this.#shared.delete(running);
    }
  }

  exclusive<T>(work: () => Promise<T>): Promise<T> {
    // The shared sections wait for the exclusive one before them, so waiting for both covers all that is earlier.
    const running = Promise.allSettled([this.#exclusive, ...this.#shared]).then(work);
    this.#shared.clear();
    this.#exclusive = running.catch(() => undefined);
    return running;
  }
}
