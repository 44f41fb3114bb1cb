/** Opens collections: the files of one joined with what the catalog knows of it and with what all of them share. */
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { takeSlice } from "@sheaf/process";
import { type CancelSignal, type CollectionRef, SheafError, partitionsOf } from "@sheaf/protocol";
import { isGone } from "../catalog/collection-entries.ts";
import type { Archive, Archiving } from "../archive/archive.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { CollectionEntry } from "../catalog/catalog-codec.ts";
import type { EngineLog } from "../engine-log.ts";
import type { RowReader } from "../storage/files/row-reader.ts";
import type { IndexMemory } from "../storage/files/index-memory.ts";
import type { DocumentMemory } from "../index/document-memory.ts";
import type { ScanPool } from "../index/scan-pool.ts";
import type { Partition } from "../query/partitioned/partition.ts";
import type { RegexPool } from "../query/regex/regex-pool.ts";
import type { StageTimes } from "../query/stage-times.ts";
import { CorruptDataError } from "../storage/corrupt-data-error.ts";
import { FolderFiles } from "../storage/files/folder-files.ts";
import { type DataFolder, collectionName } from "../storage/folder/data-folder.ts";
import type { DiskSpace } from "../storage/folder/disk-space.ts";
import { replaceStore } from "../storage/folder/replace-store.ts";
import type { EntrySource } from "../storage/lmdb/entry-space.ts";
import { LmdbRecordStore } from "../storage/lmdb/lmdb-record-store.ts";
import { ownEnvironment } from "../storage/lmdb/own-environment.ts";
import type { SharedStores } from "../storage/lmdb/shared-stores.ts";
import { isSharedName, sharedName } from "../storage/folder/shared-names.ts";
import { collectionOf, partitionIn } from "../storage/folder/partition-name.ts";
import type { StoreHead } from "../storage/record-store.ts";
import type { StoreCounts } from "../storage/values/value-codec.ts";
import type { TurnLock } from "../storage/turn-lock.ts";
import type { HistoryMemory } from "../storage/version-history.ts";
import type { IndexSettings } from "./open-collection-options.ts";
import { type DamageMemory, DamagedCollections } from "./damage/damaged-collections.ts";
import { QuotaStore } from "./quota-store.ts";
import { SegmentDamaged, SegmentMissing } from "../storage/files/segment-damaged.ts";
import type { WriteElsewhere } from "../index/files/segment-sealer.ts";
import type { IndexerChild } from "../indexing/indexer-child.ts";
import type { KeptIndexFiles } from "./index-keeper.ts";
import type { CollectionLogs } from "./logged/collection-logs.ts";
import { type AskRecords, type OpenedRecords, copyNothing, openRecords } from "./opening/open-records.ts";
import { lineageOf } from "./lineage.ts";
import type { PublishedIndexes } from "../publication/published-indexes.ts";
import { OpenCollection } from "./open-collection.ts";
import type { PooledOpening } from "./collection-pool.ts";
import { SHARE_LIMITS, type ShareLimits, StoreMover } from "./store-mover.ts";
import { requireCaughtUp } from "./require-caught-up.ts";
import type { CollectionUsage, TenantBudget, TenantBudgets } from "./tenant-quotas.ts";

/** What must not be opened, and the words for it. */
export interface QuarantinedStore {
  /** Id of a collection, or path inside the data folder of an environment that collections share. */
  readonly store: string;
  /** `null`, of such an environment only: it is being checked. */
  readonly reason: string | null;
}

/** Of whoever watches over the process: the gateway. */
export interface CollectionListeners extends DamageMemory {
  /** Known before. */
  readonly quarantined?: readonly QuarantinedStore[];
  /** Told before LMDB reads a store for something that is no call on it, and after; named as `QuarantinedStore` does. */
  readonly onTouch?: (store: string, touching: boolean) => void;
}

/** Where records of a collection are. */
export type StorePlace = Pick<CollectionEntry, "id" | "shared">;

