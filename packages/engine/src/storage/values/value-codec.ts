/**
 * Value codec v1: a record, and the head of a store, as bytes. The layout is documented byte by byte in
 * docs/internals/storage-format.md and held by a golden file; a change of it is a new version.
 */
import { type DocumentText, isLongDocument } from "@sheaf/protocol";
import { prepare } from "../../kernels/distance.ts";
import { type QueryDistance, valueMemory } from "../../kernels/value-memory.ts";
import type { DataOrigin } from "../corrupt-data-error.ts";
import { crc32cInSteps } from "./crc32c.ts";
import {
  readMetadataFields,
  readMetadataInSteps,
  writeMetadataFields,
  writeMetadataInSteps,
} from "./metadata-codec.ts";
import { recordBytes } from "./record-bytes.ts";
import type { StoreHead } from "../record-store.ts";
import type { DocumentVersion, StoredRecord, VectorDistance, VectorVersion } from "../stored-record.ts";
import { ValueReader } from "./value-reader.ts";
import { FRAME_BYTES, VALUE_KIND, VALUE_VERSION, ValueWriter } from "./value-writer.ts";

const HAS_DOCUMENT = 1;
const HAS_URI = 2;
const HAS_METADATA = 4;
/** Of a head. */
const HAS_CHANGES = 1;
const HAS_COUNTS = 2;
/** Version and kind of a record's value, as they lie in its second word. */
const RECORD_FRAME = VALUE_VERSION | (VALUE_KIND.record << 8);
/** Byte of a value's flags. */
const FLAGS_AT = 6;
/** Byte at which a record's vector begins: behind the frame, offset, sequence and length. */
const VECTOR_AT = FRAME_BYTES + 20;

/** A value of more bytes takes many milliseconds to encode or decode. */
const LONG_VALUE_BYTES = 1024 * 1024;

export function isLongValue(bytes: number): boolean {
  return bytes > LONG_VALUE_BYTES;
}

/** Valid until the writer begins the next value. */
export function encodeRecord(writer: ValueWriter, record: StoredRecord): Uint8Array {
  const { document, uri, metadata } = record;
  beginRecord(writer, record);
  if (typeof document === "string") writer.text(document);
  else if (document !== null) writer.bytes(document);
  if (uri !== null) writer.text(uri);
  if (metadata !== null) writeMetadataFields(writer, metadata);
  return writer.finish();
}

/** Of a record that is long; the value has memory of its own. */
export function* encodeRecordInSteps(record: StoredRecord): Generator<void, Uint8Array> {
  const { document, uri, metadata } = record;
  const writer = new ValueWriter(recordBytes(record));
  beginRecord(writer, record);
  if (typeof document === "string") writer.text(document);
  else if (document !== null) yield* writer.bytesInSteps(document);
  if (uri !== null) writer.text(uri);
  if (metadata !== null) yield* writeMetadataInSteps(writer, metadata);
  return yield* writer.finishInSteps();
}

function beginRecord(writer: ValueWriter, record: StoredRecord): void {
  const { document, uri, metadata } = record;
  const flags =
    (document === null ? 0 : HAS_DOCUMENT) |
    (uri === null ? 0 : HAS_URI) |
    (metadata === null ? 0 : HAS_METADATA);
  writer.begin(VALUE_KIND.record, flags).u64(record.offset).u64(record.sequence);
  writer.u32(record.embedding.length).array(record.embedding).text(record.id);
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
  const document = (reader.flags & HAS_DOCUMENT) === 0 ? null : readDocument(reader);
  const uri = (reader.flags & HAS_URI) === 0 ? null : reader.text();
  const metadata = (reader.flags & HAS_METADATA) === 0 ? null : readMetadataFields(reader);
  reader.end();
  return { offset, sequence, id, embedding, document, uri, metadata };
}

/** `decodeRecord` of a value that is long. The record keeps the bytes, which must be its own. */
export function* decodeRecordInSteps(
  value: Uint8Array,
  offset: number,
  origin: DataOrigin,
): Generator<void, StoredRecord> {
  const reader = new ValueReader(value, VALUE_KIND.record, origin, yield* crc32cInSteps(value, 4));
  const sequence = readVersion(reader, offset);
  const embedding = readEmbedding(reader);
  const id = reader.text();
  const document = (reader.flags & HAS_DOCUMENT) === 0 ? null : readDocument(reader, true);
  const uri = (reader.flags & HAS_URI) === 0 ? null : reader.text();
  const metadata = (reader.flags & HAS_METADATA) === 0 ? null : yield* readMetadataInSteps(reader);
  reader.end();
  return { offset, sequence, id, embedding, document, uri, metadata };
}

/** The vector of a record and its version; the rest of the value is only checked as a whole. */
export function decodeVector(value: Uint8Array, offset: number, origin: DataOrigin): VectorVersion {
  const reader = new ValueReader(value, VALUE_KIND.record, origin);
  return { sequence: readVersion(reader, offset), embedding: readEmbedding(reader) };
}

