/** The steps of making a backup that read and write its files. They run in the backup process. */
import { appendFileSync, mkdirSync } from "node:fs";
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { SheafError } from "@sheaf/protocol";
import { tenantKey } from "../catalog/catalog-keys.ts";
import { collectionEntries, keepTenant, removeKeys, unshare } from "../catalog/catalog-selection.ts";
import { CatalogTransactions } from "../catalog/catalog-transactions.ts";
import { lineageOf } from "../collection/lineage.ts";
import { requireCaughtUp } from "../collection/require-caught-up.ts";
import { collectionName } from "../storage/folder/data-folder.ts";
import {
  type DiskReserve,
  type DiskSpace,
  createDiskSpace,
  isDiskFull,
} from "../storage/folder/disk-space.ts";
import { OWNER_ONLY_FILE } from "../storage/folder/restrict-access.ts";
import { syncFile, syncFolders } from "../storage/folder/sync-files.ts";
import { EVERY_KEY } from "../storage/lmdb/key-range.ts";
import type { Entry } from "../storage/entries.ts";
import { LmdbEnvironment } from "../storage/lmdb/lmdb-environment.ts";
import { putShare, readShare } from "../storage/lmdb/copy-share.ts";
import { SharedStores } from "../storage/lmdb/shared-stores.ts";
import { runSteps } from "../storage/steps.ts";
import { LmdbCatalogStore } from "../storage/lmdb/lmdb-catalog-store.ts";
import { DamagedFile } from "../storage/lmdb/lmdb-file.ts";
import { RECORD_KEYS } from "../storage/lmdb/record-keys.ts";
import { EMPTY_HEAD, type StoreHead } from "../storage/record-store.ts";
import { decodeHead } from "../storage/values/value-codec.ts";
import { BackedUpCollections, type StoreParts } from "./backed-up-collections.ts";
import { storedEntries } from "./stored-entries.ts";
import {
  type BackedUpCollection,
  type BackupHeader,
  CATALOG_FILE,
  COLLECTION_LIST,
  type IndexFile,
  type StoreFile,
  UNFINISHED,
  damaged,
  readChain,
  storeFile,
  writeHeader,
} from "./backup-files.ts";
import { changesBetween, writeChanges } from "./entry-changes.ts";
import { type FileSum, copyFile, sumFile } from "./summed-file.ts";

/** Of the list that goes to the parent at a time. */
const LISTED = 256;

/** What the catalog says of a collection. */
export interface CataloguedCollection {
  readonly id: string;
  readonly tenant: string;
  readonly database: string;
  readonly name: string;
  /** Of its index files. */
  readonly lineage: string;
  readonly logPosition: number;
  readonly dimension: number | null;
}

export interface CatalogStep {
  /** Folder of the catalog that is in use. */
  readonly from: string;
  /** A folder that does not exist yet, in the data folder. */
  readonly staging: string;
  readonly to: string;
  readonly tenant: string | null;
  readonly keys: boolean;
  readonly diskReserve: DiskReserve | undefined;
}

export interface CollectionStep {
  readonly known: CataloguedCollection;
  /** Where its store is, if it has an environment of its own. */
  readonly place: string;
  /** Path of the data folder, if it shares one; else `null`. */
  readonly shares: string | null;
  /** A folder with the files of its index, which stay as they are; `null`: there are none. */
  readonly index: string | null;
  readonly to: string;
  readonly backup: string;
  /** Folder of the backup to add to; `null`: everything is copied. */
  readonly base: string | null;
  readonly diskReserve: DiskReserve | undefined;
  /** It cannot be copied, and why. */
  readonly problem: string | null;
}

export interface CopiedCatalog {
  readonly sum: FileSum;
  /** Ids of the collections that share environments. */
  readonly shared: readonly string[];
  /** How many there are. */
  readonly collections: number;
}

export interface CopiedCollection {
  /** That were written. */
  readonly bytes: number;
  readonly problem: string | null;
}

export class BackupSteps {
  #listed: { readonly of: string; readonly collections: readonly CataloguedCollection[] } | null = null;
  #shares: { readonly of: string; readonly stores: SharedStores } | null = null;
  #base: { readonly of: string; readonly collections: BackedUpCollections } | null = null;