interface CollectionOpenerOptions {
  readonly catalog: Catalog;
  readonly folder: DataFolder;
  readonly disk: DiskSpace;
  readonly shares: SharedStores;
  readonly archive: Archive | null;
  /** Beyond which a collection has an environment of its own; the default where it is left out. */
  readonly shareLimits?: ShareLimits | null | undefined;
  /** A collection has left something behind in a shared environment. */
  readonly onLeft: () => void;
  readonly largeWrites: TurnLock;
  /** Where other servers keep the same collections; else `null`. */
  readonly logs: CollectionLogs | null;
  /** As `RecordPlaces` has it. */
  readonly askRecords: AskRecords | null;
  /** Where they find indexes of each other; else `null`. */
  readonly published: PublishedIndexes | null;
  readonly scanPool: ScanPool;
  readonly regexPool: RegexPool;
  readonly rowReader: RowReader;
  readonly documents: DocumentMemory;
  readonly indexMemory: IndexMemory;
  readonly historyMemory: HistoryMemory;
  readonly index: IndexSettings;
  readonly indexer: IndexerChild;
  readonly listeners: CollectionListeners;
  readonly log: EngineLog;
  /** Told of what a collection goes on with: checkpoints that failed, records that cannot be read. */
  readonly onProblem: (error: unknown, collection: string) => void;
}

export interface OpeningContext extends PooledOpening {
  readonly budgets: TenantBudgets;
  /** As it is in this process, for the reads of one call. */
  readonly partition: (ref: CollectionRef, partition: number, times: StageTimes) => Partition;
}

export class CollectionOpener {
  readonly damaged: DamagedCollections;
  readonly #options: CollectionOpenerOptions;
  #damagedFiles = 0;
  #quarantined: ReadonlyMap<string, string | null> = new Map();

  constructor(options: CollectionOpenerOptions) {
    this.#options = options;
    this.damaged = new DamagedCollections(options.log, options.listeners, options.logs !== null);
    this.setQuarantined(options.listeners.quarantined ?? []);
  }

  /** Index files that were found damaged and set aside, since the engine started. */
  get damagedFiles(): number {
    return this.#damagedFiles;
  }

  /** Of shared environments that are open. */
  get sharedBytes(): number {
    return this.#options.shares.bytes;
  }

  get indexMemory(): IndexMemory {
    return this.#options.indexMemory;
  }

  /** From now on these are not opened, and no others. Gives those that were among them and are no longer. */
  setQuarantined(stores: readonly QuarantinedStore[]): readonly string[] {
    for (const { store } of stores) if (!isSharedName(store)) this.damaged.add(store);
    const before = this.#quarantined;
    this.#quarantined = new Map(stores.map(({ store, reason }) => [store, reason]));
    this.#options.shares.setQuarantined(this.#quarantined);
    const released = [...before].filter(([store, why]) => why !== null && !this.#quarantined.has(store));
    const collections = released.flatMap(([store]) =>
      isSharedName(store) ? this.#damagedIn(store) : [store],
    );
    for (const id of collections) this.damaged.remove(id);
    return collections;
  }

  #damagedIn(shared: string): readonly string[] {
    const { folder } = this.#options;
    return this.damaged.ids.filter((id) => sharedName(id) === shared && folder.collectionBytes(id) === 0);
  }

