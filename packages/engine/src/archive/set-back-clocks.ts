/**
 * Times of entries never fall, so after a clock was set back many entries have one time. Notes among them say what the clock
 * said, so that whoever asks for a moment by time can be told which entry that may be.
 */
import type { ArchiveEntry } from "./read-archive.ts";

/** A stretch of entries that have one time, because the clock was set back before them. */
export interface SetBackClock {
  /** Their positions, with `to`. */
  readonly from: number;
  readonly to: number;
  /** That they all have, in ms. */
  readonly time: number;
  /** What the clock said at the first and at the last of them, in ms. */
  readonly first: number;
  readonly last: number;
  /** The last of them that was written by the moment that is asked for, as that clock has it; `null`: none was. */
  readonly wanted: number | null;
}

export class SetBackClocks {
  readonly #moment: number;
  readonly #found: SetBackClock[] = [];
  /** An entry of the last stretch was written after the moment. */
  #isPast = false;

  /** @param moment In ms. */
  constructor(moment: number) {
    this.#moment = moment;
  }

  get found(): readonly SetBackClock[] {
    return this.#found;
  }

  /** @param clock Not `null`: the entry is a note of what the clock says. */
  see({ position, time }: Pick<ArchiveEntry, "position" | "time">, clock: number | null): void {
    let stretch = this.#found.at(-1);
    if (stretch?.time !== time) {
      if (clock === null) return;
      stretch = { from: position, to: position, time, first: clock, last: clock, wanted: null };
      this.#found.push(stretch);
      this.#isPast = false;
    }
    this.#isPast ||= (clock ?? stretch.last) > this.#moment;
    const wanted = this.#isPast ? stretch.wanted : position;
    this.#found[this.#found.length - 1] = { ...stretch, to: position, last: clock ?? stretch.last, wanted };
  }
}
