/** The steps of restoring a backup that write a data folder. They run in the backup process. */
import { randomUUID } from "node:crypto";
import { mkdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { SheafError } from "@sheaf/protocol";
import type { Replay } from "../archive/plan-replay.ts";
import { liveCollections, replayCatalog, replayRecords } from "../archive/replay-archive.ts";
import { tenantKey } from "../catalog/catalog-keys.ts";
import { keepTenant, removeKeys, renewEpochs, shareOnly } from "../catalog/catalog-selection.ts";
import { CatalogTransactions } from "../catalog/catalog-transactions.ts";
import type { DataOrigin } from "../storage/corrupt-data-error.ts";
import { FolderFiles } from "../storage/files/folder-files.ts";
import { installManifest, readManifest } from "../storage/files/manifest.ts";
import { DataFolder, collectionName } from "../storage/folder/data-folder.ts";
import { createDiskSpace } from "../storage/folder/disk-space.ts";
import { asShare, putIntoShare } from "../storage/lmdb/copy-share.ts";
import { LmdbCatalogStore } from "../storage/lmdb/lmdb-catalog-store.ts";
import { LmdbRecordStore } from "../storage/lmdb/lmdb-record-store.ts";
import { ownEnvironment } from "../storage/lmdb/own-environment.ts";
import { SharedStores } from "../storage/lmdb/shared-stores.ts";
import type { StoreParts } from "./backed-up-collections.ts";
import { restoreStore } from "./backed-up-store.ts";
import { whileRestoring } from "./naming-full-disk.ts";
import { storedEntries } from "./stored-entries.ts";
import { copyFile } from "./summed-file.ts";

export interface RestoredCollection {
  readonly id: string;
  /** It gets a share of an environment. */
  readonly isShared: boolean;
  readonly sequence: number;
  /** `null`: it has no records. */
  readonly store: StoreParts | null;
  /** Names and paths of the files of its index. */
  readonly index: readonly { readonly name: string; readonly path: string }[];
}

export interface RestoredCatalogStep {
  /** Of the backup. */
  readonly catalog: StoreParts;
  readonly dataFolder: string;
  /** The only one to be restored; `null`: all. */
  readonly tenant: string | null;
  /** With API keys. */
  readonly keys: boolean;
}

export interface RestoredCollectionsStep {
  readonly dataFolder: string;
  readonly collections: readonly RestoredCollection[];
}

export interface RestoredCatalog {
  /** There are collections that share environments. */
  readonly hasShares: boolean;
}

interface StagedCatalog {
  readonly catalog: LmdbCatalogStore;
  readonly staging: string;
}

interface Restored {
  readonly epoch: string;
  readonly sequence: number;
}

export interface ReplayStep extends RestoredCatalogStep {
  readonly replay: Replay;
  /** Ids of collections whose records are missing: what follows them is of no use. */
  readonly without: readonly string[];
}

export class RestoreSteps {
  readonly #restored = new Map<string, Restored>();
  /** Ids of those that got a share. */
  readonly #shared = new Set<string>();
  #shares: SharedStores | null = null;
  /** The catalog with the entries of an archive; `null`: there are none. */
  #replayed: StagedCatalog | null = null;

  /** Records and indexes of some; each gets a new past, which the catalog learns of in the end. */
  collections(step: RestoredCollectionsStep): Promise<void> {
    return whileRestoring(step.dataFolder, () => this.#collections(step));
  }

  async #collections({ dataFolder, collections }: RestoredCollectionsStep): Promise<void> {
    const folder = new DataFolder(dataFolder);
    const waiting: Promise<void>[] = [];
    for (const collection of collections) {
      const { id, isShared, sequence, store, index } = collection;
      const epoch = randomUUID();
      this.#restored.set(id, { epoch, sequence });
      if (store === null) continue;
      if (isShared) {
        const restored = this.#restoreShare(folder, id, store);
        // It is waited for below.
        restored.catch(() => undefined);
        waiting.push(restored);
      } else await restoreStore(store, folder.collection(id), collectionName(id));
      if (index.length > 0) await restoreIndex(folder.collectionIndex(id), index, epoch);
    }
    await Promise.all(waiting);
  }

  /** Those of one batch share commits. */
  async #restoreShare(folder: DataFolder, id: string, store: StoreParts): Promise<void> {
    const share = this.#sharesOf(folder).source(id, collectionName(id));
    const origin = (key: Uint8Array): DataOrigin => ({ store: share.name, key });
    this.#shared.add(id);
    await putIntoShare(asShare([...storedEntries(store)], origin).entries, share);
  }

  #sharesOf(folder: DataFolder): SharedStores {
    return (this.#shares ??= new SharedStores({ path: folder.path, disk: createDiskSpace(folder.path) }));
  }

  /** After all collections, before the catalog: the records as they were at the end of the replay. Gives how many collections. */
  replay(step: ReplayStep): Promise<number> {
    return whileRestoring(step.dataFolder, () => this.#replay(step));
  }

  async #replay({ catalog: parts, dataFolder, tenant, replay, without }: ReplayStep): Promise<number> {
    const folder = new DataFolder(dataFolder);
    const { catalog } = (this.#replayed = await stagedCatalog(parts, folder));
    await replayCatalog(catalog, replay);
    const live = await liveCollections(catalog, tenant);
    for (const id of without) live.delete(id);
    const sequences = await replayRecords(replay, folder, {
      live,
      openStore: (id) => this.#storeIn(folder, id),
    });
    for (const id of this.#shared) if (!live.has(id)) await this.#shares?.clear(id, async () => true);
    for (const [id, sequence] of sequences) {
      const { epoch } = this.#restored.get(id) ?? { epoch: randomUUID() };
      this.#restored.set(id, { epoch, sequence });
    }
    return live.size;
  }

  /** After all collections. 404 for a tenant that is not in the backup. */
  catalog(step: RestoredCatalogStep): Promise<RestoredCatalog> {
    return whileRestoring(step.dataFolder, () => this.#catalog(step));
  }

  async #catalog({
    catalog: parts,
    dataFolder,
    tenant,
    keys,
  }: RestoredCatalogStep): Promise<RestoredCatalog> {
    await this.#shares?.close();
    this.#shares = null;
    const folder = new DataFolder(dataFolder);
    const { catalog, staging } = this.#replayed ?? (await stagedCatalog(parts, folder));
    try {
      if (tenant !== null && (await catalog.get(tenantKey(tenant))) === null)
        throw new SheafError("not_found", `Tenant [${tenant}] is not in the backup`);
      await new CatalogTransactions(catalog).transact(async (transaction) => {
        if (tenant !== null) await keepTenant(transaction, tenant);
        if (!keys) removeKeys(transaction);
        await shareOnly(transaction, this.#shared);
        const of = (id: string): Restored => this.#restored.get(id) ?? { epoch: randomUUID(), sequence: 0 };
        await renewEpochs(
          transaction,
          (id) => of(id).epoch,
          (id) => of(id).sequence,
        );
      });
      await catalog.copyTo(folder.catalog);
      return { hasShares: this.#shared.size > 0 };
    } finally {
      await catalog.close();
      await rm(staging, { recursive: true, force: true });
    }
  }

  #storeIn(folder: DataFolder, id: string): LmdbRecordStore {
    if (this.#shared.has(id))
      return new LmdbRecordStore(this.#sharesOf(folder).source(id, collectionName(id)));
    const disk = createDiskSpace(folder.path);
    const place = { folder: folder.collection(id), name: collectionName(id), disk };
    return new LmdbRecordStore(ownEnvironment(place));
  }
}

async function restoreIndex(path: string, files: RestoredCollection["index"], epoch: string): Promise<void> {
  mkdirSync(path, { recursive: true });
  for (const file of files) await copyFile(file.path, join(path, file.name));
  const index = new FolderFiles(path);
  try {
    const { manifest, nextN } = await readManifest(index);
    if (manifest !== null) await installManifest(index, { ...manifest, n: nextN, lineage: epoch });
  } finally {
    await index.close();
  }
}

/** A copy of the backup's, which may be changed. */
async function stagedCatalog(parts: StoreParts, folder: DataFolder): Promise<StagedCatalog> {
  const staging = folder.newTrash();
  await restoreStore(parts, staging, "catalog");
  return { catalog: new LmdbCatalogStore({ folder: staging, disk: createDiskSpace(folder.path) }), staging };
}
