/** Tells a process without a catalog of its own when the catalog of its database has changed. */
import { type CatalogReport, watchCatalog } from "../catalog/catalog-watch.ts";
import type { EngineDatabase } from "../local-engine-options.ts";

/** Asks until it is closed. */
export async function watchSharedCatalog(
  database: EngineDatabase,
  tell: (report: CatalogReport) => void,
): Promise<{ close(): Promise<void> }> {
  // PostgreSQL's client is loaded only where there is a database.
  const [{ PostgresCatalogStore }, { PostgresDatabase }] = await Promise.all([
    import("../storage/postgres/postgres-catalog-store.ts"),
    import("../storage/postgres/postgres-database.ts"),
  ]);
  const limits = { ...database.limits, connections: 1 };
  const store = new PostgresCatalogStore(new PostgresDatabase({ ...database, limits }));
  const rounds = watchCatalog(() => store.news(), tell);
  return {
    close: async () => {
      await rounds.close();
      await store.close();
    },
  };
}
