/**
 * The nodes that a server calls. Where nobody could write themselves down for a while, because the database was away, all of them
 * look as if they were silent once it is back: those that were known stay in use until each had the time to say that it is there.
 */
import type { KnownNode } from "../storage/postgres/postgres-node-table.ts";

/** Looks that are further apart say that the database was away, or this process was paused. */
const GAP_MS = 5_000;
/** As long as a node may be silent for. */
const KEPT_MS = 15_000;

export class RecentNodes {
  readonly #now: () => number;
  #known: readonly KnownNode[] = [];
  #lookedAt: number;
  #keptUntil = -Infinity;

  /** @param now In milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#lookedAt = now();
  }

  /** @param seen What the database says now. Gives whom to call. */
  after(seen: readonly KnownNode[]): readonly KnownNode[] {
    const now = this.#now();
    if (now - this.#lookedAt > GAP_MS) this.#keptUntil = now + KEPT_MS;
    this.#lookedAt = now;
    const urls = new Set(seen.map(({ url }) => url));
    const kept = now < this.#keptUntil ? this.#known.filter(({ url }) => !urls.has(url)) : [];
    this.#known = [...seen, ...kept];
    return this.#known;
  }
}
