/**
 * What the segments that are being filled have in memory, of all collections of a process: ids, metadata and vectors of the
 * rows, dead ones too, until they are sealed. From three quarters of the most there may be, collections that nobody uses are
 * closed, segments are sealed sooner, and those who have much pause between writes, the longer the more there is, so that
 * sealing keeps up. At the most they wait until there is less. Much that was sealed and is in no file counts as well: where files
 * cannot be written, nothing else ends it.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { SheafError } from "@sheaf/protocol";

/** Unless more is asked for. */
export const MOST_UNSEALED_BYTES = 2 ** 31;
const PRESSED_SHARE = 3 / 4;
/** Collections with less go on in any case, and segments with less are not worth a file. */
const FEW_BYTES = 16 * 2 ** 20;
const FEW_SHARE = 1 / 64;
/** That are sealed while nobody writes, at least: ten rows of 384 dimensions. */
const SEALED_BYTES_PER_MS = 12_000;
const LONGEST_PAUSE_MS = 1_000;
/** Half of what a request may take. */
const WAIT_MS = 30_000;
const RETRY_AFTER_SECONDS = 5;

export interface UnsealedBounds {
  readonly pressed: number;
  readonly most: number;
  readonly few: number;
  readonly waitMs: number;
}

export function unsealedBounds(most = MOST_UNSEALED_BYTES): UnsealedBounds {
  return {
    pressed: most * PRESSED_SHARE,
    most,
    few: Math.min(FEW_BYTES, most * FEW_SHARE),
    waitMs: WAIT_MS,
  };
}

export class UnsealedMemory {
  readonly #bounds: UnsealedBounds;
  readonly #waiting = new Set<() => void>();
  #bytes = 0;
  /** Of what was sealed and is in no file, as much as is too much. */
  #unfiled = 0;
  /** Since somebody paused for it. */
  #added = 0;
  /** Whoever can make room by closing what is not used. */
  onPressed: () => void = () => {};

  /** @param bounds Small ones for tests. */
  constructor(bounds = unsealedBounds()) {
    this.#bounds = bounds;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** By how much it is too much already; 0: it is not. */
  get excess(): number {
    return Math.max(0, this.#bytes + this.#unfiled - this.#bounds.pressed);
  }

  /** Of the next writer, for what was added since the last one paused. */
  get pauseMs(): number {
    const { pressed, most } = this.#bounds;
    const share = this.excess / (most - pressed);
    return Math.min((share * this.#added) / SEALED_BYTES_PER_MS, LONGEST_PAUSE_MS);
  }

  /** A segment with so many bytes is to be sealed as it is. */
  isPressing(bytes: number): boolean {
    return this.excess > 0 && bytes >= this.#bounds.few;
  }

  /** Negative: so much less. */
  add(bytes: number): void {
    this.#bytes += bytes;
    this.#added += Math.max(0, bytes);
    if (bytes < 0) this.#letGoOn();
  }

  setUnfiled(bytes: number): void {
    this.#unfiled = bytes;
    this.#letGoOn();
  }

  /** For a collection that has so many bytes of it: resolves once it may have more, `undefined`: it may. Rejects with 503. */
  room(bytes: number): Promise<void> | undefined {
    if (this.excess > 0) this.onPressed();
    else this.#added = 0;
    const { most, few, waitMs } = this.#bounds;
    if (bytes < few || this.excess === 0) return undefined;
    if (this.#bytes + this.#unfiled < most) return this.#pause();
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

  #letGoOn(): void {
    if (this.#bytes + this.#unfiled >= this.#bounds.most) return;
    for (const goOn of this.#waiting) goOn();
  }

  /** Near the most as long as it takes to seal what was added; right above the bound hardly at all. */
  #pause(): Promise<void> {
    const milliseconds = this.pauseMs;
    this.#added = 0;
    return sleep(milliseconds);
  }
}

function noRoom(): SheafError {
  const retry = { retryAfterSeconds: RETRY_AFTER_SECONDS };
  return new SheafError("unavailable", "too much of what was written waits to be indexed; try again", retry);
}
