/** Gives the event loop its turns during long work, and notices that nobody waits for the work any more. */
import { type CancelSignal, throwIfAborted } from "@sheaf/protocol";
import { beginSlice, isSliceOver, nextSlice } from "./loop-slice.ts";

/** Looking at the clock takes as long as a small step of work. */
const STEPS_PER_LOOK = 64;

export class Turns {
  readonly #signal: CancelSignal | undefined;
  #steps = 0;

  constructor(signal?: CancelSignal) {
    this.#signal = signal;
    beginSlice();
  }

  /** To be asked after each small step, or after a larger one with how many it was. */
  due(steps = 1): boolean {
    this.#steps += steps;
    if (this.#steps < STEPS_PER_LOOK) return false;
    this.#steps = 0;
    return this.isOver;
  }

  /** To be asked after a step that takes some time. */
  get isOver(): boolean {
    return isSliceOver();
  }

  /** Throws after an abort. */
  async take(): Promise<void> {
    await nextSlice("");
    throwIfAborted(this.#signal);
  }
}
