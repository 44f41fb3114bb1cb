/**
 * Which state of a shared catalog this process has last heard of, as a number that changes with it. The database is asked
 * at most every `POLL_MS`. Numbers are this process's own: a database that was restored to an earlier time has the old
 * number again for another state.
 */
import { SheafError } from "@sheaf/protocol";
import type { CatalogNews } from "../catalog/catalog-news.ts";
import { within } from "../within.ts";

/** A change by another process counts within a second: once a poll is due and has been answered. */
const POLL_MS = 400;
/** Without an answer after this time nothing may be kept. */
const ANSWER_MS = 400;
/** How long what was read stays in use while the database cannot be reached. */
const AWAY_MS = 60_000;

export interface CatalogStateOptions {
  /** Names the state that is committed; the same name only for the same state. */
  readonly read: () => Promise<string>;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
}

export class CatalogState {
  readonly #read: () => Promise<string>;
  readonly #now: () => number;
  #number = 0;
  #name: string | null = null;
  /** When the last poll that was answered was sent. */
  #knownAt = -Infinity;
  /** A commit has ended since then. */
  #isOutdated = true;
  #isAway = false;
  #polling: Promise<void> | null = null;
  #pollAt = -Infinity;
  #commits = 0;
  #ended = 0;

  constructor({ read, now = () => performance.now() }: CatalogStateOptions) {
    this.#read = read;
    this.#now = now;
  }

  /**
   * While a commit runs its writes become visible at a moment that nobody knows; afterwards the state is another one.
   *
   * @param isUndone Whether one that has failed has certainly written nothing.
   */
  async during<T>(commit: () => Promise<T>, isUndone = (): boolean => false): Promise<T> {
    let isSame = false;
    this.#commits += 1;
    try {
      return await commit();
    } catch (error) {
      isSame = isUndone();
      throw error;
    } finally {
      this.#commits -= 1;
      if (!isSame) this.#change();
    }
  }

  #change(): void {
    this.#number += 1;
    this.#isOutdated = true;
    this.#ended += 1;
  }

  /** As `CatalogStore.version`. Rejects with 503 once the database has been away for a minute. */
  async version(): Promise<number | null> {
    if (this.#commits > 0) return null;
    if (this.#isOutdated || this.#now() - this.#knownAt >= POLL_MS) await this.#poll();
    if (this.#commits > 0) return null;
    const age = this.ageMs;
    if (!this.#isAway) return this.#isOutdated || age >= POLL_MS + ANSWER_MS ? null : this.#number;
    if (age < AWAY_MS) return this.#number;
    throw new SheafError("unavailable", "the database cannot be reached", { retryAfterSeconds: 1 });
  }

  /** Since the moment of which the state is known, in milliseconds. */
  get ageMs(): number {
    return this.#now() - this.#knownAt;
  }

  /** Asks now, unless that is under way. */
  async news(): Promise<CatalogNews> {
    await this.#poll();
    return { state: this.#number, ageMs: this.ageMs, isAway: this.#isAway };
  }

  /** Ends when the poll does, or when it has taken too long to wait for; while the database is away, at once. */
  async #poll(): Promise<void> {
    const isDue = this.#polling === null && this.#now() - this.#pollAt >= (this.#isAway ? POLL_MS : 0);
    if (isDue) this.#polling = this.#ask().finally(() => void (this.#polling = null));
    if (this.#polling === null || this.#isAway) return;
    await within(this.#polling, ANSWER_MS);
  }

  async #ask(): Promise<void> {
    const [askedAt, ended] = [this.#now(), this.#ended];
    this.#pollAt = askedAt;
    try {
      const name = await this.#read();
      this.#isAway = false;
      if (name !== this.#name) this.#number += 1;
      this.#name = name;
      this.#knownAt = askedAt;
      // A commit that ended meanwhile may be missing in the answer.
      this.#isOutdated = ended !== this.#ended;
    } catch {
      this.#isAway = true;
    }
  }
}
