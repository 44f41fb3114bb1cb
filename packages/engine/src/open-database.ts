/** What an engine has in a database instead of its data folder. Loaded only where there is one. */
import { SheafError } from "@sheaf/protocol";
import { absentCollections } from "./catalog/collection-entries.ts";
import { openSharedCatalog } from "./catalog/open-shared-catalog.ts";
import { CollectionLogs } from "./collection/logged/collection-logs.ts";
import type { DatabaseMeasure } from "./collection/logged/database-measure.ts";
import type { OthersCatalog } from "./collection/logged/shared-upkeep.ts";
import { NO_QUOTAS } from "./collection/tenant-quotas.ts";
import type { EngineDatabase, EngineParts, OpenOptions } from "./local-engine-options.ts";
import { describeError } from "./engine-log.ts";
import { CheckpointObjects } from "./publication/checkpoint-objects.ts";
import { PublishedIndexes } from "./publication/published-indexes.ts";
import { ObjectFiles } from "./storage/objects/object-files.ts";
import { ObjectStore } from "./storage/objects/object-store.ts";
import { PostgresManifests } from "./storage/postgres/postgres-manifests.ts";
import type { DataFolder } from "./storage/folder/data-folder.ts";
import { PostgresCatalogStore } from "./storage/postgres/postgres-catalog-store.ts";
import { PostgresCommitLog } from "./storage/postgres/postgres-commit-log.ts";
import { POSTGRES_LIMITS, PostgresDatabase } from "./storage/postgres/postgres-database.ts";

/** One commits, another one reads. */
const LEAST_FOR_CATALOG = 2;

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
  const { connections = POSTGRES_LIMITS.connections } = settings.limits ?? {};
  // Commits of the catalog wait for those of other servers, which must not hold up writes of records.
  const forCatalog = Math.max(LEAST_FOR_CATALOG, Math.floor(connections / 4));
  const connect = (most: number): PostgresDatabase =>
    new PostgresDatabase({ ...settings, limits: { ...settings.limits, connections: Math.max(1, most) } });
  const databases = [connect(forCatalog), connect(connections - forCatalog)] as const;
  const store = new PostgresCatalogStore(databases[0]);
  const catalog = await openSharedCatalog(folder, store, { quotas });
  const { maxLogBytes, appendAttempts, checkpointAfterBytes } = settings;
  const log = new PostgresCommitLog(databases[1], maxLogBytes);
  const objectFiles = objectStore && new ObjectFiles(objectStore, null);
  const manifests = new PostgresManifests(databases[1]);
  const files = objectFiles && new CheckpointObjects({ objects: objectFiles, manifests });
  const limits = { checkpointAfterBytes, maxLogBytes, appendAttempts };
  const logs = new CollectionLogs(log, { most: quotas, ...limits, files });
  const others: OthersCatalog = {
    news: () => store.news(),
    absentOf: (ids) => absentCollections(store, ids),
    measure: () => measureOf(databases, store, log, logs),
    lookMs: settings.lookMs,
  };
  const published = objectFiles ? publishedIndexes({ objectFiles, manifests, options }) : null;
  return { archive: null, catalog, logs, others, published };
}

interface PublishingParts {
  readonly objectFiles: ObjectFiles;
  readonly manifests: PostgresManifests;
  readonly options: Pick<OpenOptions, "objects" | "log">;
}

function publishedIndexes({
  objectFiles,
  manifests,
  options: { objects, log = () => {} },
}: PublishingParts): PublishedIndexes {
  const message =
    "the index that servers share could not be had or published; this server goes on with its own";
  return new PublishedIndexes({
    ...{ objects: objectFiles, manifests, limits: objects?.publication },
    onProblem: (error, collection) =>
      log({ level: "error", message, error: describeError(error), ...(collection && { collection }) }),
  });
}

function measureOf(
  databases: readonly PostgresDatabase[],
  { ageMs }: PostgresCatalogStore,
  { meter }: PostgresCommitLog,
  logs: CollectionLogs,
): DatabaseMeasure {
  const { longestLog, checkpointDueMs } = logs.measure();
  return {
    databaseAppends: meter.appends,
    databaseAppendSeconds: meter.seconds,
    databaseMoved: meter.moved,
    databaseUnknown: meter.unknown,
    databaseWaiting: databases.reduce((sum, { waits }) => sum + waits.now, 0),
    databaseWaits: databases.reduce((sum, { waits }) => sum + waits.ever, 0),
    databaseCatalogSeconds: Number.isFinite(ageMs) ? ageMs / 1_000 : 0,
    databaseLongestLog: longestLog,
    databaseCheckpointDueSeconds: checkpointDueMs / 1_000,
  };
}
