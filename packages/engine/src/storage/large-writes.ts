/**
 * The turn of large writes, one at a time over all collections: what one reads, makes and commits is in memory several
 * times over. Owners are served in turn.
 */
import { TurnQueue } from "@sheaf/protocol";

export class LargeWrites {
  readonly #waiting = new TurnQueue<() => void>();
  #isTaken = false;

  /** Resolves once it is the owner's turn; who has it calls what it resolves to when its commit is on disk. */
  async enter(owner: string): Promise<() => void> {
    if (this.#isTaken) await new Promise<void>((resolve) => this.#waiting.push(owner, resolve));
    this.#isTaken = true;
    return () => {
      const next = this.#waiting.shift();
      if (next === undefined) this.#isTaken = false;
      else next();
    };
  }
}
