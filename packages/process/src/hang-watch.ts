/**
 * Decides when a child that lives but does not come round to anything is unresponsive, and when it hangs: it is asked for
 * a sign of life at every look, and was silent at several looks in a row. Looks are counted, not time, so that a machine
 * that slept, or a parent that was stopped itself, blames nobody.
 */

export interface Watched {
  /** Asks for a sign of life. */
  ping(): void;
  /** Messages that came so far, signs of life among them. */
  readonly heard: number;
}

/** How many silent looks make a child unresponsive. */
export const UNRESPONSIVE_LOOKS = 3;

export class HangWatch {
  readonly #watched: Watched;
  readonly #hangLooks: number;
  #heard: number;
  #silent = 0;

  /** @param hangLooks How many silent looks make it hang. */
  constructor(watched: Watched, hangLooks: number) {
    this.#watched = watched;
    this.#hangLooks = hangLooks;
    this.#heard = watched.heard;
    watched.ping();
  }

  /** It may come round again; whoever asks for an answer now waits. */
  get responsive(): boolean {
    return this.#silent < UNRESPONSIVE_LOOKS;
  }

  /** Whether it hangs. */
  look(): boolean {
    const { heard } = this.#watched;
    this.#silent = heard === this.#heard ? this.#silent + 1 : 0;
    this.#heard = heard;
    this.#watched.ping();
    return this.#silent >= this.#hangLooks;
  }
}
