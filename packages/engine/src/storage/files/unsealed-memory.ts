/**
 * What the segments that are being filled have in memory beside vectors, of all collections of a process: ids and metadata of
 * the rows, dead ones too, until they are sealed. How long these are is up to callers. Above `PRESSED_BYTES` collections that nobody uses are closed and segments
 * sealed sooner; above `MOST_BYTES` those who would write more wait.
 */
import { SheafError } from "@sheaf/protocol";

const PRESSED_BYTES = 768 * 2 ** 20;
const MOST_BYTES = 1_024 * 2 ** 20;
/** Collections with less go on in any case, and segments with less are not worth a file. */
const FEW_BYTES = 16 * 2 ** 20;
/** Half of what a request may take. */
const WAIT_MS = 30_000;
const RETRY_AFTER_SECONDS = 5;

export interface UnsealedBounds {
  readonly pressed: number;
  readonly most: number;
  readonly few: number;
  readonly waitMs: number;
}

const BOUNDS: UnsealedBounds = {
  pressed: PRESSED_BYTES,
  most: MOST_BYTES,
  few: FEW_BYTES,
  waitMs: WAIT_MS,
};

export class UnsealedMemory {
  readonly #bounds: UnsealedBounds;
  readonly #waiting = new Set<() => void>();
  #bytes = 0;
  /** Whoever can make room by closing what is not used. */
  onPressed: () => void = () => {};

  /** @param bounds Small ones for tests. */
  constructor(bounds = BOUNDS) {
    this.#bounds = bounds;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** By how much it is too much already; 0: it is not. */
  get excess(): number {
    return Math.max(0, this.#bytes - this.#bounds.pressed);
  }

  /** A segment with so many bytes is to be sealed as it is. */
  isPressing(bytes: number): boolean {
    return this.excess > 0 && bytes >= this.#bounds.few;
  }

  /** Negative: so much less. */
  add(bytes: number): void {
    this.#bytes += bytes;
    if (bytes >= 0 || this.#bytes >= this.#bounds.most) return;
    for (const goOn of this.#waiting) goOn();
  }

  /** For a collection that has so many bytes: resolves once it may have more, `undefined`: it may. Rejects with 503. */
  room(bytes: number): Promise<void> | undefined {
    if (this.excess > 0) this.onPressed();
    const { most, few, waitMs } = this.#bounds;
    if (this.#bytes < most || bytes < few) return undefined;
    return new Promise((resolve, reject) => {
      const goOn = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(goOn);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(goOn);
        reject(noRoom());
      }, waitMs);
      this.#waiting.add(goOn);
    });
  }
}

function noRoom(): SheafError {
  const retry = { retryAfterSeconds: RETRY_AFTER_SECONDS };
  return new SheafError("unavailable", "too much of what was written waits to be indexed; try again", retry);
}