/** The document of a record and its version, as bytes of the value; the rest is only checked as a whole. */
export function decodeDocument(value: Uint8Array, offset: number, origin: DataOrigin): DocumentVersion {
  const reader = new ValueReader(value, VALUE_KIND.record, origin);
  const sequence = readVersion(reader, offset);
  reader.skip(reader.u32() * 4);
  reader.skip(reader.u32());
  return { sequence, document: (reader.flags & HAS_DOCUMENT) === 0 ? null : reader.view(reader.u32()) };
}

/** The id of a record, as bytes of the value; the rest is only checked as a whole. */
export function decodeId(value: Uint8Array, offset: number, origin: DataOrigin): Uint8Array {
  const reader = new ValueReader(value, VALUE_KIND.record, origin);
  readVersion(reader, offset);
  reader.skip(reader.u32() * 4);
  return reader.view(reader.u32());
}

/** How long the document of a record's value says it is, unchecked but for the value's own length. */
export function peekDocumentBytes(value: Uint8Array): number {
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  if (bytes.length < VECTOR_AT || (bytes[FLAGS_AT]! & HAS_DOCUMENT) === 0) return 0;
  const idAt = VECTOR_AT + 4 * bytes.readUInt32LE(VECTOR_AT - 4);
  if (idAt + 4 > bytes.length) return 0;
  const documentAt = idAt + 4 + bytes.readUInt32LE(idAt);
  if (documentAt + 4 > bytes.length) return 0;
  return Math.min(bytes.readUInt32LE(documentAt), bytes.length);
}

export interface Comparing {
  readonly origin: DataOrigin;
  readonly query: QueryDistance;
}

/** How far the vector of a record is from a query. Checks what `decodeVector` checks. */
export function decodeDistance(
  value: Uint8Array,
  offset: number,
  { origin, query }: Comparing,
): VectorDistance {
  const memory = valueMemory();
  const { length } = value;
  if (length >= VECTOR_AT && length <= memory.capacity) {
    memory.load(value);
    const { words } = memory;
    const sequence = words[5]! * 2 ** 32 + words[4]!;
    if (
      ~memory.checksum(0xffffffff, 4, length) === (words[0]! | 0) &&
      (words[1]! & 0xffff) === RECORD_FRAME &&
      offset === words[3]! * 2 ** 32 + words[2]! &&
      Number.isSafeInteger(sequence) &&
      words[6] === query.prepared.length &&
      VECTOR_AT + words[6] * 4 <= length
    )
      return { sequence, distance: memory.distance(query, VECTOR_AT) };
  }
  // Longer than is common, or not as it should be.
  const { sequence, embedding } = decodeVector(value, offset, origin);
  return { sequence, distance: query.toPrepared(prepare(query.space, embedding)) };
}

function readEmbedding(reader: ValueReader, into?: Float32Array): Float32Array {
  const length = reader.u32();
  if (into?.length !== length) return reader.f32Array(length);
  reader.copyTo(new Uint8Array(into.buffer, into.byteOffset, into.byteLength));
  return into;
}

function readDocument(reader: ValueReader, isOwned = false): DocumentText {
  const length = reader.u32();
  if (!isLongDocument(length)) return reader.text(length);
  return isOwned ? reader.view(length) : reader.bytes(length);
}

function readVersion(reader: ValueReader, offset: number): number {
  const written = reader.u64();
  if (written !== offset) throw reader.fail(`holds offset ${written} under the key of offset ${offset}`);
  return reader.u64();
}

/** What a store holds. */
export interface StoreCounts {
  readonly records: number;
  /** Beside the head. */
  readonly entries: number;
  /** Of their keys and values. */
  readonly bytes: number;
}

export const NO_ENTRIES: StoreCounts = Object.freeze({ records: 0, entries: 0, bytes: 0 });

/** What stands under the key of the head. */
export interface HeadValue {
  readonly head: StoreHead;
  /** Sequence number from which on every operation has its change key or removal key. */
  readonly completeFrom: number;
  /** Where others have entries in the same environment; `null`: LMDB counts. */
  readonly counts: StoreCounts | null;
}

export function encodeHead(writer: ValueWriter, { head, completeFrom, counts }: HeadValue): Uint8Array {
  writer.begin(VALUE_KIND.head, HAS_CHANGES | (counts === null ? 0 : HAS_COUNTS));
  writer
    .u64(head.sequence)
    .u64(head.nextOffset)
    .u32(head.dimension ?? 0)
    .u64(completeFrom);
  if (counts !== null) writer.u64(counts.records).u64(counts.entries).u64(counts.bytes);
  return writer.finish();
}

/** A head of version 1 of the data folder has no change keys below it. */
export function decodeHead(value: Uint8Array, origin: DataOrigin): HeadValue {
  const reader = new ValueReader(value, VALUE_KIND.head, origin);
  const head = { sequence: reader.u64(), nextOffset: reader.u64(), dimension: reader.u32() || null };
  const completeFrom = (reader.flags & HAS_CHANGES) === 0 ? head.sequence : reader.u64();
  if (completeFrom > head.sequence) throw reader.fail(`its changes begin at ${completeFrom}, above it`);
  const hasCounts = (reader.flags & HAS_COUNTS) !== 0;
  const counts = hasCounts ? { records: reader.u64(), entries: reader.u64(), bytes: reader.u64() } : null;
  reader.end();
  return { head, completeFrom, counts };
}
