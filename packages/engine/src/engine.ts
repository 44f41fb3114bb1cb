/**
 * The engine as one asynchronous interface of plain messages (frozen objects, typed arrays, maps): `LocalEngine`
 * implements it in process, `HostedEngine` as a proxy to the engine host. One behaviour suite runs on both.
 * Every method throws `SheafError`; after an abort nothing more is done than what is already durable.
 */
import type {
  CancelSignal,
  ApiKey,
  Collection,
  CollectionModels,
  CollectionRef,
  CommitRequest,
  CommitResult,
  CreateCollection,
  Database,
  DeleteRequest,
  Explained,
  Facet,
  FacetsRequest,
  GetRequest,
  ModelIdentity,
  QueryRequest,
  ReadToken,
  ResultRecord,
  SearchRequest,
  Selector,
  Tenant,
  UpdateCollection,
  WriteRequest,
} from "@sheaf/protocol";
import type { BackupProgress, BackupRequest, MadeBackup } from "./backup/make-backup.ts";
import type { BegunPartition, PartitionAsk } from "./collection/partitions/asked-partition.ts";
import type { PartitionQuestion, SelectedIds } from "./query/partitioned/partition.ts";
import type { RecordsAnswer, RecordsQuestion } from "./storage/log/asked/records-question.ts";
import type { SelectedRecords } from "./query/partitioned/read-partitions.ts";

export interface EngineOptions {
  readonly signal?: CancelSignal | undefined;
  /** Told where the time of the call went, before it settles; not after an abort. */
  onReport?(report: CallReport): void;
  /** Told that the call has done what takes several cores, and will settle soon. */
  onNear?(): void;
  /** Called where the call settles by an abort while it is worked on; what it gives is called when that has ended. */
  keep?(): () => void;
}

/** What a call goes through: waiting for its collection, then the stages of a read. */
export type CallStage =
  | "open"
  | "filter"
  | "dense"
  | "sparse"
  | "rank"
  | "mmr"
  | "group"
  | "sort"
  | "facets"
  | "select";

export interface CallReport {
  /** Milliseconds. */
  readonly stages: { readonly [stage in CallStage]?: number };
  /** Rows that its dense searches compared. */
  readonly rowsScanned: number;
}

export interface ListPage {
  readonly limit: number | null;
  readonly offset: number;
  /** `next` of a batch before, behind which `limit` and `offset` count; what it was made of may be gone. */
  readonly after?: string;
}

/** Part of a list, of some 256 KiB or one entry beyond. */
export interface ListBatch<T> {
  readonly items: readonly T[];
  /** For `after`; `null`: there is no more. Where there are as many as were asked for, there may be none behind it. */
  readonly next: string | null;
}

export interface DatabaseRef {
  readonly tenant: string;
  readonly database: string;
}

export interface CollectionName extends DatabaseRef {
  readonly name: string;
}

/** Where `onlyId` is given, what has the name by now under another id stays, and that is a 404. */
export type ToDelete<T extends DatabaseRef> = T & { readonly onlyId?: string };

/**
 * Records of a read: those of consecutive lists, of which the last may go on in the next batch. Together the batches
 * have every list. A batch is about a MiB, or one record beyond; the first of a read is never larger.
 */
export interface ResultBatch {
  /** Number of the read's list that `lists` begins with. */
  readonly first: number;
  readonly lists: readonly (readonly ResultRecord[])[];
  /** For `nextBatch`; `null`: there is no more. */
  readonly cursor: number | null;
  /** Of the first batch: about as many bytes as the documents behind the cursor have at least. */
  readonly leastBytes?: number;
  /** Of the first batch of searches any of which is to be explained; `null` for those that did not ask. */
  readonly explained?: readonly (Explained | null)[];
}

export interface IndexingStatus {
  readonly totalOperations: number;
  readonly indexedOperations: number;
}

/** What a collection held when the catalog was told last, within a second of its newest write. */
export interface HeldRecords {
  readonly records: number;
  readonly bytes: number;
  /** Milliseconds since 1970 of its newest write; `null`: there was none. After a crash, of its next opening. */
  readonly writtenAt: number | null;
}

