/** Remembers the last two owners that sent work, which is enough to tell whether one has to be quick for another. */
interface Seen {
  readonly owner: string;
  readonly at: number;
}

export class RecentOwners {
  readonly #windowMs: number;
  #last: Seen | null = null;
  #other: Seen | null = null;

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  /** `now`: in milliseconds, from any start. */
  note(owner: string, now: number): void {
    if (this.#last !== null && this.#last.owner !== owner) this.#other = this.#last;
    this.#last = { owner, at: now };
  }

  /** Whether anybody but `owner` has sent work within the window. */
  othersThan(owner: string, now: number): boolean {
    const seen = this.#last?.owner === owner ? this.#other : this.#last;
    return seen !== null && seen.owner !== owner && now - seen.at < this.#windowMs;
  }
}