  /** The records alone; they may be open already. */
  async openStore(id: string): Promise<LmdbRecordStore> {
    return this.openStoreAt(await this.#options.catalog.entry(id));
  }

  /** Where the catalog says, or will say, that it is. `owner`: the tenant that writes there. */
  openStoreAt({ id, shared }: StorePlace, owner?: string): LmdbRecordStore {
    const reason = this.#quarantined.get(id);
    if (reason != null) throw new SheafError("collection_unavailable", reason);
    if (shared) return new LmdbRecordStore(this.#options.shares.source(id, collectionName(id)));
    return new LmdbRecordStore(this.#ownEnvironment(id, owner));
  }

  #ownEnvironment(id: string, owner?: string): EntrySource {
    const { folder, disk, largeWrites: turns } = this.#options;
    const largeWrites = owner === undefined ? undefined : { turns, owner };
    return ownEnvironment({ folder: folder.collection(id), name: collectionName(id), disk, largeWrites });
  }

  /**
   * A collection, or a partition of one as if it were all of it. One in partitions has its records here as a whole for those who
   * write, and no index. 404 once the collection is gone.
   */
  async open(
    id: string,
    { budgets, progress, needs, partition }: OpeningContext,
    dropped: CancelSignal,
  ): Promise<OpenCollection> {
    const { catalog, scanPool, regexPool, rowReader, indexMemory, historyMemory } = this.#options;
    const { checkpoints } = catalog;
    const isPartition = partitionIn(id) !== null;
    const known = placeOf(await catalog.entry(collectionOf(id)), id);
    const partitions = partitionsOf(known.schema);
    const isDivided = !isPartition && partitions > 1;
    const budget = await budgets.of(known.tenant);
    // A write is a call on it, and opening a small collection is over before that is.
    const isTold = needs === "records" && known.shared;
    return this.#touching(isTold ? null : id, async () => {
      const indexFiles = isDivided ? undefined : await this.#indexFiles(known);
      // Each takes milliseconds, and one caller may have hundreds of them opened at a time.
      await takeSlice(known.tenant);
      const { stored, logged } = await this.#openRecords(known);
      if (logged !== undefined) indexFiles?.published?.follow(() => logged.position);
      const store = logged ?? (budget === null ? stored! : new QuotaStore(id, stored!, budget));
      try {
        await takeSlice(known.tenant);
        // What a log holds is all there is. What the catalog says may be of before the database was set back.
        if (logged === undefined) requireCaughtUp(store.head, known, collectionName(id));
        const copyTo = stored?.copyTo.bind(stored) ?? copyNothing;
        const common = { store, logged, copyTo, schema: known.schema, scanPool };
        const usedBytes = (): number => logged?.kept?.bytes ?? stored?.usedBytes ?? 0;
        const storedRecords = (): number => stored?.size ?? logged?.kept?.records ?? 0;
        const mover = known.shared ? this.#moverOf(known, stored!, budget) : undefined;
        const tells = this.#options.logs?.changesNothing !== true;
        const counts = tells && !isPartition;
        const dirty = counts && ((await checkpoints.isDirty(id)) || differs(store.head, known));
        // What is counted by the catalog was archived before.
        if (dirty) this.#options.archive?.catchUp(id, store, known.logPosition);
        const options = {
          ...{ ...common, mover, usedBytes, storedRecords },
          progress,
          archive: this.#archiveOf(id),
          log: (message: string) => this.#options.log({ level: "info", message, collection: id }),
          indexFiles: indexFiles && { ...indexFiles, writeElsewhere: this.#writeElsewhere(known, stored!) },
          indexSizes: this.#options.index.sizes,
          tenant: known.tenant,
          regexes: regexPool.forTenant(known.tenant),
          documents: this.#options.documents,
          ...{ indexMemory, rowReader, historyMemory },
          ...{ isPartition, dirty, tells },
          ...(isDivided && { divided: { partitions, partition: partition.bind(null, known) } }),
          advance: checkpoints.advance.bind(checkpoints, collectionOf(id)),
          markDirty: checkpoints.markDirty.bind(checkpoints, id),
          onProblem: (error: unknown) => this.#hearProblem(error, id),
          onWhole: () => this.damaged.remove(id),
        };
        const isIndexedLater = needs === "records" && !dirty && this.#isSmall(known, stored!);
        return await OpenCollection.open(options, dropped, isIndexedLater);
      } catch (error) {
        await Promise.all([indexFiles?.files.close(), store.close()]);
        throw error;
      }
    });
  }

  /** Nothing is lost by leaving its index for later. Throws where entries of its records are missing. */
  #isSmall({ id, shared }: CollectionEntry, stored: LmdbRecordStore): boolean {
    // Files of an index have to be kept up with what is written.
    const { folder } = this.#options;
    if (!shared || this.damaged.isKnown(id) || existsSync(folder.collectionIndex(id))) return false;
    stored.requireWhole();
    return true;
  }

