/**
 * Heads of logs as of a moment after they were asked for. Those that are asked for while a request is under way are one
 * request: the next.
 */
import type { CommitLog, FoundHead, LogSizes } from "./commit-log.ts";

interface Asked {
  readonly resolve: (head: (FoundHead & LogSizes) | null) => void;
  readonly reject: (error: unknown) => void;
}

/** Of one request. */
const MOST_COLLECTIONS = 1_000;

export class HeadReader {
  readonly #log: Pick<CommitLog, "heads">;
  #asked = new Map<string, Asked[]>();
  #reading = false;

  constructor(log: Pick<CommitLog, "heads">) {
    this.#log = log;
  }

  /** `null`: there is no such collection. */
  head(collection: string): Promise<(FoundHead & LogSizes) | null> {
    return new Promise((resolve, reject) => {
      const asked = { resolve, reject };
      const others = this.#asked.get(collection);
      if (others === undefined) this.#asked.set(collection, [asked]);
      else others.push(asked);
      if (!this.#reading) void this.#read();
    });
  }

  async #read(): Promise<void> {
    this.#reading = true;
    // What is asked for in this turn goes along.
    await Promise.resolve();
    while (this.#asked.size > 0) {
      const now = [...this.#asked].slice(0, MOST_COLLECTIONS);
      for (const [collection] of now) this.#asked.delete(collection);
      try {
        const heads = await this.#log.heads(now.map(([collection]) => collection));
        for (const [i, [, asked]] of now.entries())
          for (const { resolve } of asked) resolve(heads[i] ?? null);
      } catch (error) {
        for (const [, asked] of now) for (const { reject } of asked) reject(error);
      }
    }
    this.#reading = false;
  }
}
