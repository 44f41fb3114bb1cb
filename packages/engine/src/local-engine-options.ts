/** How an engine in this process is opened. */
import type { Archive, ArchiveSettings } from "./archive/archive.ts";
import type { Catalog } from "./catalog/catalog.ts";
import type { CatalogReport } from "./catalog/catalog-watch.ts";
import type { OthersCatalog } from "./collection/logged/shared-upkeep.ts";
import type { CollectionLogs } from "./collection/logged/collection-logs.ts";
import type { AskRecords } from "./collection/opening/open-records.ts";
import type { CollectionListeners } from "./collection/collection-opener.ts";
import type { IndexSettings } from "./collection/open-collection-options.ts";
import type { ShareLimits } from "./collection/store-mover.ts";
import type { TenantQuotas } from "./collection/tenant-quotas.ts";
import type { EngineLog } from "./engine-log.ts";
import type { DataFolder } from "./storage/folder/data-folder.ts";
import type { PublicationLimits, PublishedIndexes } from "./publication/published-indexes.ts";
import type { ObjectStoreSettings } from "./storage/objects/object-store.ts";
import type { PostgresIndexJobs } from "./storage/postgres/postgres-index-jobs.ts";
import type { PostgresSettings } from "./storage/postgres/postgres-database.ts";
import type { SharedStores } from "./storage/lmdb/shared-stores.ts";
import type { TurnLock } from "./storage/turn-lock.ts";
import type { DiskReserve, DiskSpace, DiskUsage } from "./storage/folder/disk-space.ts";

/** Where several servers keep what they share. */
export interface EngineDatabase extends PostgresSettings {
  /** How large the log of a collection gets before its records are written down and it is trimmed; 64 MiB by default. */
  readonly checkpointAfterBytes?: number;
  /** Between two looks at a log; one that is the same at both gets a checkpoint sooner. */
  readonly checkpointQuietMs?: number;
  /** Beyond which a log takes no more until it is trimmed; 1 GiB by default. */
  readonly maxLogBytes?: number;
  /** How often a write is planned anew because others were faster; 64 times by default. */
  readonly appendAttempts?: number;
  /**
   * What this server does for the others: `search` leaves publications, checkpoints and sweeps to index nodes while there are
   * some; `index` does these and nothing else. By default `all`.
   */
  readonly role?: "all" | "search" | "index";
  /** Of this program, for whoever lists the nodes of the database. */
  readonly version?: string;
  /** How often this server looks for what others have dropped, in milliseconds; a minute by default. */
  readonly lookMs?: number;
}

/** An object store beside a database. */
export interface EngineObjects extends ObjectStoreSettings {
  /** When indexes are published, and how long files stay that nobody needs. */
  readonly publication?: Partial<PublicationLimits>;
  /** Bytes of a collection's records from which on calls on it are answered before they are here; by default an eighth of `checkpointAfterBytes`. */
  readonly coldFromBytes?: number;
}

export interface LocalEngineOptions {
  readonly dataFolder: string;
  readonly log?: EngineLog;
  /** Most collections open at once; by default what the process's file descriptors allow. */
  readonly maxOpenCollections?: number;
  /** File descriptors that they may take together; by default half of the process's. */
  readonly maxDescriptors?: number;
  /** Of the data folder's disk; by default asked of the system. */
  readonly diskUsage?: () => DiskUsage;
  /** How much of it is kept free; by default 32 MiB. */
  readonly diskReserve?: DiskReserve;
  /** What each tenant may keep; by default anything. */
  readonly quotas?: TenantQuotas;
  readonly index?: IndexSettings;
  /** Has everything that is written go to an archive too, before it is acknowledged; by default there is none. */
  readonly archive?: ArchiveSettings;
  /** New collections share environments while they hold no more than this; `null`: each has one of its own. */
  readonly shareStores?: ShareLimits | null;
  /** Bytes that the indexes of all collections may keep in memory; by default any. */
  readonly indexMemory?: number;
  /** Bytes that rows may take which are in no index file yet; the default where it is left out. */
  readonly unsealedMemory?: number;
  /** Where catalog and records are that other servers serve, too; the data folder is then a cache, and may be lost. */
  readonly database?: EngineDatabase;
  /** Where servers of a database find the indexes that others have made; by default each makes its own. */
  readonly objects?: EngineObjects;
  /** Collections in partitions are written without their records, which these servers have; by default they are kept here. */
  readonly askRecords?: AskRecords | undefined;
  /** Until bytes of deleted records have left the files; by default they may stay. */
  readonly purgeAfterMs?: number;
}

export type CallersWait = () => Promise<unknown> | undefined;

/** Without the lock, as the engine host opens it. */
export interface OpenOptions extends LocalEngineOptions, CollectionListeners {
  /** Told several times a second of a catalog that other servers change. */
  readonly onCatalog?: (report: CatalogReport) => void;
  readonly onClosed?: () => void;
  /**
   * Settles once every call that nobody waits for any more was aborted; `undefined`: they were. Asked before what other servers
   * may do in its place is done, with a database.
   */
  readonly callersWait?: CallersWait;
  /** Of the lock of the data folder: processes that write there hold it, too. */
  readonly lockFd?: number;
}

/** What an engine is made of that is opened before it. */
export interface EngineParts {
  readonly folder: DataFolder;
  readonly disk: DiskSpace;
  readonly catalog: Catalog;
  readonly shares: SharedStores;
  readonly largeWrites: TurnLock;
  readonly archive: Archive | null;
  /** With a database; else `null`. */
  readonly logs: CollectionLogs | null;
  /** As `logs`. */
  readonly others: OthersCatalog | null;
  /** With a database and an object store; else `null`. */
  readonly published: PublishedIndexes | null;
  /** On an index node; else `null`. */
  readonly jobs: PostgresIndexJobs | null;
  /** After what uses them. */
  readonly close: () => Promise<void>;
}
