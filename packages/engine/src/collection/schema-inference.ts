/** Which kinds of values a collection's metadata keys hold, so that new ones reach the schema with their write. */
import { type MetadataKind, metadataKind } from "@sheaf/protocol";
import type { StoredRecord } from "../storage/stored-record.ts";

export type KindsByKey = ReadonlyMap<string, ReadonlySet<MetadataKind>>;

const RECORDS_PER_STEP = 64;

export class SchemaInference {
  readonly #kinds = new Map<string, Set<MetadataKind>>();
  /** What writes brought and the schema lacks so far. */
  readonly #news = new Map<string, Set<MetadataKind>>();

  /** Of all records there ever were, also where the schema has not heard of them yet. */
  get all(): KindsByKey {
    return this.#kinds;
  }

  /** As it is now; `null`: nothing. */
  get news(): KindsByKey | null {
    if (this.#news.size === 0) return null;
    return new Map([...this.#news].map(([key, kinds]) => [key, new Set(kinds)]));
  }

  /** What written records hold, some of them in each step; what was not seen before is news. */
  *learn(records: readonly StoredRecord[]): Generator<void, void> {
    for (const [position, { metadata }] of records.entries()) {
      if (position % RECORDS_PER_STEP === RECORDS_PER_STEP - 1) yield;
      for (const [key, value] of metadata ?? []) {
        const kind = metadataKind(value);
        if (this.#kinds.get(key)?.has(kind) === true) continue;
        addTo(this.#kinds, key, kind);
        addTo(this.#news, key, kind);
      }
    }
  }

  /** The schema has these. */
  published(kinds: KindsByKey): void {
    for (const [key, ofKey] of kinds) {
      const left = this.#news.get(key);
      for (const kind of ofKey) left?.delete(kind);
      if (left?.size === 0) this.#news.delete(key);
    }
  }

  /** Of a record that was there before. */
  know({ metadata }: StoredRecord): void {
    for (const [key, value] of metadata ?? []) addTo(this.#kinds, key, metadataKind(value));
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
