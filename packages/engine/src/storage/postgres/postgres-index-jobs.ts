/**
 * In PostgreSQL: collections that have work for index nodes, and which node does it. A claim is kept for as long as its node
 * gives signs of life, by the database's clock. It only spares work: what a node makes whose claim has passed to another one
 * meets the same compare-and-set as what anybody else makes.
 */
import type { PostgresDatabase, Row } from "./postgres-database.ts";

export interface IndexJobRules {
  /** How long a node counts as alive, and keeps what it has claimed, after its last sign of life. */
  readonly claimMs: number;
  /** As `isCheckpointDue`. */
  readonly checkpointAfterBytes: number;
  readonly maxLogBytes: number;
  /** That nobody has looked at. */
  readonly operations: number;
  /** How long nobody need have looked at fewer. */
  readonly afterMs: number;
  /** Collections of fewer have no index. */
  readonly leastRecords: number;
  /** After the last write, until nobody writes a collection any more. */
  readonly quietMs: number;
}

export interface IndexJob {
  readonly collection: string;
  /** State of its log that the job was found in. */
  readonly epoch: string;
  readonly sequence: number;
  /** Nobody writes the collection any more, and its log is worth a checkpoint that need not be due. */
  readonly isQuiet: boolean;
}

/** Times as long as a claim is kept. */
const FAILED_FOR = 3;

export class PostgresIndexJobs {
  readonly rules: IndexJobRules;
  readonly #database: PostgresDatabase;
  readonly #node: string;
  readonly #version: string | null;
  /** Jobs since the start. */
  readonly counts = { done: 0, failed: 0 };

  /**
   * @param database Not closed by this.
   * @param node Identity of this server's data folder.
   * @param version Of this program.
   */
  constructor(database: PostgresDatabase, node: string, rules: IndexJobRules, version: string | null = null) {
    this.#version = version;
    this.#database = database;
    this.#node = node;
    this.rules = rules;
  }

  /** Of the collection that needs it most; `null`: none does, or another node was faster. */
  async take(): Promise<IndexJob | null> {
    const { claimMs, checkpointAfterBytes, maxLogBytes, operations, afterMs, leastRecords, quietMs } =
      this.rules;
    const limits = [checkpointAfterBytes, maxLogBytes, operations, afterMs, leastRecords, quietMs];
    const [row] = await this.#change(this.#sql.take, [this.#node, claimMs, ...limits]);
    if (row === undefined) return null;
    return {
      collection: String(row["collection"]),
      epoch: String(row["epoch"]),
      sequence: Number(row["seq"]),
      isQuiet: row["is_quiet"] === true,
    };
  }

  /** A sign of life: this node is there, and still works at these. */
  async keep(collections: readonly string[]): Promise<void> {
    const { register } = this.#database.statements.node;
    // Nobody calls it: it has no address.
    await this.#change(register, [this.#node, this.#node, "index", this.#version]);
    if (collections.length > 0)
      await this.#change(this.#sql.keep, [this.#node, this.rules.claimMs, [...collections]]);
  }

  async done({ collection, epoch, sequence }: Omit<IndexJob, "isQuiet">): Promise<void> {
    this.counts.done += 1;
    await this.#change(this.#sql.done, [collection, this.#node, epoch, sequence]);
  }

  /** It went wrong: nobody tries again for a while. */
  async failed({ collection }: IndexJob): Promise<void> {
    this.counts.failed += 1;
    await this.#change(this.#sql.keep, [this.#node, FAILED_FOR * this.rules.claimMs, [collection]]);
  }

  /** Gives back what a process before this one had claimed, and forgets collections that are gone. */
  async begin(): Promise<void> {
    await this.#change(this.#sql.release, [this.#node]);
    await this.#change(this.#sql.forget, []);
  }

  /** From now on the others do it. */
  async leave(): Promise<void> {
    await this.#change(this.#sql.release, [this.#node]);
    await this.#change(this.#database.statements.node.leave, [this.#node]);
  }

  get #sql(): PostgresDatabase["statements"]["jobs"] {
    return this.#database.statements.jobs;
  }

  /** For what may be done twice: a claim whose answer was lost passes. */
  #change(text: string, values: readonly unknown[]): Promise<readonly Row[]> {
    return this.#database.retry(() => this.#database.change(text, values));
  }
}