export interface CollectionUsage extends IndexingStatus {
  readonly id: string;
  readonly name: string;
  readonly dimension: number | null;
  /** `null`: not written to since a version that kept no account. */
  readonly held: HeldRecords | null;
}

/** A key as it is kept: the hexadecimal SHA-256 of it, never the key. */
export interface StoredKey extends ApiKey {
  readonly digest: string;
}

/** What a rotation changes: the new key, and when the old one ends. */
export interface KeyReplacement extends Pick<StoredKey, "id" | "digest" | "created"> {
  /** `undefined`: as the old one. */
  readonly expires: number | undefined;
  readonly oldExpires: number;
}

export interface TokenUsage {
  readonly tenant: string;
  /** `2030-01-31`, UTC. */
  readonly day: string;
  readonly tokens: number;
}

/** What the engine looks like from outside, for metrics. */
export interface EngineStatistics {
  readonly collections: number;
  readonly openCollections: number;
  /** Of the catalog's file. */
  readonly catalogBytes: number;
  /** Of the files of the open collections. */
  readonly openCollectionBytes: number;
  readonly openingCollections: number;
  /** Rows of open collections that are in no sealed segment. */
  readonly unsealedRows: number;
  /** Most operations that the next opening of a collection that is open would replay. */
  readonly longestReplay: number;
  /** Since the oldest of the newest manifests that the engine wrote for open collections. */
  readonly oldestManifestSeconds: number;
  /** Collections whose stored data was found damaged, and not found whole since. */
  readonly damagedCollections: number;
  /** Index files that were found damaged, since the engine started. */
  readonly damagedIndexFiles: number;
  /** Of the newest entry of the archive that is on disk; 0 without one, as are the others. */
  readonly archivePosition: number;
  /** For how long the oldest entry that is not on disk has been waiting. */
  readonly archiveLagSeconds: number;
  readonly archiveBytes: number;
  /** 1 while the archive cannot be written. */
  readonly archiveFailing: number;
  /** 1 until a backup of all tenants is made that the archive goes on from: until then it leads nowhere. */
  readonly archiveBackupMissing: number;
  /** Appends to logs of a database, since the engine started; 0 without one, as are the others… */
  readonly databaseAppends: number;
  /** … how long they took together, with the wait for a standby… */
  readonly databaseAppendSeconds: number;
  /** … those that other servers were faster than, and those that were not answered. */
  readonly databaseMoved: number;
  readonly databaseUnknown: number;
  /** Callers that wait for a connection now, and that had to, since the engine started. */
  readonly databaseWaiting: number;
  readonly databaseWaits: number;
  /** Since the moment of which the state of the catalog is known. */
  readonly databaseCatalogSeconds: number;
  /** Bytes of the longest log of an open collection. */
  readonly databaseLongestLog: number;
  /** For how long a checkpoint of an open collection has been due and is not written. */
  readonly databaseCheckpointDueSeconds: number;
  /** Of an index node: jobs that it has done, and that failed, since the engine started. */
  readonly databaseIndexJobs: number;
  readonly databaseIndexJobsFailed: number;
  /** 1: publications and checkpoints are left to index nodes. */
  readonly databaseLeftToIndexNodes: number;
  /** 1: the object store has refused the request that ended last, or has not answered it. */
  readonly databaseObjectsFailing: number;
  /** What indexes keep in memory of vectors, of codes, of copies of codes that filters use, and of other parts of files. */
  readonly indexVectorBytes: number;
  readonly indexCodeBytes: number;
  readonly indexCopyBytes: number;
  readonly indexPartBytes: number;
  /** Of rows that are in no sealed segment yet. */
  readonly indexUnsealedBytes: number;
  /** Parts of index files that were read, since the engine started… */
  readonly indexPartReads: number;
  /** … and that made room for others. */
  readonly indexPartEvictions: number;
  /** Rows whose vectors dense searches compared, since the engine started. */
  readonly rowsScanned: number;
  /** Calls on collections that are under way. */
  readonly runningCalls: number;
  /** Reads that wait for somebody to ask for their next batch. */
  readonly openReads: number;
  /** Requests that wait for a thread that runs regular expressions. */
  readonly waitingRegexRequests: number;
  /** Such threads that were ended because their request was over and they were not, since the engine started. */
  readonly endedRegexThreads: number;
}

