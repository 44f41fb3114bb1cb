/**
 * Value codec v1: a record, and the head of a store, as bytes. The layout is documented byte by byte in
 * docs/internals/storage-format.md and held by a golden file; a change of it is a new version.
 */
import type { DataOrigin } from "./corrupt-data-error.ts";
import { readMetadataFields, writeMetadataFields } from "./metadata-codec.ts";
import type { StoreHead } from "./record-store.ts";
import type { StoredRecord, VectorVersion } from "./stored-record.ts";
import { ValueReader } from "./value-reader.ts";
import { VALUE_KIND, type ValueWriter } from "./value-writer.ts";

const HAS_DOCUMENT = 1;
const HAS_URI = 2;
const HAS_METADATA = 4;

/** Valid until the writer begins the next value. */
export function encodeRecord(writer: ValueWriter, record: StoredRecord): Uint8Array {
  const { document, uri, metadata } = record;
  const flags =
    (document === null ? 0 : HAS_DOCUMENT) |
    (uri === null ? 0 : HAS_URI) |
    (metadata === null ? 0 : HAS_METADATA);
  writer.begin(VALUE_KIND.record, flags).u64(record.offset).u64(record.sequence);
  writer.u32(record.embedding.length).array(record.embedding).text(record.id);
  if (document !== null) writer.text(document);
  if (uri !== null) writer.text(uri);
  if (metadata !== null) writeMetadataFields(writer, metadata);
  return writer.finish();
}

export interface Decoding {
  readonly origin: DataOrigin;
  /** Where the vector goes if this is as long; spares memory that would have to be collected. */
  readonly into?: Float32Array | undefined;
}

/** `offset` is the one of the key: a value that stands under another key is damage too. */
export function decodeRecord(value: Uint8Array, offset: number, { origin, into }: Decoding): StoredRecord {
  const reader = new ValueReader(value, VALUE_KIND.record, origin);
  const sequence = readVersion(reader, offset);
  const embedding = readEmbedding(reader, into);
  const id = reader.text();
  const document = (reader.flags & HAS_DOCUMENT) === 0 ? null : reader.text();
  const uri = (reader.flags & HAS_URI) === 0 ? null : reader.text();
  const metadata = (reader.flags & HAS_METADATA) === 0 ? null : readMetadataFields(reader);
  reader.end();
  return { offset, sequence, id, embedding, document, uri, metadata };
}

/** The vector of a record and its version; the rest of the value is only checked as a whole. */
export function decodeVector(value: Uint8Array, offset: number, { origin, into }: Decoding): VectorVersion {
  const reader = new ValueReader(value, VALUE_KIND.record, origin);
  return { sequence: readVersion(reader, offset), embedding: readEmbedding(reader, into) };
}

function readEmbedding(reader: ValueReader, into: Float32Array | undefined): Float32Array {
  const length = reader.u32();
  if (into?.length !== length) return reader.f32Array(length);
  reader.copyTo(new Uint8Array(into.buffer, into.byteOffset, into.byteLength));
  return into;
}

function readVersion(reader: ValueReader, offset: number): number {
  const written = reader.u64();
  if (written !== offset) throw reader.fail(`holds offset ${written} under the key of offset ${offset}`);
  return reader.u64();
}

export function encodeHead(writer: ValueWriter, head: StoreHead): Uint8Array {
  writer.begin(VALUE_KIND.head).u64(head.sequence).u64(head.nextOffset);
  return writer.u32(head.dimension ?? 0).finish();
}

export function decodeHead(value: Uint8Array, origin: DataOrigin): StoreHead {
  const reader = new ValueReader(value, VALUE_KIND.head, origin);
  const head = { sequence: reader.u64(), nextOffset: reader.u64(), dimension: reader.u32() || null };
  reader.end();
  return head;
}
