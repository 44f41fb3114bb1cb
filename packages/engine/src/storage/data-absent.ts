/** What a read asks for is not on this machine, and has to be fetched first; then the read can begin again. */
import { type CancelSignal, SheafError, abortable } from "@sheaf/protocol";

/** So often a read begins again; one that asks for more waits until everything is here. */
const MOST_FETCHES = 64;
/** Of parts of an index: bounds what is fetched at a time. */
const MOST_TOGETHER = 32;

export class DataAbsent extends SheafError {
  /** Resolves once what was asked for, and what lies beside it, can be read; `null`: that is too much. */
  readonly fetch: (() => Promise<void>) | null;
  /** What it is of. */
  readonly of: "index" | "records";

  constructor(fetch: (() => Promise<void>) | null, of: "index" | "records" = "index") {
    super("unavailable", "the collection is being read; try again", { retryAfterSeconds: 1 });
    this.name = "DataAbsent";
    this.fetch = fetch;
    this.of = of;
  }
}

/**
 * A read whose parts do not depend on each other, such as those of segments, goes on with the next part where one lacks something,
 * and stops after the last: so how often it begins again does not grow with the number of parts.
 */
export class AbsentTogether {
  readonly #fetches: (() => Promise<void>)[] = [];

  /** Of a part that failed. Throws it, unless that is for want of a piece of the index. */
  hear(error: unknown): void {
    // A read that goes through records would have very many of them fetched.
    if (!(error instanceof DataAbsent) || error.fetch === null || error.of === "records") throw error;
    this.#fetches.push(error.fetch);
    if (this.#fetches.length === MOST_TOGETHER) this.require();
  }

  /** As `hear`, around the steps of a part: what they return, or `undefined` where they had to stop. */
  *hearing<T>(steps: Generator<void, T>): Generator<void, T | undefined> {
    try {
      return yield* steps;
    } catch (error) {
      this.hear(error);
      return undefined;
    }
  }

  /** After the last part. Throws `DataAbsent` for all at once. */
  require(): void {
    const fetches = this.#fetches;
    if (fetches.length === 0) return;
    throw new DataAbsent(async () => void (await Promise.all(fetches.map((fetch) => fetch()))));
  }
}

/** Where what is read may be elsewhere. */
export interface PerhapsAbsent {
  /** Resolves once everything is on this machine; 503 where that takes long. Left out: it is. */
  whenWarm?(): Promise<void>;
  /** A read has begun to fetch: what goes on behind the reads waits until what this returns is called, at its end. */
  reading?(): () => void;
}

/** `work` from the beginning, or from where it can go on, each time that it had to stop for what is not here. */
export async function withData<T>(
  source: PerhapsAbsent,
  work: () => Promise<T>,
  signal?: CancelSignal,
): Promise<T> {
  let leave: (() => void) | undefined;
  try {
    for (let fetches = 0; ; fetches++) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof DataAbsent) || source.whenWarm === undefined) throw error;
        leave ??= source.reading?.();
        const { fetch } = error;
        // Whoever wants the same waits for the same request: it goes on where this read is given up.
        await abortable(fetch === null || fetches === MOST_FETCHES ? source.whenWarm() : fetch(), signal);
      }
    }
  } finally {
    leave?.();
  }
}