/** What the gateway counts and hands over now and then. */
export interface Activity {
  readonly lastUsed: readonly { readonly id: string; readonly at: number }[];
  /** Each replaces what was there of its tenant. */
  readonly tokens: readonly TokenUsage[];
}

/** As `Partition.begin` has them: large ones go by themselves. */
export type AskedOfPartition = readonly [
  question: PartitionQuestion,
  ids: SelectedIds,
  options?: EngineOptions,
];

export interface Engine {
  createTenant(name: string, options?: EngineOptions): Promise<void>;
  getTenant(name: string): Promise<Tenant>;
  /** By name, ascending. */
  listTenants(page: ListPage): Promise<ListBatch<Tenant>>;
  /** 409 if another tenant has the resource name. */
  updateTenant(name: string, resourceName: string, options?: EngineOptions): Promise<void>;
  /** Name of the tenant with this resource name, else of the one with this name; `null`: neither. */
  resolveTenant(resourceName: string): Promise<string | null>;
  /** Removes its databases and their collections too. */
  deleteTenant(name: string, options?: EngineOptions): Promise<void>;

  createDatabase(ref: DatabaseRef, options?: EngineOptions): Promise<void>;
  getDatabase(ref: DatabaseRef): Promise<Database>;
  /** By name, ascending. */
  listDatabases(tenant: string, page: ListPage): Promise<ListBatch<Database>>;
  deleteDatabase(ref: ToDelete<DatabaseRef>, options?: EngineOptions): Promise<void>;

  /** Nothing is made after an abort. */
  createCollection(request: CreateCollection, options?: EngineOptions): Promise<Collection>;
  getCollection(ref: CollectionRef): Promise<Collection>;
  getCollectionByName(name: CollectionName): Promise<Collection>;
  /** In order of creation. */
  listCollections(ref: DatabaseRef, page: ListPage): Promise<ListBatch<Collection>>;
  countCollections(ref: DatabaseRef): Promise<number>;
  /** In the order of `listCollections`; opens none of them. */
  collectionUsage(ref: DatabaseRef, page: ListPage): Promise<ListBatch<CollectionUsage>>;
  updateCollection(ref: CollectionRef, change: UpdateCollection, options?: EngineOptions): Promise<void>;
  /**
   * Remembers the models that vectors of the collection are about to be made with, and gives all that it remembers.
   * What is known of a model already stays as it is, so of two writers that come first at once, one finds the other's.
   */
  rememberModels(ref: CollectionRef, models: readonly ModelIdentity[]): Promise<CollectionModels>;
  /** The same, but what is known of a model already is replaced. */
  acceptModels(ref: CollectionRef, models: readonly ModelIdentity[]): Promise<CollectionModels>;
  deleteCollection(name: ToDelete<CollectionName>, options?: EngineOptions): Promise<void>;
  /**
   * A new collection like this one, with its records as they are at one moment; readers and writers go on meanwhile.
   * 409 for a name that is taken, 422 for a fork too many. Nothing is made after an abort.
   */
  forkCollection(ref: CollectionRef, newName: string, options?: EngineOptions): Promise<Collection>;
  /** Forks ever made in the whole tree of forks that the collection belongs to. */
  forkCount(ref: CollectionRef): Promise<number>;
  /** The oldest first; never to be shown with their digests. */
  listKeys(page: ListPage): Promise<ListBatch<StoredKey>>;
  /** One for each digest, in their order; `null`: no key has it. For some hundred digests at most. */
  findKeys(digests: readonly string[]): Promise<readonly (StoredKey | null)[]>;
  createKey(key: StoredKey, options?: EngineOptions): Promise<void>;
  /** The new key: the old one under another id and digest. */
  rotateKey(id: string, replacement: KeyReplacement, options?: EngineOptions): Promise<StoredKey>;
  deleteKey(id: string, options?: EngineOptions): Promise<void>;
  recordActivity(activity: Activity): Promise<void>;
  listTokenUsage(): Promise<readonly TokenUsage[]>;
  statistics(): Promise<EngineStatistics>;

