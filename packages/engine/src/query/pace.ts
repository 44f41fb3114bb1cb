/**
 * Keeps long reads from holding the thread: stages call `breathe` between slices of their work. An abort can only
 * arrive while the event loop turns, so this is also where a read learns that nobody waits for it any more.
 *
 * All reads share the slice of a turn of the loop: once it is used up, those that begin wait as those that go on do. One
 * goes on in each turn, tenants in turn, so a call that arrives meanwhile and asks for little waits for a slice or two,
 * however many reads another tenant has begun.
 */
import { type CancelSignal, TurnQueue, throwIfAborted } from "@sheaf/protocol";

/** Longest stretch of work between two turns of the event loop. */
const SLICE_MS = 4;
/** Between two looks at the clock: a fraction of a millisecond, whatever is done to the bytes. */
const LOOK_BYTES = 64 * 1024;

/** Reads of this thread that pause, by tenant. */
const paused = new TurnQueue<() => void>();
/** When the first read of this turn of the event loop began; `null`: none has. */
let turnedAt: number | null = null;

export class Pace {
  readonly signal: CancelSignal | undefined;
  readonly #tenant: string;
  #spent = 0;

  /** Throws for a signal that is aborted already. */
  constructor(signal: CancelSignal | undefined, tenant = "") {
    throwIfAborted(signal);
    this.signal = signal;
    this.#tenant = tenant;
    this.#begin();
  }

  /** The slice of this turn is used up. */
  get isDue(): boolean {
    return turnedAt !== null && performance.now() - turnedAt >= SLICE_MS;
  }

  /** Counts work on so many bytes. `true`: it is time to `breathe`. */
  spend(bytes: number): boolean {
    this.#spent += bytes;
    return this.#spent >= LOOK_BYTES;
  }

  /** Throws after an abort. Waits for its turn where the slice is used up. */
  async breathe(): Promise<void> {
    this.#spent = 0;
    if (this.isDue) await nextSlice(this.#tenant);
    this.#begin();
    throwIfAborted(this.signal);
  }

  /** Before anything has gone on in this turn: what arrives later in it shares its slice. */
  #begin(): void {
    if (turnedAt !== null) return;
    turnedAt = performance.now();
    setImmediate(endSlice);
  }
}

function endSlice(): void {
  turnedAt = null;
}

function nextSlice(tenant: string): Promise<void> {
  return new Promise((resolve) => {
    paused.push(tenant, resolve);
    if (paused.size === 1) setImmediate(resumeOne);
  });
}

/** What is scheduled in here runs in the next turn, after all that has arrived. */
function resumeOne(): void {
  const resume = paused.shift();
  if (paused.size > 0) setImmediate(resumeOne);
  // Its slice is its own: it ends before the loop sees what has arrived.
  turnedAt = performance.now();
  setTimeout(endSlice, 0);
  resume?.();
}
