/**
 * Opens the catalog of a data folder, or says why it must not be used. What the catalog does not know is swept away at
 * the start, so one that has lost something would take the files of its collections along: nothing is made, swept or
 * written before it is known to be whole.
 */
import { SheafError } from "@sheaf/protocol";
import type { Archive } from "../archive/archive.ts";
import { ArchivedCatalogStore } from "../archive/archived-catalog-store.ts";
import type { DataFolder } from "../storage/folder/data-folder.ts";
import { completeDataFormat, hadCatalog, prepareDataFormat } from "../storage/folder/data-format.ts";
import type { DiskSpace } from "../storage/folder/disk-space.ts";
import { LmdbCatalogStore } from "../storage/lmdb/lmdb-catalog-store.ts";
import type { EngineLog } from "../engine-log.ts";
import { Catalog } from "./catalog.ts";
import type { CatalogOptions } from "./catalog-options.ts";
import { COUNTER_KEY } from "./catalog-keys.ts";
import { verifyCatalogEntry } from "./verify-catalog.ts";

interface OpeningOptions extends CatalogOptions {
  /** Of everything that is written; `null`: there is none. */
  readonly archive: Archive | null;
  readonly log?: EngineLog | undefined;
}

/** Throws `failed_precondition` with what is wrong, and what to do. */
export async function openCatalog(
  folder: DataFolder,
  disk: DiskSpace,
  { log, archive, ...options }: OpeningOptions,
): Promise<Catalog> {
  const isNew = !folder.hasCatalog;
  prepareDataFormat(folder);
  if (folder.isCache)
    throw new SheafError(
      "failed_precondition",
      `${folder.path} is the cache of a server with a database: give it --database, or name another folder`,
    );
  const expected = hadCatalog(folder) || !folder.collectionIds().next().done;
  if (expected && !folder.hasCatalog) throw refused("it is missing or empty");
  try {
    const store = new LmdbCatalogStore({ folder: folder.catalog, disk, thorough: verifyCatalogEntry });
    try {
      store.requireWhole();
      if (expected && (await store.get(COUNTER_KEY)) === null) throw refused("it is empty");
      const archived = archive === null ? store : await ArchivedCatalogStore.over(store, archive);
      const catalog = await Catalog.open(archived, options);
      await folder.sweep((id) => isUnknown(catalog, id));
      const { before, after } = completeDataFormat(folder, options.shares === true);
      await catalog.completeIndexes();
      if (before < after && !isNew) {
        const versions = `from format ${before} to ${after}`;
        log?.({ level: "info", message: `data folder upgraded ${versions}; earlier builds refuse it now` });
      }
      return catalog;
    } catch (error) {
      await store.close();
      throw error;
    }
  } catch (error) {
    const isDamage = error instanceof SheafError && error.code === "collection_unavailable";
    throw isDamage ? refused(error.message, error) : error;
  }
}

/** An entry is named by several keys: where one of them remains, it is the catalog that is wrong. */
async function isUnknown(catalog: Catalog, id: string): Promise<boolean> {
  if (await catalog.hasCollection(id)) return false;
  if (await catalog.mentions(id)) throw refused(`the entry of collection ${id} is lost`);
  return true;
}

function refused(reason: string, cause?: unknown): SheafError {
  return new SheafError(
    "failed_precondition",
    `the catalog of the data folder cannot be used: ${reason.replace("; run `sheaf doctor`", "")}. ` +
      "Nothing was changed; run `sheaf doctor` for what to do",
    { cause },
  );
}
