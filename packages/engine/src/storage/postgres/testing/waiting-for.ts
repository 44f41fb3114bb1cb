import type { PostgresDatabase } from "../postgres-database.ts";

/** How many statements with these words wait for a lock. */
export async function waitingFor(database: PostgresDatabase, words: string): Promise<number> {
  const query =
    "select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%' || $1 || '%'";
  return (await database.read(query, [words])).length;
}
