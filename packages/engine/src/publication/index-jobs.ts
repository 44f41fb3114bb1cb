/**
 * What an index node does: one after the other it claims collections whose published index or whose log is behind, opens
 * each as a server does that searches it, has it sealed, published and its log trimmed, and closes it. Whenever this ends,
 * what it has made is whole or is swept, and the claim passes to another node, or to this one when it is back.
 */
import { type CancelSignal, Cancellation, SheafError } from "@sheaf/protocol";
import type { IndexJob, PostgresIndexJobs } from "../storage/postgres/postgres-index-jobs.ts";
import { UpkeepRounds } from "../upkeep-rounds.ts";

export interface IndexJobsOptions {
  readonly jobs: PostgresIndexJobs;
  /** Makes what other servers can take of a collection, up to its newest state. Rejects where something could not be made. */
  readonly work: (job: IndexJob, signal: CancelSignal) => Promise<void>;
  /** `collection` is left out where it is about none. */
  readonly onProblem: (error: unknown, collection?: string) => void;
}

/** One computes while another waits for the object store. */
const AT_ONCE = 2;
const QUIET_CODES: ReadonlySet<string> = new Set(["unavailable", "not_found"]);
/** Signs of life for each claim that would end without one. */
const BEATS = 4;

export class IndexJobs {
  readonly #options: IndexJobsOptions;
  readonly #closing = new Cancellation();
  readonly #working = new Set<string>();
  readonly #rounds: readonly UpkeepRounds[];
  /** The database was told of as away. */
  #isAway = false;

  /** Works until it is closed. */
  constructor(options: IndexJobsOptions) {
    this.#options = options;
    const { jobs } = options;
    const beatMs = jobs.rules.claimMs / BEATS;
    const begun = this.#reached(() => jobs.begin().then(() => jobs.keep([])));
    const beats = new UpkeepRounds(beatMs, async () => {
      await this.#reached(() => jobs.keep([...this.#working]));
      return beatMs;
    });
    const workers = Array.from({ length: AT_ONCE }, () => {
      return new UpkeepRounds(0, async () => {
        await begun;
        return (await this.#workOnce()) ? 0 : beatMs;
      });
    });
    this.#rounds = [beats, ...workers];
  }

  /** Breaks off what is under way, and leaves it to others. */
  async close(): Promise<void> {
    this.#closing.abort(new Error("the engine is being closed"));
    await Promise.all(this.#rounds.map((rounds) => rounds.close()));
    await this.#reached(() => this.#options.jobs.leave());
  }

  /** `false`: there was nothing to do. */
  async #workOnce(): Promise<boolean> {
    const job = await this.#reached(() => this.#options.jobs.take());
    if (!job) return false;
    this.#working.add(job.collection);
    try {
      await this.#work(job);
    } finally {
      this.#working.delete(job.collection);
    }
    return true;
  }

  async #work(job: IndexJob): Promise<void> {
    const { jobs, work, onProblem } = this.#options;
    try {
      await work(job, this.#closing);
    } catch (error) {
      if (this.#closing.aborted) return;
      // What passes by itself was told of where it happened, if it is worth it. What a dropped collection has left is swept.
      const isNoProblem = error instanceof SheafError && QUIET_CODES.has(error.code);
      if (!isNoProblem) onProblem(error, job.collection);
      await this.#reached(() => jobs.failed(job));
      return;
    }
    await this.#reached(() => jobs.done(job));
  }

  /** Where the database cannot be reached there is nothing to do, which is told once. */
  async #reached<T>(ask: () => Promise<T>): Promise<T | undefined> {
    try {
      const answer = await ask();
      this.#isAway = false;
      return answer;
    } catch (error) {
      if (!this.#isAway && !this.#closing.aborted) this.#options.onProblem(error);
      this.#isAway = true;
      return undefined;
    }
  }
}
