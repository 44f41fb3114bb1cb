/** What metrics say of all collections together. It looks at the open ones, of which there is a limited number. */
import type { Catalog } from "../catalog/catalog.ts";
import type {
  CollectionUsage,
  DatabaseRef,
  EngineStatistics,
  IndexingStatus,
  ListBatch,
  ListPage,
} from "../engine.ts";
import type { DataFolder } from "../storage/folder/data-folder.ts";
import type { CollectionOpener } from "./collection-opener.ts";
import type { CollectionPool } from "./collection-pool.ts";
import type { CatalogSize } from "./logged/catalog-size.ts";

type CollectionStatistics = Pick<
  EngineStatistics,
  | "collections"
  | "openCollections"
  | "openingCollections"
  | "catalogBytes"
  | "openCollectionBytes"
  | "unsealedRows"
  | "longestReplay"
  | "oldestManifestSeconds"
  | "damagedCollections"
  | "damagedIndexFiles"
  | "indexVectorBytes"
  | "indexCodeBytes"
  | "indexCopyBytes"
  | "indexPartBytes"
  | "indexUnsealedBytes"
  | "indexPartReads"
  | "indexPartEvictions"
>;

export async function collectionStatistics(
  folder: DataFolder,
  catalogSize: CatalogSize,
  pool: CollectionPool,
  opener: Pick<CollectionOpener, "damaged" | "damagedFiles" | "indexMemory" | "sharedBytes">,
): Promise<CollectionStatistics> {
  const { collections, catalogBytes } = await catalogSize.read();
  const ids = pool.openIds();
  const own = ids.filter((id) => pool.peek(id)?.isShared !== true);
  const open = ids.flatMap((id) => pool.peek(id) ?? []);
  const health = open.flatMap(({ keeper }) => keeper?.health ?? []);
  const most = (numbers: readonly (number | null)[]): number =>
    numbers.reduce<number>((highest, number) => Math.max(highest, number ?? 0), 0);
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
  const { taken, unsealed, reads, evictions } = opener.indexMemory;
  return {
    collections,
    openCollections: ids.length,
    openingCollections: ids.length - open.length,
    catalogBytes,
    openCollectionBytes: opener.sharedBytes + sum(own.map((id) => folder.collectionBytes(id))),
    unsealedRows: sum(health.map(({ unsealedRows }) => unsealedRows)),
    longestReplay: most(health.map(({ replayedOperations }) => replayedOperations)),
    oldestManifestSeconds: most(health.map(({ manifestAgeMs }) => manifestAgeMs)) / 1_000,
    damagedCollections: opener.damaged.count,
    damagedIndexFiles: opener.damagedFiles,
    indexVectorBytes: taken.vectors,
    indexCodeBytes: taken.codes,
    indexCopyBytes: taken.copies,
    indexPartBytes: taken.parts + taken.unfiled,
    indexUnsealedBytes: unsealed.bytes,
    indexPartReads: reads,
    indexPartEvictions: evictions,
  };
}

/** `indexed`: operations that the index has. */
export function indexingStatus(totalOperations: number, indexed: number): IndexingStatus {
  return { totalOperations, indexedOperations: Math.min(indexed, totalOperations) };
}

/** As the catalog knows them; of those that are open, or being opened, with how far their index is. */
export async function collectionUsage(
  catalog: Catalog,
  pool: CollectionPool,
  ref: DatabaseRef,
  page: ListPage,
): Promise<ListBatch<CollectionUsage>> {
  const { items, next } = await catalog.heldCollections(ref, page);
  const usages = items.map(({ id, name, dimension, held, logPosition }) => {
    const indexed = pool.progress(id)?.indexedOperations ?? logPosition;
    const total = Math.max(logPosition, pool.peek(id)?.head.sequence ?? 0);
    return { id, name, dimension, held, ...indexingStatus(total, indexed) };
  });
  return { items: usages, next };
}