  /** 404 for a tenant that is not there. In the copy every collection has an environment of its own, as in the backup. */
  async copyCatalog(step: CatalogStep): Promise<CopiedCatalog> {
    const { from, staging, to, tenant, keys } = step;
    const disk = createDiskSpace(to, step);
    const live = new LmdbCatalogStore({ folder: from, disk, readOnly: true });
    try {
      await live.copyTo(staging);
    } finally {
      await live.close();
    }
    const copy = new LmdbCatalogStore({ folder: staging, disk });
    let shared: readonly string[] = [];
    try {
      if (tenant !== null && (await copy.get(tenantKey(tenant))) === null)
        throw new SheafError("not_found", `Tenant [${tenant}] not found`);
      await new CatalogTransactions(copy).transact(async (transaction) => {
        if (tenant !== null) await keepTenant(transaction, tenant);
        if (!keys) removeKeys(transaction);
        shared = await unshare(transaction);
      });
      // Once more, so that nothing is left in free pages of what was taken away.
      await copy.copyTo(join(to, "catalog"));
    } finally {
      await copy.close();
      await rm(staging, { recursive: true, force: true });
    }
    return { sum: await sumFile(join(to, CATALOG_FILE)), shared, collections: this.#catalogued(to).length };
  }

  /** Some of the collections in the catalog of the backup, in order of their ids; none: there are no more. */
  async listCollections({
    to,
    from,
  }: {
    readonly to: string;
    readonly from: number;
  }): Promise<readonly CataloguedCollection[]> {
    return this.#catalogued(to).slice(from, from + LISTED);
  }

  /** Copies one, and adds it to the list of the backup. What is damaged is said there, and no reason to end. */
  async copyCollection(step: CollectionStep): Promise<CopiedCollection> {
    const { known, to } = step;
    const folder = join(to, collectionName(known.id));
    const { id, tenant, database, name } = known;
    let copied: Pick<BackedUpCollection, "sequence" | "store" | "index" | "problem">;
    try {
      if (step.problem !== null) throw new DamagedFile(step.problem);
      copied = {
        ...(await this.#copyStore(step, folder)),
        ...(await this.#copyIndex(step, folder)),
        problem: null,
      };
    } catch (error) {
      if (isFull(error)) throw new SheafError("storage_full", `the disk of ${to} is full`, { cause: error });
      if (!isDamage(error)) throw error;
      await rm(folder, { recursive: true, force: true });
      copied = { sequence: 0, store: null, index: [], problem: error.message };
    }
    const line: BackedUpCollection = { id, tenant, database, name, ...copied };
    appendFileSync(join(to, COLLECTION_LIST), `${JSON.stringify(line)}\n`, { mode: OWNER_ONLY_FILE });
    const files = [copied.store, ...copied.index.filter((file) => file.in === step.backup)];
    return { bytes: files.reduce((sum, file) => sum + (file?.bytes ?? 0), 0), problem: copied.problem };
  }

  /** Makes the backup complete. */
  async finish(step: {
    readonly to: string;
    readonly header: Omit<BackupHeader, "list" | "finished">;
  }): Promise<void> {
    const { to, header } = step;
    await this.#shares?.stores.close();
    this.#shares = null;
    const list = join(to, COLLECTION_LIST);
    appendFileSync(list, "", { mode: OWNER_ONLY_FILE });
    await syncFile(list);
    const sum = await sumFile(list);
    const bytes = header.bytes + header.catalog.bytes + sum.bytes;
    writeHeader(to, { ...header, bytes, list: sum, finished: Date.now() });
    await rm(join(to, UNFINISHED));
    await syncFile(to);
  }

  #catalogued(to: string): readonly CataloguedCollection[] {
    if (this.#listed?.of !== to) this.#listed = { of: to, collections: catalogued(join(to, CATALOG_FILE)) };
    return this.#listed.collections;
  }

  async #copyStore(step: CollectionStep, folder: string): Promise<CopiedStore> {
    const { known, place, to, base, diskReserve } = step;
    const before = base === null ? null : (await this.#baseAt(base)).partsOf(known.id);
    const disk = createDiskSpace(to, { diskReserve });
    if (step.shares !== null) return this.#copyShare(step.shares, { known, before, folder, disk });
    if (!LmdbEnvironment.exists(place)) return nothingOf(known);
    const name = collectionName(known.id);
    const environment = new LmdbEnvironment({ folder: place, name, disk, readOnly: true });
    try {
      // Within one turn, so that all that is read here is of one state.
      if (before !== null) return copyChanges(environment.iterate(EVERY_KEY), { before, folder, known });
      await environment.copyTo(folder);
    } finally {
      await environment.close();
    }
    return copiedWhole(folder, known);
  }

  /** Reads it within one turn, so that it is of one state. */
  async #copyShare(path: string, { known, before, folder, disk }: SharedCopy): Promise<CopiedStore> {
    if (this.#shares?.of !== path) {
      await this.#shares?.stores.close();
      this.#shares = { of: path, stores: new SharedStores({ path, disk, readOnly: true }) };
    }
    const name = collectionName(known.id);
    const share = this.#shares.stores.source(known.id, name).find();
    const entries = share === null ? [] : runSteps(readShare(share));
    await share?.close();
    if (entries.length === 0) return nothingOf(known);
    if (before !== null) return copyChanges(entries, { before, folder, known });
    await putShare(entries, { folder, name, disk });
    return copiedWhole(folder, known);
  }

  async #copyIndex(
    { known, index, to, backup, base, diskReserve }: CollectionStep,
    folder: string,
  ): Promise<{ readonly index: readonly IndexFile[] }> {
    if (index === null) return { index: [] };
    const disk = createDiskSpace(to, { diskReserve });
    const there = base === null ? null : (await this.#baseAt(base)).find(known.id);
    const files: IndexFile[] = [];
    for (const name of (await readdir(index)).toSorted()) {
      const path = join(index, name);
      const same = there?.index.find((file) => file.name === name);
      if (same !== undefined && (await sumFile(path)).sha256 === same.sha256) {
        files.push(same);
        continue;
      }
      const target = join(folder, "index");
      mkdirSync(target, { recursive: true });
      const claim = disk.claimFile((await stat(path)).size);
      try {
        files.push({ name, ...(await copyFile(path, join(target, name))), in: backup });
      } finally {
        claim.release();
      }
      syncFolders(target);
    }
    return { index: files };
  }

  async #baseAt(folder: string): Promise<BackedUpCollections> {
    if (this.#base?.of !== folder)
      this.#base = { of: folder, collections: await BackedUpCollections.read(await readChain(folder)) };
    return this.#base.collections;
  }
}

interface CopiedStore {
  readonly sequence: number;
  readonly store: StoreFile | null;
}

interface SharedCopy {
  readonly known: CataloguedCollection;
  /** `null`: everything is copied. */
  readonly before: StoreParts | null;
  readonly folder: string;
  readonly disk: DiskSpace;
}

/** It was never written to. */
function nothingOf(known: CataloguedCollection): CopiedStore {
  requireCaughtUp(EMPTY_HEAD, known, collectionName(known.id));
  return { sequence: 0, store: null };
}

async function copiedWhole(folder: string, known: CataloguedCollection): Promise<CopiedStore> {
  const file = storeFile(folder, { isWhole: true });
  const head = wholeHead(file, known);
  return { sequence: head.sequence, store: { isWhole: true, ...(await sumFile(file)) } };
}

function copyChanges(
  entries: Iterable<Entry>,
  {
    before,
    folder,
    known,
  }: {
    readonly before: StoreParts;
    readonly folder: string;
    readonly known: CataloguedCollection;
  },
): CopiedStore {
  let head: Uint8Array | null = null;
  const changes = changesBetween(
    entriesOfBase(before),
    notingHead(entries, (value) => (head = value)),
  );
  mkdirSync(folder, { recursive: true });
  const store = { isWhole: false };
  const sum = writeChanges(storeFile(folder, store), changes);
  return { sequence: caughtUp(head, known).sequence, store: { ...store, ...sum } };
}

function* notingHead(entries: Iterable<Entry>, note: (value: Uint8Array) => void): Generator<Entry> {
  for (const entry of entries) {
    if (Buffer.compare(entry.key, RECORD_KEYS.head) === 0) note(entry.value);
    yield entry;
  }
}

/** Its damage is none of the collection's. */
function* entriesOfBase(before: StoreParts): Generator<Entry> {
  try {
    yield* storedEntries(before);
  } catch (error) {
    throw error instanceof DamagedFile ? damaged(before.whole, error.message) : error;
  }
}

/** Walks all pages of a copy. */
function wholeHead(file: string, known: CataloguedCollection): StoreHead {
  let head: Uint8Array | null = null;
  for (const { key, value } of storedEntries({ whole: file, changes: [] }))
    if (Buffer.compare(key, RECORD_KEYS.head) === 0) head = value;
  return caughtUp(head, known);
}

function caughtUp(value: Uint8Array | null, known: CataloguedCollection): StoreHead {
  const name = collectionName(known.id);
  const head = value === null ? EMPTY_HEAD : decodeHead(value, { store: name, key: RECORD_KEYS.head }).head;
  requireCaughtUp(head, known, name);
  return head;
}

function catalogued(file: string): readonly CataloguedCollection[] {
  const entries = storedEntries({ whole: file, changes: [] });
  const collections: CataloguedCollection[] = [];
  for (const entry of collectionEntries(entries)) {
    const { id, tenant, database, name, logPosition, dimension } = entry;
    collections.push({ id, tenant, database, name, lineage: lineageOf(entry), logPosition, dimension });
  }
  return collections;
}

/** Of the disk that the backup goes to. */
function isFull(error: unknown): boolean {
  return isDiskFull(error) || (error instanceof SheafError && error.code === "storage_full");
}

/** Of what was to be copied. */
function isDamage(error: unknown): error is Error {
  return (
    error instanceof DamagedFile || (error instanceof SheafError && error.code === "collection_unavailable")
  );
}
