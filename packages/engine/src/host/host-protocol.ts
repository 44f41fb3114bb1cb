/** What gateway and engine host say to each other beside the frames: the methods of the engine by name. */
import type { ArchiveSettings } from "../archive/archive.ts";
import type { QuarantinedStore } from "../collection/collection-opener.ts";
import type { IndexSettings } from "../collection/open-collection-options.ts";
import type { ShareLimits } from "../collection/store-mover.ts";
import type { TenantQuotas } from "../collection/tenant-quotas.ts";
import type { EngineDatabase, EngineObjects } from "../local-engine-options.ts";
import type { LocalEngine } from "../local-engine.ts";
import type { ClusterNodes } from "./hosted-engine-options.ts";
import type { DiskReserve } from "../storage/folder/disk-space.ts";

export type ObjectSecret = "accessKeyId" | "secretAccessKey" | "sessionToken";

/** `process.argv[2]` of an engine host, as JSON. */
export interface HostArguments {
  readonly dataFolder: string;
  readonly lockToken: string;
  readonly quotas: TenantQuotas;
  /** Bytes; any where it is left out. */
  readonly indexMemory?: number;
  /** Bytes; the default where it is left out. */
  readonly unsealedMemory?: number;
  /** They may stay where it is left out. */
  readonly purgeAfterMs?: number;
  readonly index?: IndexSettings;
  readonly archive?: ArchiveSettings;
  /** The password is in the environment: others can read arguments. */
  readonly database?: Omit<EngineDatabase, "password">;
  /** So are its keys. */
  readonly objects?: Omit<EngineObjects, ObjectSecret>;
  /** Where other nodes are asked for records; the secret of the cluster is in the environment. */
  readonly cluster?: Omit<ClusterNodes, "secrets">;
  /** As `LocalEngineOptions` has it. */
  readonly shareStores?: ShareLimits | null;
  /** To keep free on the data folder's disk; the default where it is left out. */
  readonly diskReserve?: DiskReserve;
  /** Collections that hosts before found damaged. */
  readonly damaged: readonly string[];
  /** What must not be opened. */
  readonly quarantined: readonly QuarantinedStore[];
}

/** Event `damage`: a collection was found damaged, or it is whole again or gone. */
export interface DamageEvent {
  readonly collection: string;
  readonly isDamaged: boolean;
}

/** Event `touch`: the host begins, or ends, to read a store, named as `QuarantinedStore` does, that no call need be on. */
export interface TouchEvent {
  readonly store: string;
  readonly touching: boolean;
}

/** Methods of `LocalEngine` that a gateway may call; `close` is the end of the socket. */
export type HostMethod = Exclude<keyof LocalEngine, "close">;

const METHODS = {
  createTenant: true,
  getTenant: false,
  listTenants: false,
  updateTenant: true,
  resolveTenant: false,
  deleteTenant: true,
  createDatabase: true,
  getDatabase: false,
  listDatabases: false,
  deleteDatabase: true,
  createCollection: true,
  getCollection: false,
  getCollectionByName: false,
  listCollections: false,
  countCollections: false,
  collectionUsage: false,
  updateCollection: true,
  rememberModels: false,
  acceptModels: false,
  deleteCollection: true,
  listKeys: false,
  findKeys: false,
  createKey: true,
  rotateKey: true,
  deleteKey: true,
  recordActivity: false,
  listTokenUsage: false,
  statistics: false,
  makeBackup: true,
  backupProgress: false,
  reset: true,
  forkCollection: true,
  forkCount: false,
  readToken: false,
  commit: true,
  write: true,
  writeAsGiven: true,
  delete: true,
  get: true,
  query: true,
  search: true,
  nextBatch: true,
  closeRead: false,
  count: true,
  facets: true,
  indexingStatus: false,
  beginPartition: true,
  recordsOf: true,
  askPartition: true,
  deleteSelected: true,
  dirtyCollections: false,
  setQuarantined: false,
  revive: false,
} as const satisfies Record<HostMethod, boolean>;

export const HOST_METHODS: ReadonlySet<HostMethod> = new Set(Object.keys(METHODS) as HostMethod[]);

/** Its last argument is `{signal}`, which travels as a cancellation. */
export function isSignalled(method: HostMethod): boolean {
  return METHODS[method];
}
