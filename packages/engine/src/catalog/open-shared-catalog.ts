/** Opens a catalog that several servers share. The data folder is a cache: what the catalog does not know is removed from it. */
import { SheafError } from "@sheaf/protocol";
import type { CatalogStore } from "../storage/catalog/catalog-store.ts";
import { cacheIdentity } from "../storage/folder/cache-identity.ts";
import type { DataFolder } from "../storage/folder/data-folder.ts";
import { hadCatalog, prepareDataFormat } from "../storage/folder/data-format.ts";
import { Catalog } from "./catalog.ts";
import type { CatalogOptions } from "./catalog-options.ts";

/** Throws `failed_precondition` where the folder is more than a cache. @param store Closed with the catalog. */
export async function openSharedCatalog(
  folder: DataFolder,
  store: CatalogStore,
  options: CatalogOptions,
): Promise<Catalog> {
  try {
    prepareDataFormat(folder);
    if (folder.hasCatalog || hadCatalog(folder))
      throw new SheafError(
        "failed_precondition",
        `${folder.path} holds data of a server without a database; with one it can only be a cache: name an empty folder`,
      );
    const catalog = await Catalog.open(store, { ...options, cache: cacheIdentity(folder) });
    await folder.sweep(async (id) => !(await catalog.hasCollection(id)));
    await catalog.completeIndexes();
    return catalog;
  } catch (error) {
    await store.close();
    throw error;
  }
}
