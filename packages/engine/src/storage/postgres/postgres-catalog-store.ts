/**
 * A catalog in PostgreSQL, which several servers share. Commits take turns: each locks the one row of `catalog_version`,
 * looks whether its conditions hold, and writes; what it sees cannot change before it ends, ranges included. A commit that
 * was not answered is sent again under the same batch id: once it has the lock, the first attempt has ended, and either
 * its batch id is there or nothing of it is.
 */
import { randomUUID } from "node:crypto";
import type { DataOrigin } from "../corrupt-data-error.ts";
import type { CatalogNews } from "../catalog/catalog-news.ts";
import type {
  CatalogCommit,
  CatalogEntry,
  CatalogPage,
  CatalogRange,
  CatalogStore,
} from "../catalog/catalog-store.ts";
import { byteaArray } from "./bytea-array.ts";
import { CatalogState } from "./catalog-state.ts";
import { type StatementBatch, catalogStatements } from "./catalog-statements.ts";
import type { Connection, PostgresDatabase, Row, Verdict } from "./postgres-database.ts";
import { CommitUnknown } from "./postgres-errors.ts";

type Outcome = "done" | "conflict";

export class PostgresCatalogStore implements CatalogStore {
  readonly #database: PostgresDatabase;
  readonly #state: CatalogState;

  /** @param database Closed with this. */
  constructor(database: PostgresDatabase) {
    this.#database = database;
    this.#state = new CatalogState({ read: () => this.#readState() });
  }

  async get(key: Uint8Array): Promise<Uint8Array | null> {
    const [row] = await this.#database.read(this.#sql.get, [Buffer.from(key)]);
    return row === undefined ? null : bytesOf(row, "value");
  }

  async getAll(keys: readonly Uint8Array[]): Promise<readonly (Uint8Array | null)[]> {
    const rows = await this.#database.read(this.#sql.getAll, [byteaArray(keys)]);
    return rows.map((row) => (row["value"] === null ? null : bytesOf(row, "value")));
  }

  async entries({ start, end, limit, offset = 0 }: CatalogPage): Promise<readonly CatalogEntry[]> {
    const values = [Buffer.from(start), Buffer.from(end), limit, offset];
    const rows = await this.#database.read(this.#sql.entries, values);
    return rows.map((row) => ({ key: bytesOf(row, "key"), value: bytesOf(row, "value") }));
  }

  async count({ start, end }: CatalogRange): Promise<number> {
    const [row] = await this.#database.read(this.#sql.count, [Buffer.from(start), Buffer.from(end)]);
    return Number(row?.["count"]);
  }

  origin(key: Uint8Array): DataOrigin {
    return { store: "catalog", key };
  }

  async commit(commit: CatalogCommit, isOutdated: () => boolean = () => false): Promise<Outcome> {
    const batches = await catalogStatements(this.#sql, commit);
    const id = randomUUID();
    let isSent = false;
    const attempt = async (): Promise<Outcome> => {
      if (!isSent && isOutdated()) return "conflict";
      try {
        return await this.#database.transact((connection) =>
          this.#apply(connection, batches, { id, isSent }),
        );
      } catch (error) {
        isSent ||= error instanceof CommitUnknown;
        throw error;
      }
    };
    const isUnknown = (): boolean => isSent;
    return this.#state.during(
      () => this.#database.retry(attempt, isUnknown),
      () => !isSent,
    );
  }

  version(): Promise<number | null> {
    return this.#state.version();
  }

  /** As `CatalogNews`, without asking. */
  get ageMs(): number {
    return this.#state.ageMs;
  }

  /** Asks the database. Never rejects. */
  news(): Promise<CatalogNews> {
    return this.#state.news();
  }

  /** The room of the database is not known here; a commit that finds none rejects with 507. */
  async requireRoom(): Promise<void> {}

  async size(): Promise<number> {
    const [row] = await this.#database.read(this.#sql.size);
    return Number(row?.["bytes"]);
  }

  close(): Promise<void> {
    return this.#database.close();
  }

  get #sql(): PostgresDatabase["statements"]["catalog"] {
    return this.#database.statements.catalog;
  }

  async #readState(): Promise<string> {
    const [row] = await this.#database.once(this.#sql.version);
    return `${String(row?.["version"])} ${String(row?.["batch"])}`;
  }

  async #apply(
    { query }: Connection,
    { conditions, changes }: StatementBatch,
    { id, isSent }: { readonly id: string; readonly isSent: boolean },
  ): Promise<Verdict<Outcome>> {
    await query(this.#sql.lock);
    const isDone = isSent && (await query(this.#sql.hasBatch, [id])).length > 0;
    if (!isDone) {
      for (const { text, values } of conditions) {
        const [row] = await query(text, values);
        if (Number(row?.["count"]) > 0) return { commit: false, value: "conflict" };
      }
      for (const { text, values } of changes) await query(text, values);
      await query(this.#sql.addBatch, [id]);
      await query(this.#sql.forgetBatches);
    }
    // Also where it is done: the answer to this commit says that the standby has everything before it.
    await query(this.#sql.raiseVersion, [id]);
    return { commit: true, value: "done" };
  }
}

function bytesOf(row: Row, column: string): Buffer {
  return row[column] as Buffer;
}
