/**
 * Keeps a long read from holding the thread: stages call `breathe` between slices of their work. An abort can only
 * arrive while the event loop turns, so this is also where a read learns that nobody waits for it any more.
 *
 * Reads that pause go on one after another, one slice in each turn of the loop: a call that arrives meanwhile and asks
 * for little waits for one slice, however many long reads there are.
 */
import { type CancelSignal, throwIfAborted } from "@sheaf/protocol";

/** Longest stretch of work between two turns of the event loop. */
const SLICE_MS = 4;
/** Between two looks at the clock: a fraction of a millisecond, whatever is done to the bytes. */
const LOOK_BYTES = 64 * 1024;

/** Reads of this thread that pause, in the order they began to. */
const paused: (() => void)[] = [];

export class Pace {
  readonly signal: CancelSignal | undefined;
  #turnedAt = performance.now();
  #spent = 0;

  /** Throws for a signal that is aborted already. */
  constructor(signal: CancelSignal | undefined) {
    throwIfAborted(signal);
    this.signal = signal;
  }

  /** Counts work on so many bytes. `true`: it is time to `breathe`. */
  spend(bytes: number): boolean {
    this.#spent += bytes;
    return this.#spent >= LOOK_BYTES;
  }

  /** Throws after an abort. Waits for its turn if the last one is some milliseconds ago. */
  async breathe(): Promise<void> {
    this.#spent = 0;
    if (performance.now() - this.#turnedAt >= SLICE_MS) {
      await nextSlice();
      this.#turnedAt = performance.now();
    }
    throwIfAborted(this.signal);
  }
}

function nextSlice(): Promise<void> {
  return new Promise((resolve) => {
    if (paused.push(resolve) === 1) setImmediate(resumeOne);
  });
}

/** What is scheduled in here runs in the next turn, after all that has arrived. */
function resumeOne(): void {
  const resume = paused.shift();
  if (paused.length > 0) setImmediate(resumeOne);
  resume?.();
}
