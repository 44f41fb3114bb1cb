/**
 * Which kinds of values a collection's metadata keys hold, so that new ones reach the schema with their write. Of keys that
 * the schema does not list only the first are known: it could list no more of them.
 */
import { CLIENT_PREFIX, LIMITS, type MetadataKind, metadataKind } from "@sheaf/protocol";
import type { StoredRecord } from "../storage/stored-record.ts";

export type KindsByKey = ReadonlyMap<string, ReadonlySet<MetadataKind>>;

/** Keys and records that are looked at between two pauses. */
const WORK_PER_STEP = 2_048;
const RECORD_WORK = 32;

export class SchemaInference {
  readonly #kinds = new Map<string, Set<MetadataKind>>();
  /** What writes brought and the schema lacks so far. */
  readonly #news = new Map<string, Set<MetadataKind>>();
  readonly #isListed: (key: string) => boolean;
  /** Of the keys that are known, those that the schema did not list when they came. */
  #unlisted = 0;

  /** `isListed`: by the schema. */
  constructor(isListed: (key: string) => boolean) {
    this.#isListed = isListed;
  }

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
    let work = 0;
    for (const { metadata } of records) {
      work += RECORD_WORK + (metadata?.size ?? 0);
      if (work >= WORK_PER_STEP) {
        work = 0;
        yield;
      }
      for (const [key, value] of metadata ?? []) {
        const kind = metadataKind(value);
        if (this.#kinds.get(key)?.has(kind) !== true && this.#add(key, kind)) addTo(this.#news, key, kind);
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
    for (const [key, value] of metadata ?? []) this.#add(key, metadataKind(value));
  }

  add(seen: KindsByKey): void {
    for (const [key, kinds] of seen) for (const kind of kinds) this.#add(key, kind);
  }

  /** `false`: the schema has no place for the key. */
  #add(key: string, kind: MetadataKind): boolean {
    if (!this.#kinds.has(key) && !this.#isListed(key)) {
      if (key.startsWith(CLIENT_PREFIX)) return false;
      if (this.#unlisted === LIMITS.schemaKeys) return false;
      this.#unlisted++;
    }
    addTo(this.#kinds, key, kind);
    return true;
  }
}

function addTo(kinds: Map<string, Set<MetadataKind>>, key: string, kind: MetadataKind): void {
  const known = kinds.get(key);
  if (known === undefined) kinds.set(key, new Set([kind]));
  else known.add(kind);
}
