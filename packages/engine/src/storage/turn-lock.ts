/** What one at a time may do, owners in turn. */
import { TurnQueue } from "@sheaf/protocol";

export class TurnLock {
  readonly #waiting = new TurnQueue<() => void>();
  #isTaken = false;

  /** Resolves once it is the owner's turn; who has it calls what it resolves to when it is done. */
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
