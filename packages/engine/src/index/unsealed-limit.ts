/**
 * Writers wait while too many rows of a collection are not sealed, for these are in memory and are searched more slowly;
 * readers never do. An index that was filled of its records may have more of them: with each segment that is sealed the
 * limit falls, and writers keep room for as many rows above what is left.
 */
import { SheafError } from "@sheaf/protocol";
import type { SegmentList } from "./segment-list.ts";

/** Full segments, or one that is being sealed and one that fills meanwhile. */
const MOST_SEGMENTS = 2;
/** Less than a request may take; a segment is sealed in a few seconds. */
const WAIT_MS = 10_000;
const RETRY_AFTER_SECONDS = 5;
/** Writers that go on at a time: they do not know of each other's rows. */
const GO_ON = 8;

export class UnsealedLimit {
  readonly #segments: Pick<SegmentList, "unsealed">;
  readonly #least: number;
  readonly #waitMs: number;
  /** In the order they came. */
  readonly #waiting = new Set<() => void>();
  #most = Infinity;

  /** `mutableRows`: of a full mutable segment. */
  constructor(segments: Pick<SegmentList, "unsealed">, mutableRows: number, waitMs = WAIT_MS) {
    this.#segments = segments;
    this.#least = MOST_SEGMENTS * mutableRows;
    this.#waitMs = waitMs;
  }

  /** Resolves when there is room for a writer's rows, `undefined`: there is. Rejects with 503 where it takes too long. */
  room(): Promise<void> | undefined {
    if (this.#waiting.size === 0 && this.#segments.unsealed < this.#most) return undefined;
    return new Promise((resolve, reject) => {
      const goOn = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(goOn);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(goOn);
        reject(behind());
      }, this.#waitMs);
      this.#waiting.add(goOn);
    });
  }

  /** Segments were sealed, or the index was filled. */
  lower(): void {
    this.#most = Math.max(this.#least, Math.min(this.#most, this.#segments.unsealed + this.#least));
    this.pass();
  }

  /** Rows were written, sealed or removed. */
  pass(): void {
    if (this.#waiting.size === 0 || this.#segments.unsealed >= this.#most) return;
    for (const goOn of [...this.#waiting].slice(0, GO_ON)) goOn();
  }

  /** Nothing is sealed any more, so nobody waits. */
  lift(): void {
    this.#most = Infinity;
    for (const goOn of this.#waiting) goOn();
  }
}

function behind(): SheafError {
  return new SheafError("unavailable", "the index of the collection is behind its writes; try again", {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}
