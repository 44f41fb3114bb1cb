/**
 * Work in steps, one piece after the other in the order it was asked for. What is short, and has nothing before it, is done
 * at once; between the stretches of what is long the event loop turns.
 */
import { isInSteps, runInTurns, startSteps } from "../storage/steps.ts";

export class StepQueue {
  readonly #owner: string;
  /** Settles when all that was asked for is done; `null`: it is. Never rejects. */
  #last: Promise<void> | null = null;

  /** `owner`: the tenant whose work it is. */
  constructor(owner: string) {
    this.#owner = owner;
  }

  /** Throws, or rejects with, what the steps throw. */
  run(steps: Generator<void, void>): Promise<void> | undefined {
    if (this.#last !== null) return this.#after(this.#last, steps);
    const rest = startSteps(steps);
    return isInSteps(rest) ? this.#after(Promise.resolve(), rest) : undefined;
  }

  idle(): Promise<void> {
    return this.#last ?? Promise.resolve();
  }

  #after(before: Promise<void>, steps: Generator<void, void>): Promise<void> {
    const running = before.then(() => runInTurns(steps, { owner: this.#owner }));
    const last = running
      .catch(() => undefined)
      .then(() => {
        if (this.#last === last) this.#last = null;
      });
    this.#last = last;
    return running;
  }
}
