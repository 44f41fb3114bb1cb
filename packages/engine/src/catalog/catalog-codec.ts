/** Values of the catalog: plain fields as JSON, a collection's metadata typed as in a record. */
import {
  type Collection,
  type CollectionModels,
  type Json,
  type JsonObject,
  type Metadata,
} from "@sheaf/protocol";
import type { HeldRecords, StoredKey, TokenUsage } from "../engine.ts";
import { CorruptDataError, type DataOrigin } from "../storage/corrupt-data-error.ts";
import { readMetadataFields, writeMetadataFields } from "../storage/values/metadata-codec.ts";
import { ValueReader } from "../storage/values/value-reader.ts";
import { VALUE_KIND, type ValueKind, ValueWriter } from "../storage/values/value-writer.ts";
import { readDescription, writeDescription } from "./description-text.ts";

/** A collection as the catalog keeps it. */
export interface CollectionEntry {
  readonly id: string;
  readonly name: string;
  readonly tenant: string;
  readonly database: string;
  readonly databaseId: string;
  /** Ascends with creation. */
  readonly created: number;
  readonly configuration: JsonObject;
  readonly schema: JsonObject;
  readonly dimension: number | null;
  readonly logPosition: number;
  readonly version: number;
  readonly metadata: Metadata | null;
  readonly models: CollectionModels;
  /** Id of the collection that its fork tree began with: its own, unless it is a fork. */
  readonly tree: string;
  /** New whenever another past is put under the same id; read tokens name it. */
  readonly epoch: string;
  /** Its records are in an environment that small collections share; else it has one of its own. */
  readonly shared: boolean;
  /** As of its last checkpoint; `null`: it was written by a version that kept no account. */
  readonly held: HeldRecords | null;
}

/** All forks made of a collection and of its forks. */
export interface ForkTreeEntry {
  readonly edges: number;
  /** Collections of the tree that are there. */
  readonly members: number;
}

export interface TenantEntry {
  readonly resourceName: string | null;
}

export interface DatabaseEntry {
  readonly id: string;
}

const HAS_METADATA = 1;

/** Each value is finished in the turn, and before the next one is begun. */
const WRITER = new ValueWriter();

export function encodeTenant(entry: TenantEntry): Uint8Array {
  return encodeFields(VALUE_KIND.tenant, { ...entry });
}

export function decodeTenant(value: Uint8Array, origin: DataOrigin): TenantEntry {
  return decodeFields(value, VALUE_KIND.tenant, origin) as TenantEntry;
}

export function encodeDatabase(entry: DatabaseEntry): Uint8Array {
  return encodeFields(VALUE_KIND.database, { ...entry });
}

export function decodeDatabase(value: Uint8Array, origin: DataOrigin): DatabaseEntry {
  return decodeFields(value, VALUE_KIND.database, origin) as DatabaseEntry;
}

export function encodeForkTree(entry: ForkTreeEntry): Uint8Array {
  return encodeFields(VALUE_KIND.forkTree, { ...entry });
}

export function decodeForkTree(value: Uint8Array, origin: DataOrigin): ForkTreeEntry {
  return decodeFields(value, VALUE_KIND.forkTree, origin) as ForkTreeEntry;
}

export function encodeKey(key: StoredKey): Uint8Array {
  return encodeFields(VALUE_KIND.apiKey, { ...key, limits: { ...key.limits } });
}

export function decodeKey(value: Uint8Array, origin: DataOrigin): StoredKey {
  return decodeFields(value, VALUE_KIND.apiKey, origin) as StoredKey;
}

/** The tenant is in the key. */
export function encodeTokenUsage({ day, tokens }: TokenUsage): Uint8Array {
  return encodeFields(VALUE_KIND.tokenUsage, { day, tokens });
}

export function decodeTokenUsage(value: Uint8Array, origin: DataOrigin): Omit<TokenUsage, "tenant"> {
  return decodeFields(value, VALUE_KIND.tokenUsage, origin) as Omit<TokenUsage, "tenant">;
}

export function encodeCounter(next: number): Uint8Array {
  return finished(WRITER.begin(VALUE_KIND.counter).u64(next));
}

export function decodeCounter(value: Uint8Array, origin: DataOrigin): number {
  return new ValueReader(value, VALUE_KIND.counter, origin).u64();
}

export function encodeCollection(entry: CollectionEntry): Uint8Array {
  const { metadata, models, tree, epoch, shared, held, ...fields } = entry;
  const writer = WRITER.begin(VALUE_KIND.collection, metadata === null ? 0 : HAS_METADATA);
  const stored: StoredFields = {
    ...fields,
    ...(tree === fields.id ? {} : { tree }),
    ...(epoch === "" ? {} : { epoch }),
    ...(shared ? { shared } : {}),
    ...(held === null ? {} : { held: { ...held } }),
    ...(Object.keys(models).length === 0 ? {} : { models }),
  };
  writer.text(writeDescription(stored));
  if (metadata !== null) writeMetadataFields(writer, metadata);
  return finished(writer);
}

export function decodeCollection(value: Uint8Array, origin: DataOrigin): CollectionEntry {
  const reader = new ValueReader(value, VALUE_KIND.collection, origin);
  const fields = parse(reader.text(), origin, readDescription) as StoredFields;
  const metadata = (reader.flags & HAS_METADATA) === 0 ? null : readMetadataFields(reader);
  reader.end();
  return { tree: fields.id, epoch: "", shared: false, models: {}, held: null, ...fields, metadata };
}

/** What the engine says of one. */
export function toCollection(entry: CollectionEntry): Collection {
  const { databaseId: _databaseId, created: _created, tree: _tree, epoch: _epoch, ...fields } = entry;
  const { shared: _shared, held: _held, ...collection } = fields;
  return collection;
}

/** What stands in the value as JSON. The optional fields came later and are left out where they say nothing. */
type StoredFields = Omit<CollectionEntry, "metadata" | LaterField> &
  Partial<Pick<CollectionEntry, LaterField>>;
type LaterField = "tree" | "epoch" | "shared" | "models" | "held";

function encodeFields(kind: ValueKind, fields: Readonly<Record<string, Json>>): Uint8Array {
  return finished(WRITER.begin(kind).text(JSON.stringify(fields)));
}

/** In memory of its own: the writer is used again. */
function finished(writer: ValueWriter): Uint8Array {
  return Buffer.from(writer.finish());
}

function decodeFields(value: Uint8Array, kind: ValueKind, origin: DataOrigin): unknown {
  const reader = new ValueReader(value, kind, origin);
  const fields = parse(reader.text(), origin);
  reader.end();
  return fields;
}

/** The checksum was right, so JSON that does not parse was never written by this version. */
function parse(text: string, origin: DataOrigin, read: (text: string) => unknown = JSON.parse): unknown {
  try {
    return read(text);
  } catch {
    throw new CorruptDataError(origin, 0, "the fields are not JSON");
  }
}
