/** What makes a collection like one of a backup, as the body of the request that creates it, without a name. */
import { type JsonObject, SheafError, writeMetadata, writePlainJson } from "@sheaf/protocol";
import { catalogOf } from "../backup/backed-up-collections.ts";
import type { Backup } from "../backup/backup-files.ts";
import { storedEntries } from "../backup/stored-entries.ts";
import { type CollectionEntry, decodeCollection } from "../catalog/catalog-codec.ts";
import { collectionKey, idBytes } from "../catalog/catalog-keys.ts";

/** Metadata of clients that had no schemas: it says how the index is made, and no schema can stand beside it. */
const LEGACY_PREFIX = "hnsw:";

/** JSON with `metadata`, if there is some, and `schema`, or `configuration`. */
export function collectionDescription({ metadata, schema, configuration }: CollectionEntry): string {
  const isOld = [...(metadata?.keys() ?? [])].some((key) => key.startsWith(LEGACY_PREFIX));
  const described: JsonObject = isOld ? { configuration } : { schema };
  const members = writePlainJson(described).slice(1);
  return metadata === null ? `{${members}` : `{"metadata":${writeMetadata(metadata)},${members}`;
}

/** As the catalog of the newest backup has it. 404 where it does not. */
export function backedUpEntry(chain: readonly Backup[], id: string): CollectionEntry {
  const wanted = collectionKey(idBytes(id));
  for (const { key, value } of storedEntries(catalogOf(chain))) {
    if (wanted.equals(key)) return decodeCollection(value, { store: "catalog", key });
  }
  throw new SheafError("not_found", `the catalog of ${chain[0]?.folder} has no collection ${id}`);
}
