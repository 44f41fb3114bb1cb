/** Work behind the calls of an engine that comes round again and again. Its pauses keep no process alive. */
import { setTimeout as sleep } from "node:timers/promises";
import { Cancellation } from "@sheaf/protocol";

export class UpkeepRounds {
  /** Aborted by `close`. */
  readonly closing = new Cancellation();
  readonly #stopped = new AbortController();
  readonly #working: Promise<void>;

  /**
   * @param firstMs Until the first round; infinite: there is none.
   * @param round Never rejects, and ends soon once it is `closing`. Resolves to the milliseconds until the next one.
   */
  constructor(firstMs: number, round: () => Promise<number>) {
    this.#working = firstMs === Infinity ? Promise.resolve() : this.#run(firstMs, round);
  }

  /** After what is under way. */
  async close(): Promise<void> {
    this.closing.abort(new Error("the engine is being closed"));
    this.#stopped.abort();
    await this.#working;
  }

  async #run(firstMs: number, round: () => Promise<number>): Promise<void> {
    for (let pause = firstMs; await this.#pause(pause);) pause = await round();
  }

  /** `false`: it is being closed. */
  async #pause(milliseconds: number): Promise<boolean> {
    await sleep(milliseconds, undefined, { ref: false, signal: this.#stopped.signal }).catch(() => {});
    return !this.closing.aborted;
  }
}
