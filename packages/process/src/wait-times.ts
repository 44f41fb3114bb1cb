/**
 * How long it takes until something comes that somebody would wait for awake, by its kind: where the last ones came too late for
 * that, waiting awake takes a core and spares nothing.
 */

/** Share of the newest time in the mean: some four of them decide. */
const NEWEST = 0.25;

interface Wait {
  readonly id: number;
  readonly kind: string;
  readonly startedAt: number;
}

export class WaitTimes {
  readonly #shortMs: number;
  readonly #now: () => number;
  /** Kind -> mean of its times in milliseconds. There are few of them. */
  readonly #means = new Map<string, number>();
  /** Who waits is alone. */
  #wait: Wait | null = null;

  /**
   * @param shortMs What takes longer is not waited for awake.
   * @param now Milliseconds of a clock.
   */
  constructor(shortMs: number, now: () => number = () => performance.now()) {
    this.#shortMs = shortMs;
    this.#now = now;
  }

  /** The last ones of the kind came in time, or there were none. */
  isShort(kind: string): boolean {
    return (this.#means.get(kind) ?? 0) < this.#shortMs;
  }

  begin(id: number, kind: string): void {
    this.#wait = { id, kind, startedAt: this.#now() };
  }

  /** It has come; for another one than was begun last this does nothing. */
  end(id: number): void {
    if (this.#wait?.id !== id) return;
    const { kind, startedAt } = this.#wait;
    this.#wait = null;
    // One that was held up for long must not count for hundreds.
    const took = Math.min(this.#now() - startedAt, 4 * this.#shortMs);
    this.#means.set(kind, took * NEWEST + (this.#means.get(kind) ?? took) * (1 - NEWEST));
  }
}
