/** What an engine has in a database instead of its data folder. Loaded only where there is one. */
import { SheafError } from "@sheaf/protocol";
import { absentCollections } from "./catalog/collection-entries.ts";
import { openSharedCatalog } from "./catalog/open-shared-catalog.ts";
import { CollectionLogs } from "./collection/logged/collection-logs.ts";
import type { DatabaseMeasure } from "./collection/logged/database-measure.ts";
import type { OthersCatalog } from "./collection/logged/shared-upkeep.ts";
import { NO_QUOTAS } from "./collection/tenant-quotas.ts";
import { DENSE_ROWS } from "./index/collection-index-options.ts";
import type { EngineDatabase, EngineObjects, OpenOptions } from "./local-engine-options.ts";
import type { Kept } from "./open-engine-parts.ts";
import { describeError } from "./engine-log.ts";
import { CheckpointObjects } from "./publication/checkpoint-objects.ts";
import { IndexNodes } from "./publication/index-nodes.ts";
import { PrefixOwner } from "./publication/prefix-owner.ts";
import type { PublishingLimits } from "./publication/publisher.ts";
import { PUBLICATION_LIMITS, PUBLISHING_AT_ONCE, PublishedIndexes } from "./publication/published-indexes.ts";
import { cacheIdentity } from "./storage/folder/cache-identity.ts";
import { CHECKPOINT_AFTER_BYTES } from "./storage/log/checkpoint-log.ts";
import { MAX_LOG_BYTES } from "./storage/log/commit-log.ts";
import { QUIET_MS } from "./storage/log/log-checkpoints.ts";
import { ObjectFiles } from "./storage/objects/object-files.ts";
import { ObjectStore } from "./storage/objects/object-store.ts";
import { StoreHealth } from "./storage/objects/store-health.ts";
import { PostgresIndexJobs } from "./storage/postgres/postgres-index-jobs.ts";
import { RoomProblem } from "./storage/postgres/room-problem.ts";
import { PostgresNodeTable } from "./storage/postgres/postgres-node-table.ts";
import { PostgresManifests } from "./storage/postgres/postgres-manifests.ts";
import type { DataFolder } from "./storage/folder/data-folder.ts";
import { PostgresCatalogStore } from "./storage/postgres/postgres-catalog-store.ts";
import { PostgresCommitLog } from "./storage/postgres/postgres-commit-log.ts";
import { POSTGRES_LIMITS, PostgresDatabase } from "./storage/postgres/postgres-database.ts";

type DatabaseOptions = Pick<OpenOptions, "quotas" | "archive" | "objects" | "index" | "log" | "callersWait">;

/** One commits, another one reads. */
const LEAST_FOR_CATALOG = 2;

/** A start does not wait for a store that does not answer. */
const ASKING = { attempts: 2, requestMs: 5_000 };

/** Throws `failed_precondition` for what does not work with a database, and for a folder that is more than a cache. */
export async function openDatabase(
  folder: DataFolder,
  settings: EngineDatabase,
  options: DatabaseOptions,
): Promise<Kept> {
  const { quotas = NO_QUOTAS, archive, objects, callersWait } = options;
  const { role = "all" } = settings;
  // What other servers write is not archived here.
  if (archive !== undefined)
    throw new SheafError("failed_precondition", "the records are in a database: archive that");
  if (role === "index" && objects === undefined)
    throw new SheafError("failed_precondition", "an index node needs an object store for what it makes");
  // Throws for one that is not to be used.
  const health = objects && new StoreHealth(objects, options.log);
  const objectFiles = objects && new ObjectFiles(new ObjectStore(objects, health), null);
  const { connections = POSTGRES_LIMITS.connections } = settings.limits ?? {};
  // Commits of the catalog wait for those of other servers, which must not hold up writes of records.
  const forCatalog = Math.max(LEAST_FOR_CATALOG, Math.floor(connections / 4));
  const room = new RoomProblem(options.log);
  const connect = (most: number): PostgresDatabase =>
    new PostgresDatabase(
      { ...settings, limits: { ...settings.limits, connections: Math.max(1, most) } },
      options.log,
      room,
    );
  const databases = [connect(forCatalog), connect(connections - forCatalog)] as const;
  const manifests = new PostgresManifests(databases[1]);
  const owner = objects && ownerOf(objects, manifests, health);
  await owner?.require().catch((error: unknown) => refuseStranger(error, databases, options));
  const store = new PostgresCatalogStore(databases[0]);
  const catalog = await openSharedCatalog(folder, store, { quotas, callersWait });
  const { maxLogBytes, appendAttempts, checkpointAfterBytes, checkpointQuietMs } = settings;
  const log = new PostgresCommitLog(databases[1], maxLogBytes);
  if (objects === undefined) await requireNoObjects(manifests, [catalog, log]);
  const files = objectFiles && new CheckpointObjects({ objects: objectFiles, manifests });
  const { claimMs } = { ...PUBLICATION_LIMITS, ...objects?.publication };
  const indexNodes =
    role === "search" && objects
      ? new IndexNodes({ nodes: new PostgresNodeTable(databases[1]), claimMs })
      : undefined;
  const isLeft = (): boolean => indexNodes?.areThere === true;
  const jobs = role === "index" ? newJobs(folder, databases[1], settings, options) : null;
  const limits = { checkpointAfterBytes, checkpointQuietMs, maxLogBytes, appendAttempts };
  const logs = new CollectionLogs(log, {
    ...{ most: quotas, ...limits, files, isLeft, callersWait, changesNothing: role === "index" },
    // What an index is made of is read as a whole anyway.
    coldFromBytes: role === "index" ? Infinity : objects?.coldFromBytes,
  });
  const others: OthersCatalog = {
    news: () => store.news(),
    absentOf: (ids) => absentCollections(store, ids),
    measure: () => ({
      ...measureOf(databases, store, log, logs),
      ...{ databaseIndexJobs: jobs?.counts.done ?? 0, databaseIndexJobsFailed: jobs?.counts.failed ?? 0 },
      databaseLeftToIndexNodes: Number(isLeft()),
      databaseObjectsFailing: Number(health?.isFailing === true),
    }),
    askObjects: async () => {
      if (health?.isFailing === true) await owner?.ask();
    },
    isLeft,
    lookMs: settings.lookMs,
  };
  const publishing = role === "index" ? PUBLISHING_AT_ONCE : {};
  const published =
    objectFiles && owner
      ? publishedIndexes({ objectFiles, manifests, owner, indexNodes, options, publishing })
      : null;
  return { archive: null, catalog, logs, others, published, jobs };
}

