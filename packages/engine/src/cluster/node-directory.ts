/**
 * What a server hears of the others through the database, over one connection: which nodes there are, for each writes itself down
 * every few seconds, and when the catalog has changed, which only a server without an engine of its own has to ask.
 */
import { randomUUID } from "node:crypto";
import { type CatalogReport, watchCatalog } from "../catalog/catalog-watch.ts";
import { type EngineLog, describeError } from "../engine-log.ts";
import type { EngineDatabase } from "../local-engine-options.ts";
import { problemAtStart } from "../storage/postgres/connection-problems.ts";
import type { PostgresDatabase } from "../storage/postgres/postgres-database.ts";
import type { KnownNode, ListedNode, PostgresNodeTable } from "../storage/postgres/postgres-node-table.ts";
import type { UpkeepRounds } from "../upkeep-rounds.ts";
import { RecentNodes } from "./recent-nodes.ts";

/** A third of what a node may be silent for. */
const REGISTER_MS = 5_000;
const LOOK_MS = 1_000;
/** One statement at a time, and nobody waits as long as for a write: the next one comes soon. */
const LIMITS = { connections: 1, waiting: 8, retryMs: 5_000 } as const;

export class NodeDirectory {
  readonly #database: PostgresDatabase;
  readonly #table: PostgresNodeTable;
  readonly #version: string | undefined;
  readonly #log: EngineLog;
  readonly #id = randomUUID();
  readonly #timers: NodeJS.Timeout[] = [];
  #isRegistered = false;
  #isFailing = false;
  #round: Promise<void> = Promise.resolve();
  #catalogRounds: UpkeepRounds | null = null;

  private constructor(
    database: PostgresDatabase,
    table: PostgresNodeTable,
    version: string | undefined,
    log: EngineLog,
  ) {
    this.#database = database;
    this.#table = table;
    this.#version = version;
    this.#log = log;
  }

  static async open(database: EngineDatabase, log: EngineLog): Promise<NodeDirectory> {
    // PostgreSQL's client is loaded only where there is a database.
    const [{ PostgresDatabase }, { PostgresNodeTable }] = await Promise.all([
      import("../storage/postgres/postgres-database.ts"),
      import("../storage/postgres/postgres-node-table.ts"),
    ]);
    const opened = new PostgresDatabase({ ...database, limits: { ...database.limits, ...LIMITS } }, log);
    return new NodeDirectory(opened, new PostgresNodeTable(opened), database.version, log);
  }

  /** Id of the database. `undefined`: its user may not read it, which is in the log. Rejects where the database cannot be reached. */
  async cluster(): Promise<string | undefined> {
    const id = await first(this.#table.cluster());
    if (id !== null) return id;
    const message =
      "the user of the database may not read its table cluster, so nodes of another database with the same secret are not told apart";
    this.#log({ level: "warn", message });
    return undefined;
  }

  /** Makes this server known from now on. Rejects where the database cannot be reached at first. */
  async register(node: KnownNode): Promise<void> {
    const register = (): Promise<void> => this.#table.register(this.#id, node, this.#version);
    await first(register());
    this.#isRegistered = true;
    this.#every(REGISTER_MS, async () => {
      if (this.#isRegistered) await register();
    });
  }

  /** For whoever runs the cluster. Rejects where the database cannot be reached. */
  list(): Promise<readonly ListedNode[]> {
    return this.#table.list();
  }

  /** Gives the nodes now and after each look. Rejects where the database cannot be reached at first; later what was known counts. */
  async watch(onNodes: (nodes: readonly KnownNode[]) => void): Promise<void> {
    const recent = new RecentNodes();
    const look = async (): Promise<void> => onNodes(recent.after(await this.#table.seen()));
    await first(look());
    this.#every(LOOK_MS, look);
  }

  /** Tells when the catalog has changed, until it is closed. */
  async watchCatalog(tell: (report: CatalogReport) => void): Promise<void> {
    const { PostgresCatalogStore } = await import("../storage/postgres/postgres-catalog-store.ts");
    const store = new PostgresCatalogStore(this.#database);
    this.#catalogRounds = watchCatalog(() => store.news(), tell);
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
    await Promise.all([this.leave(), this.#catalogRounds?.close()]);
    await this.#database.close();
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

/** Says why the database cannot be had. */
async function first<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw problemAtStart(error);
  }
}
