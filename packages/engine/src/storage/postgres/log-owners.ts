/** What the collections of an owner keep together, for those whose collections have bounds. */
import { type Usage, fits } from "../usage.ts";
import type { Connection, PostgresDatabase } from "./postgres-database.ts";

export class LogOwners {
  readonly #database: PostgresDatabase;

  constructor(database: PostgresDatabase) {
    this.#database = database;
  }

  /** As it is counted, or would be. */
  async usageOf(owner: string): Promise<Usage> {
    const [row] = await this.#database.read(this.#sql.usage, [owner]);
    return { records: Number(row?.["records"]), bytes: Number(row?.["bytes"]) };
  }

  /** From now on each append, copy and drop counts. `false`: each did before. */
  async ensure(owner: string): Promise<boolean> {
    const { isCounted, lockHeads, countOwner } = this.#sql;
    if ((await this.#database.read(isCounted, [owner])).length > 0) return false;
    await this.#database.retry(() =>
      this.#database.transact(async ({ query }) => {
        await query(lockHeads);
        await query(countOwner, [owner]);
        return { commit: true, value: null };
      }),
    );
    return true;
  }

  /** Until the transaction ends. Resolves to what adds to what the owner keeps; that gives `false` where it does not fit. */
  async lock(
    { query }: Connection,
    owner: unknown,
  ): Promise<(more: Usage, most: Usage | undefined) => Promise<boolean>> {
    const { lockOwner, addToOwner } = this.#sql;
    const [row] = await query(lockOwner, [owner]);
    return async (more, most) => {
      if (row === undefined) return true;
      const kept = { records: Number(row["records"]), bytes: Number(row["bytes"]) };
      if (most !== undefined && !fits(more, kept, most)) return false;
      await query(addToOwner, [owner, more.records, more.bytes]);
      return true;
    };
  }

  get #sql(): PostgresDatabase["statements"]["log"] {
    return this.#database.statements.log;
  }
}
