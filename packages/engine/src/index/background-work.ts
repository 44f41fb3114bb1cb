/**
 * Work that can wait, in slices between which the event loop turns. It keeps no process alive. A step that throws
 * ends it; whoever owns the work decides what then.
 */
import { isReadWaiting, wasReadBegun, wasSliceTaken } from "@sheaf/process";

const SLICE_MS = 3;
/** While reads come: the next one waits for the rest of a slice. */
const SHORT_SLICE_MS = 1;
/** Since the last slice of this thread, until one is taken although a read could go on: a fifth of the time is left. */
export const LONGEST_WAIT_MS = 12;
const PAUSE_MS = 1;
/** After a step that gave way: calls that come one after the other meet few of them. */
const LONG_PAUSE_MS = 2;
/** After the last call, until slices follow each other as soon as the loop has looked for the next one. */
const QUIET_MS = 100;

/** Of this thread, those that have a slice to come. */
const awake = new Set<BackgroundWork>();
/** Those whose turn it was and that had to wait, the longest first. */
const refused = new Set<BackgroundWork>();
/** This turn of the loop has had its slice, of whichever work. */
let isTurnTaken = false;
/** When the last slice of any work ended. */
let takenAt = -Infinity;

export interface BackgroundSteps {
  /** Does about a millisecond of work; false when there is none left. */
  readonly step: () => boolean;
  readonly onFailure: (error: unknown) => void;
  /**
   * Milliseconds of work between two turns; 0: one step, and a longer pause. If left out, 3, or 1 between reads, and hardly
   * any while a read waits for a turn.
   */
  readonly sliceMs?: () => number;
}

export class BackgroundWork {
  readonly #steps: BackgroundSteps;
  #timer: NodeJS.Timeout | null = null;
  /** Of a slice that follows without a pause. */
  #next: NodeJS.Immediate | null = null;
  #later: NodeJS.Timeout | undefined;
  #closed = false;
  #restsUntil = 0;

  constructor(steps: BackgroundSteps) {
    this.#steps = steps;
  }

  /** A slice is to come. */
  get isAwake(): boolean {
    return this.#timer !== null || this.#next !== null;
  }

  /** There is work again. */
  wake(pause = PAUSE_MS): void {
    if (this.isAwake || this.#closed) return;
    const delay = Math.max(pause, this.#restsUntil - performance.now());
    awake.add(this);
    this.#timer = setTimeout(() => this.#slice(), delay).unref();
  }

  /** Work that is there before so many milliseconds waits. */
  restFor(milliseconds: number): void {
    this.#restsUntil = performance.now() + milliseconds;
  }

  /** There may be work after so many milliseconds; the last call counts. */
  wakeIn(milliseconds: number): void {
    clearTimeout(this.#later);
    if (!this.#closed) this.#later = setTimeout(() => this.wake(), milliseconds).unref();
  }

  /** Does some of the work at once; what it throws ends the work as in a slice. */
  now(work: () => void): void {
    if (this.#closed) return;
    try {
      work();
    } catch (error) {
      this.#steps.onFailure(error);
    }
  }

  /** As `now`, in steps. */
  *nowInSteps(steps: Generator<void, void>): Generator<void, void> {
    if (this.#closed) return;
    try {
      yield* steps;
    } catch (error) {
      this.#steps.onFailure(error);
    }
  }

  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#next !== null) clearImmediate(this.#next);
    this.#timer = this.#next = null;
    awake.delete(this);
    refused.delete(this);
    clearTimeout(this.#later);
  }

  #slice(): void {
    this.#timer = this.#next = null;
    awake.delete(this);
    if (isTurnTaken || (this.#steps.sliceMs === undefined && (mustGiveWay() || this.#isAfterOthers))) {
      // Before those come again that have had one.
      if (performance.now() >= this.#restsUntil) refused.add(this);
      return this.wake();
    }
    refused.delete(this);
    isTurnTaken = true;
    setImmediate(endTurn).unref();
    const sliceMs = this.#steps.sliceMs?.() ?? defaultSliceMs();
    const until = performance.now() + sliceMs;
    try {
      do if (!this.#steps.step()) return;
      while (performance.now() < until);
    } catch (error) {
      this.#steps.onFailure(error);
      return;
    } finally {
      takenAt = performance.now();
    }
    if (sliceMs === 0) this.wake(LONG_PAUSE_MS);
    else if (this.#mayGoOn()) this.#goOn();
    else this.wake();
  }

  get #isAfterOthers(): boolean {
    const [first = this] = refused;
    return first !== this;
  }

  /** Nobody else wants the thread, and something else keeps the process alive. */
  #mayGoOn(): boolean {
    if (this.isAwake || this.#closed || awake.size > 0) return false;
    if (wasSliceTaken(QUIET_MS) || performance.now() < this.#restsUntil) return false;
    return process.getActiveResourcesInfo().some((kind) => kind !== "Immediate");
  }

  /** In the next turn. An immediate without a reference would wait for whatever wakes the loop. */
  #goOn(): void {
    awake.add(this);
    this.#next = setImmediate(() => this.#slice());
  }
}

/** A read goes on in this turn, and the background had one not long ago. */
function mustGiveWay(): boolean {
  return isReadWaiting() && performance.now() - takenAt < LONGEST_WAIT_MS;
}

/** A slice that was waited for is a whole one. */
function defaultSliceMs(): number {
  return wasReadBegun(QUIET_MS) && !isReadWaiting() ? SHORT_SLICE_MS : SLICE_MS;
}

function endTurn(): void {
  isTurnTaken = false;
}
