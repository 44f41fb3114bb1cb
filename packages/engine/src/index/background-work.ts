/**
 * Work that can wait, in slices between which the event loop turns. It keeps no process alive. A step that throws
 * ends it; whoever owns the work decides what then.
 */
const SLICE_MS = 3;
const PAUSE_MS = 1;
/** After a step that gave way: calls that come one after the other meet few of them. */
const LONG_PAUSE_MS = 2;

export interface BackgroundSteps {
  /** Does about a millisecond of work; false when there is none left. */
  readonly step: () => boolean;
  readonly onFailure: (error: unknown) => void;
  /** Milliseconds of work between two turns, 3 if left out; 0: one step, and a longer pause. */
  readonly sliceMs?: () => number;
}

export class BackgroundWork {
  readonly #steps: BackgroundSteps;
  #timer: NodeJS.Timeout | null = null;
  #later: NodeJS.Timeout | undefined;
  #closed = false;
  #restsUntil = 0;

  constructor(steps: BackgroundSteps) {
    this.#steps = steps;
  }

  /** A slice is to come. */
  get isAwake(): boolean {
    return this.#timer !== null;
  }

  /** There is work again. */
  wake(pause = PAUSE_MS): void {
    if (this.#timer !== null || this.#closed) return;
    const delay = Math.max(pause, this.#restsUntil - performance.now());
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
    this.#timer = null;
    clearTimeout(this.#later);
  }

  #slice(): void {
    this.#timer = null;
    const sliceMs = this.#steps.sliceMs?.() ?? SLICE_MS;
    const until = performance.now() + sliceMs;
    try {
      do if (!this.#steps.step()) return;
      while (performance.now() < until);
    } catch (error) {
      this.#steps.onFailure(error);
      return;
    }
    this.wake(sliceMs === 0 ? LONG_PAUSE_MS : PAUSE_MS);
  }
}
