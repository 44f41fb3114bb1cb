/** What an engine has in a database instead of its data folder. Loaded only where there is one. */
import { SheafError } from "@sheaf/protocol";
import { absentCollections } from "./catalog/collection-entries.ts";
import { openSharedCatalog } from "./catalog/open-shared-catalog.ts";
import { CollectionLogs } from "./collection/logged/collection-logs.ts";
import type { OthersCatalog } from "./collection/logged/shared-upkeep.ts";
import { NO_QUOTAS } from "./collection/tenant-quotas.ts";
import type { EngineDatabase, EngineParts, OpenOptions } from "./local-engine-options.ts";
import { describeError } from "./engine-log.ts";
import { PublishedIndexes } from "./publication/published-indexes.ts";
import { ObjectFiles } from "./storage/objects/object-files.ts";
import { ObjectStore } from "./storage/objects/object-store.ts";
import { PostgresManifests } from "./storage/postgres/postgres-manifests.ts";
import type { DataFolder } from "./storage/folder/data-folder.ts";
import { PostgresCatalogStore } from "./storage/postgres/postgres-catalog-store.ts";
import { PostgresCommitLog } from "./storage/postgres/postgres-commit-log.ts";
import { PostgresDatabase } from "./storage/postgres/postgres-database.ts";

/** Throws `failed_precondition` for what does not work with a database, and for a folder that is more than a cache. */
export async function openDatabase(
  folder: DataFolder,
  settings: EngineDatabase,
  options: Pick<OpenOptions, "quotas" | "archive" | "objects" | "log">,
): Promise<Pick<EngineParts, "archive" | "catalog" | "logs" | "others" | "published">> {
  const { quotas = NO_QUOTAS, archive, objects } = options;
  // What other servers write is not archived here.
  if (archive !== undefined)
    throw new SheafError("failed_precondition", "the records are in a database: archive that");
  // Throws for one that is not to be used.
  const objectStore = objects && new ObjectStore(objects);
  const store = new PostgresCatalogStore(new PostgresDatabase(settings));
  const catalog = await openSharedCatalog(folder, store, { quotas });
  const database = new PostgresDatabase(settings);
  const log = new PostgresCommitLog(database);
  const logs = new CollectionLogs(log, quotas, settings.checkpointAfterBytes);
  const others: OthersCatalog = {
    news: () => store.news(),
    absentOf: (ids) => absentCollections(store, ids),
    lookMs: settings.lookMs,
  };
  const published = objectStore
    ? publishedIndexes({ objectStore, manifests: new PostgresManifests(database), options })
    : null;
  return { archive: null, catalog, logs, others, published };
}

interface PublishingParts {
  readonly objectStore: ObjectStore;
  readonly manifests: PostgresManifests;
  readonly options: Pick<OpenOptions, "objects" | "log">;
}

function publishedIndexes({
  objectStore,
  manifests,
  options: { objects, log = () => {} },
}: PublishingParts): PublishedIndexes {
  const message =
    "the index that servers share could not be had or published; this server goes on with its own";
  return new PublishedIndexes({
    ...{ objects: new ObjectFiles(objectStore, null), manifests, limits: objects?.publication },
    onProblem: (error, collection) =>
      log({ level: "error", message, error: describeError(error), ...(collection && { collection }) }),
  });
}
