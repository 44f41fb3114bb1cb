/**
 * Typed metadata inside a value: a count, then key, kind and payload of each entry in the order it was written.
 * int64 and float64 keep their kind and every bit. The layout is in docs/internals/storage-format.md.
 */
import {
  type Metadata,
  type MetadataKind,
  type MetadataValue,
  type SparseVector,
  isIntegerArray,
  metadataKind,
} from "@sheaf/protocol";
import { eachMember } from "../member-steps.ts";
import { KIND_NUMBER, kindOf } from "../metadata-kinds.ts";
import type { ValueReader } from "./value-reader.ts";
import type { ValueWriter } from "./value-writer.ts";

export function writeMetadataFields(writer: ValueWriter, metadata: Metadata): void {
  writer.u32(metadata.size);
  for (const [key, value] of metadata) writeField(writer, key, value);
}

/** The same in steps: a value at a time, or a part of a long array. */
export function* writeMetadataInSteps(writer: ValueWriter, metadata: Metadata): Generator<void, void> {
  writer.u32(metadata.size);
  for (const [key, value] of metadata) {
    if (Array.isArray(value)) yield* writeListInSteps(writer, key, value);
    else writeField(writer, key, value);
    yield;
  }
}

function* writeListInSteps(
  writer: ValueWriter,
  key: string,
  members: readonly string[] | readonly boolean[],
): Generator<void, void> {
  writer.text(key).u8(KIND_NUMBER[metadataKind(members)]).u32(members.length);
  yield* eachMember(members.length, (at) => writeScalar(writer, members[at]!));
}

export function readMetadataFields(reader: ValueReader): Metadata {
  const metadata = new Map<string, MetadataValue>();
  const count = reader.u32();
  for (let entry = 0; entry < count; entry++) readField(reader, metadata);
  return metadata;
}

/** The same in steps, as they are written. */
export function* readMetadataInSteps(reader: ValueReader): Generator<void, Metadata> {
  const metadata = new Map<string, MetadataValue>();
  for (let left = reader.u32(); left > 0; left--) {
    const key = reader.text();
    const kind = readKind(reader);
    const element = ELEMENTS.get(kind);
    const value = element === undefined ? READERS[kind](reader) : yield* readListInSteps(reader, element);
    metadata.set(key, value as MetadataValue);
    yield;
  }
  return metadata;
}

function* readListInSteps<T>(reader: ValueReader, element: (reader: ValueReader) => T): Generator<void, T[]> {
  const values: T[] = [];
  yield* eachMember(reader.u32(), () => values.push(element(reader)));
  return values;
}

function readField(reader: ValueReader, into: Map<string, MetadataValue>): void {
  const key = reader.text();
  into.set(key, READERS[readKind(reader)](reader));
}

function readKind(reader: ValueReader): MetadataKind {
  const code = reader.u8();
  const kind = kindOf(code);
  if (kind === undefined) throw reader.fail(`metadata kind ${code} is unknown`);
  return kind;
}

function writeField(writer: ValueWriter, key: string, value: MetadataValue): void {
  writer.text(key).u8(KIND_NUMBER[metadataKind(value)]);
  writeValue(writer, value);
}

function writeValue(writer: ValueWriter, value: MetadataValue): void {
  if (typeof value !== "object") writeScalar(writer, value);
  else if ("indices" in value) writeSparse(writer, value);
  else if (isIntegerArray(value)) writer.u32(value.length).integers(value);
  else if (value instanceof Float64Array) writer.u32(value.length).array(value);
  else {
    writer.u32(value.length);
    for (const element of value) writeScalar(writer, element);
  }
}

function writeScalar(writer: ValueWriter, value: string | boolean | bigint | number): void {
  if (typeof value === "string") writer.text(value);
  else if (typeof value === "bigint") writer.i64(value);
  else if (typeof value === "number") writer.f64(value);
  else writer.u8(value ? 1 : 0);
}

function writeSparse(writer: ValueWriter, { indices, values, tokens }: SparseVector): void {
  writer.u32(indices.length).array(indices).array(values);
  writer.u8(tokens === undefined ? 0 : 1);
  for (const token of tokens ?? []) writer.text(token);
}

/** How the members of arrays that are lists are read. */
const ELEMENTS: ReadonlyMap<MetadataKind, (reader: ValueReader) => string | boolean> = new Map<
  MetadataKind,
  (reader: ValueReader) => string | boolean
>([
  ["bool_array", readBool],
  ["string_array", readText],
]);

/** How the payload of each kind is read. */
const READERS: Readonly<Record<MetadataKind, (reader: ValueReader) => MetadataValue>> = {
  bool: readBool,
  int: readInt,
  float: readFloat,
  string: readText,
  sparse_vector: readSparse,
  bool_array: (reader) => readArray(reader, readBool),
  int_array: (reader) => reader.integers(reader.u32()),
  float_array: (reader) => reader.f64Array(reader.u32()),
  string_array: (reader) => readArray(reader, readText),
};

function readBool(reader: ValueReader): boolean {
  return reader.u8() === 1;
}

function readInt(reader: ValueReader): bigint {
  return reader.i64();
}

function readFloat(reader: ValueReader): number {
  return reader.f64();
}

function readText(reader: ValueReader): string {
  return reader.text();
}

function readArray<T>(reader: ValueReader, element: (reader: ValueReader) => T): T[] {
  const values: T[] = [];
  const length = reader.u32();
  for (let at = 0; at < length; at++) values.push(element(reader));
  return values;
}

function readSparse(reader: ValueReader): SparseVector {
  const length = reader.u32();
  const indices = reader.u32Array(length);
  const values = reader.f32Array(length);
  if (reader.u8() === 0) return { indices, values };
  return { indices, values, tokens: Array.from({ length }, () => reader.text()) };
}
