/** What an engine in a process of its own is told at its start. */
import type { ArchiveSettings } from "../archive/archive.ts";
import type { CatalogReport } from "../catalog/catalog-watch.ts";
import type { IndexSettings } from "../collection/open-collection-options.ts";
import type { ShareLimits } from "../collection/store-mover.ts";
import type { TenantQuotas } from "../collection/tenant-quotas.ts";
import type { EngineLog } from "../engine-log.ts";
import type { EngineDatabase, EngineObjects } from "../local-engine-options.ts";
import type { DiskReserve } from "../storage/folder/disk-space.ts";

/** The nodes that other servers call, as a search node finds them. */
export interface ClusterNodes {
  /** One, or two while one takes the place of the other. */
  readonly secrets: readonly string[];
  /** As of `ClusterEngineOptions`. */
  readonly readReplicas: number;
}

export interface HostedEngineOptions {
  readonly dataFolder: string;
  readonly log?: EngineLog;
  /** Called at every unexpected end of the engine host. */
  readonly onHostDeath?: () => void;
  /** Told several times a second of a catalog that other servers change. */
  readonly onCatalog?: (report: CatalogReport) => void;
  /** What each tenant may keep; by default anything. */
  readonly quotas?: TenantQuotas;
  /** Bytes that the indexes of all collections may keep in memory; by default any. */
  readonly indexMemory?: number;
  /** Bytes that rows may take which are in no index file yet; the default where it is left out. */
  readonly unsealedMemory?: number;
  /** Until bytes of deleted records have left the files; by default they may stay. */
  readonly purgeAfterMs?: number;
  readonly index?: IndexSettings;
  /** Has everything that is written go to an archive too; by default there is none. */
  readonly archive?: ArchiveSettings;
  /** Keeps catalog and records, for other servers too. */
  readonly database?: EngineDatabase;
  /** Collections in partitions are written without their records, which these nodes are asked for; by default they are kept. */
  readonly cluster?: ClusterNodes;
  /** Keeps index files, for other servers too. */
  readonly objects?: EngineObjects;
  /** New collections share environments while they hold no more than this; `null`: each has one of its own. */
  readonly shareStores?: ShareLimits | null;
  /** To keep free on the data folder's disk; by default 32 MiB. */
  readonly diskReserve?: DiskReserve;
  /** An engine host that comes round to nothing for so long is started again; by default after two minutes. */
  readonly hangAfterMs?: number;
}
