/** Which nodes there are: each writes itself down in the database every few seconds, and gateways look there. */
import { randomUUID } from "node:crypto";
import { type EngineLog, describeError } from "../engine-log.ts";
import type { EngineDatabase } from "../local-engine-options.ts";
import type { KnownNode, PostgresNodeTable } from "../storage/postgres/postgres-node-table.ts";

/** A third of what a node may be silent for. */
const REGISTER_MS = 5_000;
const LOOK_MS = 1_000;

export class NodeDirectory {
  readonly #table: PostgresNodeTable;
  readonly #log: EngineLog;
  readonly #id = randomUUID();
  readonly #timers: NodeJS.Timeout[] = [];
  #isRegistered = false;
  #isFailing = false;
  #round: Promise<void> = Promise.resolve();

  private constructor(table: PostgresNodeTable, log: EngineLog) {
    this.#table = table;
    this.#log = log;
  }

  static async open(database: EngineDatabase, log: EngineLog): Promise<NodeDirectory> {
    // PostgreSQL's client is loaded only where there is a database.
    const { PostgresNodeTable } = await import("../storage/postgres/postgres-node-table.ts");
    return new NodeDirectory(new PostgresNodeTable(database), log);
  }

  /** Makes this server known from now on. Rejects where the database cannot be reached at first. */
  async register(node: KnownNode): Promise<void> {
    await this.#table.register(this.#id, node);
    this.#isRegistered = true;
    this.#every(REGISTER_MS, async () => {
      if (this.#isRegistered) await this.#table.register(this.#id, node);
    });
  }

  /** Gives the nodes now and after each look. Rejects where the database cannot be reached at first; later what was known counts. */
  async watch(onNodes: (nodes: readonly KnownNode[]) => void): Promise<void> {
    const look = async (): Promise<void> => onNodes(await this.#table.seen());
    await look();
    this.#every(LOOK_MS, look);
  }

  /** Gateways find it no more. Where the database cannot be reached they find out by themselves. */
  async leave(): Promise<void> {
    if (!this.#isRegistered) return;
    this.#isRegistered = false;
    await this.#round;
    await this.#table.leave(this.#id).catch((error: unknown) => this.#tell(error));
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.leave();
    await this.#table.close();
  }

  /** One round at a time, none while the one before is under way. */
  #every(ms: number, round: () => Promise<void>): void {
    let isRunning = false;
    const run = async (): Promise<void> => {
      if (isRunning) return;
      isRunning = true;
      try {
        await round();
        this.#isFailing = false;
      } catch (error) {
        this.#tell(error);
      }
      isRunning = false;
    };
    const begin = (): void => {
      this.#round = run();
    };
    this.#timers.push(setInterval(begin, ms).unref());
  }

  /** Once until it works again. */
  #tell(error: unknown): void {
    if (this.#isFailing) return;
    this.#isFailing = true;
    const message = "the table of nodes cannot be reached; those that are known stay in use";
    this.#log({ level: "warn", message, error: describeError(error) });
  }
}
