/**
 * `sheaf compact`: LMDB never gives pages back to the file system, so each store of a data folder is copied without its free
 * pages, and the copy takes its place. Under the folder's lock, so that no server starts meanwhile.
 *
 * A copy is made and proven in a child process, in the folder `trash`, which every start empties. It is on disk before one
 * rename puts it in place, and this process, which has the lock, does that: whatever is killed, a store is the old file or
 * the new one.
 */
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { SheafError } from "@sheaf/protocol";
import { acquireDataLock, runningServer } from "../host/data-lock.ts";
import { DataFolder, collectionName } from "../storage/folder/data-folder.ts";
import { checkDataFormat } from "../storage/folder/data-format.ts";
import { sharedNames } from "../storage/folder/shared-names.ts";
import { replaceStore } from "../storage/folder/replace-store.ts";
import { type KnownCollection, subjectOf } from "./examine-collection.ts";
import { describe, summarize } from "./finding.ts";
import { InspectionProcess } from "./inspection-process.ts";

export interface CompactedStore {
  /** The catalog, or a collection. */
  readonly subject: string;
  /** Bytes of its file. */
  readonly before: number;
  readonly after: number;
  /** Why it was left as it is; `null`: it was not. */
  readonly problem: string | null;
}

export interface FolderCompaction {
  readonly stores: readonly CompactedStore[];
  /** Collections that were never written to, which have no store. */
  readonly withoutStore: number;
  /** Which process uses the folder, so that nothing was done; `null`: none does. */
  readonly usedBy: string | null;
}

export interface FolderCompactionOptions {
  readonly dataFolder: string;
  /** Told of each store when it is done; `total`: how many there are. */
  readonly onStore?: (store: CompactedStore, total: number) => void;
}

/** Throws `failed_precondition` for a folder that is none of Sheaf's, or a cache, or in use, and where its catalog is damaged. */
export async function compactFolder(options: FolderCompactionOptions): Promise<FolderCompaction> {
  const folder = new DataFolder(options.dataFolder);
  checkDataFormat(folder);
  if (folder.isCache)
    throw new SheafError(
      "failed_precondition",
      `${folder.path} is the cache of a server with a database: to have it take less room, stop the server and remove the folder`,
    );
  const usedBy = runningServer(folder.lockFile);
  if (usedBy !== null) return { stores: [], withoutStore: 0, usedBy };
  const lock = await acquireDataLock(folder.lockFile);
  const compactor = new FolderCompactor(folder, options);
  try {
    return { ...(await compactor.run()), usedBy: null };
  } finally {
    await compactor.close();
    lock.release();
  }
}

interface Store {
  /** `null`: it is the catalog, which is examined first, or what several collections share. */
  readonly known: KnownCollection | null;
  readonly subject: string;
  readonly folder: string;
  readonly name: string;
}

class FolderCompactor {
  readonly #folder: DataFolder;
  readonly #options: FolderCompactionOptions;
  readonly #process: InspectionProcess;

  constructor(folder: DataFolder, options: FolderCompactionOptions) {
    this.#folder = folder;
    this.#options = options;
    this.#process = new InspectionProcess(folder.path);
  }

  close(): Promise<void> {
    return this.#process.close();
  }

  async run(): Promise<Omit<FolderCompaction, "usedBy">> {
    const all = await this.#stores();
    // One that was never written has no file.
    const stores = all.filter(hasFile);
    const compacted: CompactedStore[] = [];
    for (const store of stores) {
      const one = await this.#compact(store);
      this.#options.onStore?.(one, stores.length);
      compacted.push(one);
    }
    return { stores: compacted, withoutStore: all.length - stores.length };
  }

  /** Only those that the catalog names: a start removes the others. */
  async #stores(): Promise<readonly Store[]> {
    const { findings, collections } = await this.#process.ask("examineCatalog");
    if (findings.length > 0) {
      const problems = findings.map(({ subject, problem }) => `${subject}: ${problem}`);
      throw new SheafError("failed_precondition", summarize(problems));
    }
    const own = collections.filter(({ shared }) => !shared);
    const stores = own.map((known) => ({
      known,
      subject: subjectOf(known),
      folder: this.#folder.collection(known.id),
      name: collectionName(known.id),
    }));
    const catalog = { known: null, subject: "the catalog", folder: this.#folder.catalog, name: "catalog" };
    const shared = sharedNames().map((name) => ({
      ...{ known: null, subject: `environment ${name}, which collections share` },
      ...{ folder: join(this.#folder.path, name), name },
    }));
    return [catalog, ...shared.filter(hasFile), ...stores];
  }

  async #compact({ known, subject, folder, name }: Store): Promise<CompactedStore> {
    const to = this.#folder.newTrash();
    try {
      if (known !== null) await this.#requireSound(known);
      const sizes = await this.#process.ask("copyStore", { folder, name, to });
      replaceStore(to, folder);
      return { subject, ...sizes, problem: null };
    } catch (error) {
      return { subject, before: 0, after: 0, problem: describe(error) };
    } finally {
      await rm(to, { recursive: true, force: true });
    }
  }

  /** A record that cannot be read is copied like any other: LMDB knows nothing of checksums. */
  async #requireSound(known: KnownCollection): Promise<void> {
    const { findings } = await this.#process.ask("examineCollection", known);
    const problems = findings.filter(({ severity }) => severity === "damage").map(({ problem }) => problem);
    if (problems.length > 0) throw new SheafError("collection_unavailable", summarize(problems));
  }
}

function hasFile({ folder }: Pick<Store, "folder">): boolean {
  return existsSync(join(folder, "data.mdb"));
}
