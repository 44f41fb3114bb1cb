/** What metrics say of all collections together. It looks at the open ones, of which there is a limited number. */
import type { Catalog } from "../catalog/catalog.ts";
import type { EngineStatistics } from "../engine.ts";
import type { DataFolder } from "../storage/folder/data-folder.ts";
import type { CollectionPool } from "./collection-pool.ts";

type CollectionStatistics = Pick<
  EngineStatistics,
  "collections" | "openCollections" | "catalogBytes" | "openCollectionBytes"
>;

export function collectionStatistics(
  folder: DataFolder,
  catalog: Catalog,
  pool: CollectionPool,
): CollectionStatistics {
  const open = pool.openIds();
  const sizes = open.map((id) => folder.collectionBytes(id));
  return {
    collections: catalog.collectionIds(null).length,
    openCollections: open.length,
    catalogBytes: catalog.bytes,
    openCollectionBytes: sizes.reduce((sum, bytes) => sum + bytes, 0),
  };
}