  #openRecords(known: CollectionEntry): Promise<OpenedRecords> {
    const onProblem = (error: unknown): void => this.#options.onProblem(error, known.id);
    return openRecords(known, {
      ...this.#options,
      open: () => this.openStoreAt(known, known.tenant),
      onProblem,
    });
  }

  /** Files that nobody keeps up with the records are removed: they would be wrong some day. */
  async #indexFiles(known: CollectionEntry): Promise<KeptIndexFiles | undefined> {
    const [files, lineage] = [this.filesOf(known.id), lineageOf(known)];
    const published = files && (await this.#options.published?.of({ id: known.id, lineage, folder: files }));
    if (files !== null)
      return { files: published?.files ?? files, lineage, published: published ?? undefined };
    const path = this.#options.folder.collectionIndex(known.id);
    if (existsSync(path)) await rm(path, { recursive: true, force: true });
    return undefined;
  }

  #archiveOf(id: string): { readonly begin: () => Archiving } | undefined {
    const { archive } = this.#options;
    return archive === null ? undefined : { begin: () => archive.begin(id) };
  }

  #moverOf({ id, tenant }: CollectionEntry, store: LmdbRecordStore, budget: TenantBudget | null): StoreMover {
    const { catalog, folder, shareLimits, onLeft } = this.#options;
    return new StoreMover({
      ...{ id, store, folder, budget, onLeft, limits: shareLimits ?? SHARE_LIMITS },
      own: () => this.#ownEnvironment(id, tenant),
      leave: () => catalog.shares.leave(id),
    });
  }

  /** Once the store has an environment of its own, where there may be many rows. */
  #writeElsewhere({ tenant, id }: CollectionEntry, stored: LmdbRecordStore): WriteElsewhere | undefined {
    const { folder, index, indexer } = this.#options;
    if (index.indexer !== true) return undefined;
    const places = {
      records: folder.collection(id),
      index: folder.collectionIndex(id),
      name: collectionName(id),
    };
    const seal: WriteElsewhere = async (work, signal) => {
      try {
        return await indexer.seal({ ...work, ...places }, { tenant, signal });
      } catch (error) {
        stored.forgetDeadReaders();
        throw error;
      }
    };
    return (work, signal) => (stored.isShared ? null : seal(work, signal));
  }

  /** Those of a collection's index; `null`: they are not kept. */
  filesOf(id: string): FolderFiles | null {
    const { folder, disk, index } = this.#options;
    return index.files !== false ? new FolderFiles(folder.collectionIndex(id), disk) : null;
  }

  /** Copies the store without its free pages, where bytes of deleted records stay. The collection has to be closed. */
  async compactStore(id: string): Promise<void> {
    const { folder } = this.#options;
    const copy = folder.newTrash();
    try {
      await this.#touching(id, () => this.#copyStore(id, copy));
      replaceStore(copy, folder.collection(id));
    } finally {
      await rm(copy, { recursive: true, force: true });
    }
  }

  /**
   * Copies records that have an environment of their own into the collection's share of one, which is empty and was announced;
   * `null`: there are more than `most`. The collection has to be closed. Throws what an opening would.
   */
  copyToShare(entry: CollectionEntry, most: ShareLimits): Promise<StoreCounts | null> {
    const [name, { shares }] = [collectionName(entry.id), this.#options];
    const copy = async (): Promise<StoreCounts | null> => {
      const store = this.openStoreAt(entry);
      try {
        requireCaughtUp(store.head, entry, name);
        return await store.copyAsShare(shares.source(entry.id, name), most);
      } finally {
        await store.close();
      }
    };
    return this.#touching(entry.id, () => shares.touching(sharedName(entry.id), copy));
  }

  /** What operations up to this one changed is not known any more. The collection has to be closed. */
  async forget(id: string, upTo: number): Promise<void> {
    const store = await this.openStore(id);
    try {
      await store.forgetUpTo(upTo);
    } finally {
      await store.close();
    }
  }

  async #copyStore(id: string, to: string): Promise<void> {
    const store = await this.openStore(id);
    try {
      await store.copyTo(to);
    } finally {
      await store.close();
    }
  }

  #hearProblem(error: unknown, id: string): void {
    if (error instanceof SegmentDamaged && !(error instanceof SegmentMissing)) this.#damagedFiles++;
    if (error instanceof CorruptDataError) this.damaged.hear(error, id);
    else this.#options.onProblem(error, id);
  }

  /** What a collection takes of its tenant's quotas; of a damaged one only the size of its file is known. */
  async measure(id: string): Promise<CollectionUsage> {
    try {
      return await this.#touching(id, () => this.#measure(id));
    } catch (error) {
      // Dropped meanwhile, which is no problem.
      if (!isGone(error)) this.#options.onProblem(error, id);
      return { records: 0, bytes: this.#options.folder.collectionBytes(id) };
    }
  }

  async #measure(id: string): Promise<CollectionUsage> {
    const store = await this.openStore(id);
    try {
      return { records: store.size, bytes: store.usedBytes };
    } finally {
      await store.close();
    }
  }

  async #touching<T>(id: string | null, work: () => Promise<T>): Promise<T> {
    if (id !== null) this.#options.listeners.onTouch?.(id, true);
    try {
      return await work();
    } finally {
      if (id !== null) this.#options.listeners.onTouch?.(id, false);
    }
  }
}

/** A partition has a place of its own, and the history of its collection. */
function placeOf(known: CollectionEntry, id: string): CollectionEntry {
  return known.id === id ? known : { ...known, id, epoch: known.epoch || known.id };
}

/** A write and its mark in the catalog are two commits: a process may die with the first done and the second not. */
function differs(head: StoreHead, { logPosition, dimension }: CollectionEntry): boolean {
  return head.sequence !== logPosition || head.dimension !== dimension;
}
