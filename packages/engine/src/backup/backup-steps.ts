/** The steps of making a backup that read and write its files. They run in the backup process. */
import { appendFileSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { readdir, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { SheafError } from "@sheaf/protocol";
import { sealOf } from "../archive/entry-seal.ts";
import { collectionEntries } from "../catalog/catalog-selection.ts";
import { lineageOf } from "../collection/lineage.ts";
import { collectionName } from "../storage/folder/data-folder.ts";
import { type DiskReserve, createDiskSpace } from "../storage/folder/disk-space.ts";
import { OWNER_ONLY_FILE } from "../storage/folder/restrict-access.ts";
import { syncFile, syncFolders } from "../storage/folder/sync-files.ts";
import { DamagedFile } from "../storage/lmdb/lmdb-file.ts";
import type { StoreParts } from "./backed-up-collections.ts";
import { BackupBase, type BaseStep } from "./backup-base.ts";
import { type CatalogStep, type CopiedCatalog, copyCatalog } from "./catalog-copier.ts";
import { namingFullDisk } from "./naming-full-disk.ts";
import { StoreCopier } from "./store-copier.ts";
import { storedEntries } from "./stored-entries.ts";
import {
  type BackedUpCollection,
  type BackupHeader,
  COLLECTION_LIST,
  type IndexFile,
  PACKS,
  type Pack,
  UNFINISHED,
  writeHeader,
} from "./backup-files.ts";
import { copyFile, sumFile, whyUnreadable } from "./summed-file.ts";

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

export interface CollectionToCopy {
  readonly known: CataloguedCollection;
  /** Where its store is, if it has an environment of its own. */
  readonly place: string;
  readonly isShared: boolean;
  /** A folder with the files of its index, which stay as they are; `null`: there are none. */
  readonly index: string | null;
  /** It cannot be copied, and why. */
  readonly problem: string | null;
}

export interface CollectionsStep {
  readonly collections: readonly CollectionToCopy[];
  /** Path of the data folder. */
  readonly from: string;
  readonly to: string;
  /** Id of the backup. */
  readonly backup: string;
  /** The backup to add to; `null`: everything is copied. */
  readonly base: BaseStep | null;
  readonly diskReserve: DiskReserve | undefined;
}

export interface ListStep {
  /** The catalog of the backup. */
  readonly catalog: StoreParts;
  /** So many have been listed. */
  readonly from: number;
}

export interface CopiedCollections {
  /** That were written. */
  readonly bytes: number;
  /** Collections that could not be copied. */
  readonly damaged: number;
  /** Collections that were copied without their index, for a file of it cannot be read. */
  readonly withoutIndex: number;
}

export class BackupSteps {
  #listed: { readonly of: string; readonly collections: readonly CataloguedCollection[] } | null = null;
  #base: { readonly of: string; readonly base: BackupBase } | null = null;
  #stores: { readonly of: string; readonly copier: StoreCopier } | null = null;

  async copyCatalog(
    step: CatalogStep & Pick<CollectionsStep, "base">,
  ): Promise<CopiedCatalog & { readonly collections: number }> {
    const copied = await copyCatalog(step, await this.#baseOf(step));
    return { ...copied, collections: this.#catalogued(copied.store).length };
  }

  /** Some of the collections in the catalog of the backup, in order of their ids; none: there are no more. */
  async listCollections({ catalog, from }: ListStep): Promise<readonly CataloguedCollection[]> {
    return this.#catalogued(catalog).slice(from, from + LISTED);
  }

  /** Copies some, and adds them to the list of the backup. What is damaged is said there, and no reason to end. */
  async copyCollections(step: CollectionsStep): Promise<CopiedCollections> {
    const { to, backup } = step;
    let [lines, bytes, damages, withoutIndex] = ["", 0, 0, 0];
    for (const collection of step.collections) {
      const copied = await this.#copyCollection(collection, step);
      lines += `${JSON.stringify(copied)}\n`;
      for (const file of [...copied.parts, ...copied.index]) if (file.in === backup) bytes += file.bytes;
      damages += Number(copied.problem !== null);
      withoutIndex += Number(copied.indexProblem !== undefined);
    }
    appendFileSync(join(to, COLLECTION_LIST), lines, { mode: OWNER_ONLY_FILE });
    return { bytes, damaged: damages, withoutIndex };
  }

  /** Makes the backup complete. Gives the bytes of all its files, and what was found to be damaged in its base. */
  async finish(step: {
    readonly to: string;
    readonly header: Omit<BackupHeader, "list" | "packs" | "finished">;
    /** Its folder; `null`: there is none. */
    readonly archive: string | null;
  }): Promise<{ readonly bytes: number; readonly damagedBase: readonly string[] }> {
    const { to, header } = step;
    await this.#stores?.copier.close();
    this.#stores = null;
    if (!existsSync(join(to, UNFINISHED)))
      throw new SheafError("failed_precondition", `${to} was removed while it was made`);
    const packs = await syncPacks(to);
    const list = join(to, COLLECTION_LIST);
    appendFileSync(list, "", { mode: OWNER_ONLY_FILE });
    await syncFile(list);
    const sum = await sumFile(list);
    const catalog = header.catalog.filter((part) => part.in === header.id);
    const bytes = [...catalog, sum].reduce((all, part) => all + part.bytes, header.bytes);
    const seal = step.archive === null ? null : sealOf(step.archive, header.archive?.to ?? 0);
    const archive = header.archive == null ? null : { ...header.archive, seal };
    writeHeader(to, { ...header, archive, bytes, list: sum, packs, finished: Date.now() });
    await rm(join(to, UNFINISHED));
    await syncFile(to);
    return { bytes, damagedBase: this.#base?.base.problems ?? [] };
  }

  #catalogued(catalog: StoreParts): readonly CataloguedCollection[] {
    const of = JSON.stringify(catalog);
    if (this.#listed?.of !== of) this.#listed = { of, collections: catalogued(catalog) };
    return this.#listed.collections;
  }

  async #copyCollection(collection: CollectionToCopy, step: CollectionsStep): Promise<BackedUpCollection> {
    const { known, isShared, problem } = collection;
    const { id, tenant, database, name } = known;
    const folder = join(step.to, collectionName(id));
    const described = { id, tenant, database, name, isShared };
    try {
      if (problem !== null) throw new DamagedFile(problem);
      const base = await this.#baseOf(step);
      const store = await this.#copierOf(step).copy({ ...collection, base, folder });
      return { ...described, ...store, ...(await this.#copyIndex(collection, step, folder)), problem: null };
    } catch (error) {
      if (!isDamage(error)) throw namingFullDisk(step.to, error);
      await rm(folder, { recursive: true, force: true });
      return { ...described, sequence: 0, parts: [], index: [], problem: error.message };
    }
  }

  #copierOf({ from, to, backup, diskReserve }: CollectionsStep): StoreCopier {
    if (this.#stores?.of !== to) {
      const disk = createDiskSpace(to, { diskReserve });
      this.#stores = { of: to, copier: new StoreCopier({ from, to, backup, disk }) };
    }
    return this.#stores.copier;
  }

  /** All of its files, or none where one cannot be read: it is made of the records then. */
  async #copyIndex(
    { known, index }: CollectionToCopy,
    step: CollectionsStep,
    folder: string,
  ): Promise<Pick<BackedUpCollection, "index" | "indexProblem">> {
    if (index === null) return { index: [] };
    const base = await this.#baseOf(step);
    const there = base?.collections.find(known.id);
    const target = join(folder, "index");
    const files: IndexFile[] = [];
    for (const name of (await readdir(index)).toSorted()) {
      const path = join(index, name);
      const same = there?.index.find((file) => file.name === name);
      try {
        const isSame = same !== undefined && (await sumFile(path)).sha256 === same.sha256;
        files.push(isSame ? same : await copyIndexFile(path, join(target, name), step));
      } catch (error) {
        const problem = await whyUnreadable(path);
        if (problem === null) throw error;
        await rm(target, { recursive: true, force: true });
        return { index: [], indexProblem: `index file ${name} ${problem}` };
      }
    }
    if (existsSync(target)) syncFolders(target);
    return { index: files };
  }

  async #baseOf({ base }: Pick<CollectionsStep, "base">): Promise<BackupBase | null> {
    if (base === null) return null;
    if (this.#base?.of !== base.folder) this.#base = { of: base.folder, base: await BackupBase.open(base) };
    return this.#base.base;
  }
}

async function copyIndexFile(
  from: string,
  to: string,
  { to: root, backup, diskReserve }: CollectionsStep,
): Promise<IndexFile> {
  const folder = dirname(to);
  mkdirSync(folder, { recursive: true });
  const claim = createDiskSpace(root, { diskReserve }).claimFile((await stat(from)).size);
  try {
    return { name: basename(to), ...(await copyFile(from, to)), in: backup };
  } finally {
    claim.release();
  }
}

async function syncPacks(backup: string): Promise<readonly Pack[]> {
  const folder = join(backup, PACKS);
  const packs: Pack[] = [];
  for (const name of existsSync(folder) ? readdirSync(folder).toSorted() : []) {
    await syncFile(join(folder, name));
    packs.push({ name, bytes: (await stat(join(folder, name))).size });
  }
  return packs;
}

function catalogued(catalog: StoreParts): readonly CataloguedCollection[] {
  const collections: CataloguedCollection[] = [];
  for (const entry of collectionEntries(storedEntries(catalog))) {
    const { id, tenant, database, name, logPosition, dimension } = entry;
    collections.push({ id, tenant, database, name, lineage: lineageOf(entry), logPosition, dimension });
  }
  return collections;
}

/** Of what was to be copied. */
function isDamage(error: unknown): error is Error {
  return (
    error instanceof DamagedFile || (error instanceof SheafError && error.code === "collection_unavailable")
  );
}
