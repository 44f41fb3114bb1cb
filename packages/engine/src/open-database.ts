/** What an engine has in a database instead of its data folder. Loaded only where there is one. */
import { SheafError } from "@sheaf/protocol";
import { absentCollections } from "./catalog/collection-entries.ts";
import { openSharedCatalog } from "./catalog/open-shared-catalog.ts";
import { CollectionLogs } from "./collection/logged/collection-logs.ts";
import type { OthersCatalog } from "./collection/logged/shared-upkeep.ts";
import { NO_QUOTAS } from "./collection/tenant-quotas.ts";
import type { EngineDatabase, EngineParts, OpenOptions } from "./local-engine-options.ts";
import type { DataFolder } from "./storage/folder/data-folder.ts";
import { PostgresCatalogStore } from "./storage/postgres/postgres-catalog-store.ts";
import { PostgresCommitLog } from "./storage/postgres/postgres-commit-log.ts";
import { PostgresDatabase } from "./storage/postgres/postgres-database.ts";

/** Throws `failed_precondition` for what does not work with a database, and for a folder that is more than a cache. */
export async function openDatabase(
  folder: DataFolder,
  settings: EngineDatabase,
  { quotas = NO_QUOTAS, archive }: Pick<OpenOptions, "quotas" | "archive">,
): Promise<Pick<EngineParts, "archive" | "catalog" | "logs" | "others">> {
  // What other servers write is not archived here.
  if (archive !== undefined)
    throw new SheafError("failed_precondition", "the records are in a database: archive that");
  const store = new PostgresCatalogStore(new PostgresDatabase(settings));
  const catalog = await openSharedCatalog(folder, store, { quotas });
  const log = new PostgresCommitLog(new PostgresDatabase(settings));
  const logs = new CollectionLogs(log, quotas, settings.checkpointAfterBytes);
  const others: OthersCatalog = {
    news: () => store.news(),
    absentOf: (ids) => absentCollections(store, ids),
    lookMs: settings.lookMs,
  };
  return { archive: null, catalog, logs, others };
}
