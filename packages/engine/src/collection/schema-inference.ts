/** Which kinds of values a collection's metadata keys hold, so that new ones reach the schema with their write. */
import { type MetadataKind, metadataKind } from "@sheaf/protocol";
import type { StoredRecord } from "../storage/stored-record.ts";

export type KindsByKey = ReadonlyMap<string, ReadonlySet<MetadataKind>>;

export class SchemaInference {
  readonly #kinds = new Map<string, Set<MetadataKind>>();

  get all(): KindsByKey {
    return this.#kinds;
  }

  /** What `records` hold that was not seen before; `null`: nothing. */
  newIn(records: Iterable<StoredRecord>): KindsByKey | null {
    let found: Map<string, Set<MetadataKind>> | null = null;
    for (const { metadata } of records) {
      if (metadata === null) continue;
      for (const [key, value] of metadata) {
        const kind = metadataKind(value);
        if (this.#kinds.get(key)?.has(kind) !== true) addTo((found ??= new Map()), key, kind);
      }
    }
    return found;
  }

  /** Learns all that the records hold. */
  addAll(records: Iterable<StoredRecord>): void {
    const seen = this.newIn(records);
    if (seen !== null) this.add(seen);
  }

  add(seen: KindsByKey): void {
    for (const [key, kinds] of seen) for (const kind of kinds) addTo(this.#kinds, key, kind);
  }
}

function addTo(kinds: Map<string, Set<MetadataKind>>, key: string, kind: MetadataKind): void {
  const known = kinds.get(key);
  if (known === undefined) kinds.set(key, new Set([kind]));
  else known.add(kind);
}
