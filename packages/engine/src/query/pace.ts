/**
 * Keeps a long read from holding the thread: stages call `breathe` between slices of their work. An abort can only
 * arrive while the event loop turns, so this is also where a read learns that nobody waits for it any more.
 */
import { type CancelSignal, throwIfAborted } from "@sheaf/protocol";
import { setImmediate } from "node:timers/promises";

/** Longest stretch of work between two turns of the event loop. */
const SLICE_MS = 4;

export class Pace {
  readonly signal: CancelSignal | undefined;
  #turnedAt = performance.now();

  /** Throws for a signal that is aborted already. */
  constructor(signal: CancelSignal | undefined) {
    throwIfAborted(signal);
    this.signal = signal;
  }

  /** Throws after an abort. Waits for a turn of the event loop if the last one is some milliseconds ago. */
  async breathe(): Promise<void> {
    if (performance.now() - this.#turnedAt >= SLICE_MS) {
      await setImmediate();
      this.#turnedAt = performance.now();
    }
    throwIfAborted(this.signal);
  }
}