  /** Copies catalog, records and indexes as they are now to a folder; as `BackupMaker.make` refuses. One at a time. */
  makeBackup(request: BackupRequest, options?: EngineOptions): Promise<MadeBackup>;
  /** `null`: none is being made. */
  backupProgress(): Promise<BackupProgress | null>;

  /** Removes everything and makes `default_tenant` and `default_database` again. */
  reset(options?: EngineOptions): Promise<void>;

  /** Durable when it resolves, whole or not at all; the next read sees it. */
  write(ref: CollectionRef, request: WriteRequest, options?: EngineOptions): Promise<void>;
  /**
   * `write` for a caller that has not looked at the schema, of records that lack no dense vector. `false`: nothing was
   * written, for the schema has sparse vectors or chunks made of records.
   */
  writeAsGiven(ref: CollectionRef, request: WriteRequest, options?: EngineOptions): Promise<boolean>;
  /** How many records really existed and are gone. */
  delete(ref: CollectionRef, request: DeleteRequest, options?: EngineOptions): Promise<number>;
  /** Names the newest state; a read that comes after it sees that one or a later one. */
  readToken(ref: CollectionRef): Promise<ReadToken>;
  /**
   * 409 when a read id has changed since the token, 412 when the token is too old or of another collection or epoch;
   * then nothing is done.
   */
  commit(ref: CollectionRef, request: CommitRequest, options?: EngineOptions): Promise<CommitResult>;
  /**
   * One list, in insertion order. Like `query` and `search` it sees one state of the collection, in all batches. A read
   * with a cursor is gone on with soon, or closed.
   */
  get(ref: CollectionRef, request: GetRequest, options?: EngineOptions): Promise<ResultBatch>;
  /** One list per query vector, nearest first. */
  query(ref: CollectionRef, request: QueryRequest, options?: EngineOptions): Promise<ResultBatch>;
  /** One list per search; text queries must have been turned into vectors. */
  search(ref: CollectionRef, request: SearchRequest, options?: EngineOptions): Promise<ResultBatch>;
  /** 404 where the collection was deleted, 503 where the read cannot go on; it is closed then. */
  nextBatch(ref: CollectionRef, cursor: number, options?: EngineOptions): Promise<ResultBatch>;
  /** Ends a read that is not gone on with. */
  closeRead(cursor: number): Promise<void>;
  count(ref: CollectionRef, selector: Selector, options?: EngineOptions): Promise<number>;
  /** One for each key, in their order. */
  facets(ref: CollectionRef, request: FacetsRequest, options?: EngineOptions): Promise<readonly Facet[]>;
  indexingStatus(ref: CollectionRef): Promise<IndexingStatus>;
  /**
   * Begins a read of one partition of a collection (`Partition`), at its newest state or later. It is asked on with
   * `askPartition`, and closed with `closeRead`.
   */
  beginPartition(ref: CollectionRef, partition: number, ...asked: AskedOfPartition): Promise<BegunPartition>;
  /** Calls a method of such a read (`PartitionRead`). 503 where it has ended. */
  askPartition(
    ref: CollectionRef,
    ask: PartitionAsk,
    cursor: number,
    options?: EngineOptions,
  ): Promise<unknown>;
  /**
   * What a partition has of some records, for a server that writes the collection without having them. 503 where they are not
   * here in time.
   */
  recordsOf(
    ref: CollectionRef,
    partition: number,
    question: RecordsQuestion,
    options?: EngineOptions,
  ): Promise<RecordsAnswer>;
  /** As `delete`, of what partitions have selected; `null`: the collection is at another state by now, nothing has changed. */
  deleteSelected(
    ref: CollectionRef,
    selected: SelectedRecords,
    options?: EngineOptions,
  ): Promise<number | null>;

  close(): Promise<void>;
}
