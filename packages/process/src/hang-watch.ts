/**
 * Decides when a child that lives but does not come round to anything hangs: it is asked for a sign of life at every
 * look, and was silent at several looks in a row. Looks are counted, not time, so that a machine that slept, or a parent
 * that was stopped itself, blames nobody.
 */

export interface Watched {
  /** Asks for a sign of life. */
  ping(): void;
  /** Messages that came so far, signs of life among them. */
  readonly heard: number;
}

/** How many silent looks it takes. */
export const HANG_LOOKS = 10;

export class HangWatch {
  readonly #watched: Watched;
  #heard: number;
  #silent = 0;

  constructor(watched: Watched) {
    this.#watched = watched;
    this.#heard = watched.heard;
    watched.ping();
  }

  /** Whether it hangs. */
  look(): boolean {
    const { heard } = this.#watched;
    this.#silent = heard === this.#heard ? this.#silent + 1 : 0;
    this.#heard = heard;
    this.#watched.ping();
    return this.#silent >= HANG_LOOKS;
  }
}
