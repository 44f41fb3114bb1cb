/**
 * Keeps long reads from holding the thread: stages call `breathe` between stretches of their work, which share the slice of
 * each turn of the event loop with all other long work. An abort can only arrive while the event loop turns, so this is
 * also where a read learns that nobody waits for it any more.
 */
import { beginRead, beginSlice, isSliceOver, nextReadSlice } from "@sheaf/process";
import { type CancelSignal, throwIfAborted } from "@sheaf/protocol";

/** Between two looks at the clock: a fraction of a millisecond, whatever is done to the bytes. */
const LOOK_BYTES = 64 * 1024;

export class Pace {
  readonly signal: CancelSignal | undefined;
  readonly tenant: string;
  #spent = 0;

  /** Throws for a signal that is aborted already. */
  constructor(signal: CancelSignal | undefined, tenant = "") {
    throwIfAborted(signal);
    this.signal = signal;
    this.tenant = tenant;
    beginRead();
  }

  /** The slice of this turn is used up. */
  get isDue(): boolean {
    return isSliceOver();
  }

  /** Counts work on so many bytes. `true`: it is time to `breathe`. */
  spend(bytes: number): boolean {
    this.#spent += bytes;
    return this.#spent >= LOOK_BYTES;
  }

  /** Throws after an abort. Waits for its turn where the slice is used up. */
  async breathe(): Promise<void> {
    this.#spent = 0;
    if (isSliceOver()) await nextReadSlice(this.tenant);
    beginSlice();
    throwIfAborted(this.signal);
  }
}
