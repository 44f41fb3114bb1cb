/**
 * JSON of the values that `JSON.stringify` would print as another kind: metadata with its int64 and float64 numbers,
 * f32 vectors, sparse vectors. Parts are strings so that replies can be put together and sent in pieces.
 */
import { isIntegerArray } from "../integer-array.ts";
import { writeFloat32Array } from "./json-writer-float32.ts";
import {
  isSparseVector,
  type Metadata,
  type MetadataScalar,
  type MetadataValue,
  type SparseVector,
} from "../metadata.ts";
import { SPARSE_VECTOR_TYPE } from "../metadata-sparse-vector.ts";

/** An object, or `null` for metadata that is absent or has no keys to be kept: clients read both back as `null`. */
export function writeMetadata(
  metadata: Metadata | null,
  keep: (key: string) => boolean = () => true,
): string {
  if (metadata === null) return "null";
  let text = "";
  for (const [key, value] of metadata) {
    if (keep(key)) text += `${text === "" ? "{" : ","}${JSON.stringify(key)}:${writeMetadataValue(value)}`;
  }
  return text === "" ? "null" : `${text}}`;
}

/** Vectors of an embed reply: `[[0.1,0.2],[0.3,0.4]]`. */
export function writeDense(vectors: readonly Float32Array[]): string {
  return writeArray(vectors, writeVector);
}

/**
 * Vectors of a sparse embed reply: `[{"indices":[1],"values":[0.5]}]`. With `labels` the tokens behind the indices
 * follow, where the vector has them.
 */
export function writeSparse(vectors: readonly SparseVector[], labels: boolean): string {
  return writeArray(vectors, (vector) => {
    const tokens = labels && vector.tokens !== undefined ? `,"labels":${JSON.stringify(vector.tokens)}` : "";
    return `{${writeCoordinates(vector)}${tokens}}`;
  });
}

/** One dense vector. */
export function writeVector(vector: Float32Array): string {
  return writeFloat32Array(vector, "2.0");
}

/** A JSON array of what `write` makes of each item. */
export function writeArray<Item>(items: readonly Item[], write: (item: Item) => string): string {
  return `[${items.map(write).join(",")}]`;
}

export function writeMetadataValue(value: MetadataValue): string {
  if (typeof value !== "object") return writeScalar(value);
  if (isIntegerArray(value)) return `[${value.join(",")}]`;
  if (value instanceof Float64Array) return writeArray([...value], writeFloat64);
  if (!isSparseVector(value)) return writeArray<MetadataScalar>(value, writeScalar);
  const tokens = value.tokens === undefined ? "" : `,"tokens":${JSON.stringify(value.tokens)}`;
  return `{"#type":"${SPARSE_VECTOR_TYPE}",${writeCoordinates(value)}${tokens}}`;
}

function writeCoordinates(vector: SparseVector): string {
  return `"indices":[${vector.indices.join(",")}],"values":${writeFloat32Array(vector.values, "2")}`;
}

function writeScalar(value: MetadataScalar): string {
  if (typeof value === "string") return JSON.stringify(value);
  return typeof value === "number" ? writeFloat64(value) : `${value}`;
}

/** A float64 that no reader can take for an integer. */
export function writeFloat64(value: number): string {
  if (!Number.isFinite(value)) return "null";
  const text = Object.is(value, -0) ? "-0" : `${value}`;
  return /[.e]/.test(text) ? text : `${text}.0`;
}