/** Closes what is open, and throws, where a server without an object store would miss records. */
async function requireNoObjects(
  manifests: PostgresManifests,
  opened: readonly { close(): Promise<void> }[],
): Promise<void> {
  if (!(await manifests.hasRecordFiles())) return;
  await Promise.all(opened.map((one) => one.close()));
  const words = "the database has records in an object store, which this server was not told of (--objects)";
  throw new SheafError("failed_precondition", words);
}

/** What is wrong with the objects. While their store is away nobody knows whose they are, and nothing is removed. */
async function refuseStranger(
  error: unknown,
  databases: readonly PostgresDatabase[],
  { objects, log }: DatabaseOptions,
): Promise<void> {
  if (error instanceof SheafError && error.code === "failed_precondition") {
    await Promise.all(databases.map((database) => database.close()));
    throw error;
  }
  const place = `bucket ${objects?.bucket} at ${objects?.endpoint}`;
  const message = `whose objects are in ${place} could not be found out; nothing is removed there until it is`;
  log?.({ level: "warn", message, error: describeError(error) });
}

function ownerOf(
  objects: EngineObjects,
  manifests: PostgresManifests,
  health: StoreHealth | undefined,
): PrefixOwner {
  const { bucket, prefix, limits } = objects;
  const store = new ObjectStore({ ...objects, limits: { ...limits, ...ASKING } }, health);
  return new PrefixOwner({ store, manifests, place: `s3://${bucket}/${prefix}` });
}

function newJobs(
  folder: DataFolder,
  database: PostgresDatabase,
  {
    checkpointAfterBytes = CHECKPOINT_AFTER_BYTES,
    checkpointQuietMs = QUIET_MS,
    maxLogBytes = MAX_LOG_BYTES,
    version,
  }: EngineDatabase,
  { objects, index }: DatabaseOptions,
): PostgresIndexJobs {
  const { claimMs, operations, afterMs } = { ...PUBLICATION_LIMITS, ...objects?.publication };
  const leastRecords = index?.sizes?.denseRows ?? DENSE_ROWS;
  const rules = { claimMs, checkpointAfterBytes, maxLogBytes, operations, afterMs, leastRecords };
  // As two looks of a server that writes.
  const quietMs = 2 * checkpointQuietMs;
  return new PostgresIndexJobs(database, cacheIdentity(folder), { ...rules, quietMs }, version);
}

interface PublishingParts {
  readonly objectFiles: ObjectFiles;
  readonly manifests: PostgresManifests;
  readonly owner: PrefixOwner;
  readonly indexNodes: IndexNodes | undefined;
  readonly options: DatabaseOptions;
  readonly publishing: Partial<PublishingLimits>;
}

function publishedIndexes({
  objectFiles,
  manifests,
  owner,
  indexNodes,
  publishing,
  options: { objects, log = () => {} },
}: PublishingParts): PublishedIndexes {
  const message =
    "the index that servers share could not be had or published; this server goes on with its own";
  return new PublishedIndexes({
    ...{
      objects: objectFiles,
      manifests,
      owner,
      indexNodes,
      limits: { ...objects?.publication, ...publishing },
    },
    onProblem: (error, collection) =>
      log({ level: "error", message, error: describeError(error), ...(collection && { collection }) }),
  });
}

function measureOf(
  databases: readonly PostgresDatabase[],
  { ageMs }: PostgresCatalogStore,
  { meter }: PostgresCommitLog,
  logs: CollectionLogs,
): Omit<DatabaseMeasure, keyof DatabaseMeasure & `database${"Index" | "Left" | "Objects"}${string}`> {
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
