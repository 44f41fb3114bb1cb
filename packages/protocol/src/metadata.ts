/**
 * Metadata values as every part behind the parser holds them. A number's kind is its JavaScript type: `bigint` is an
 * int64 and `number` is a float64, so `3` and `3.0` stay apart and 2^53+1 stays itself. JavaScript compares the two
 * by exact numeric value (`1n < 1.5`), which is the rule of `where`. Arrays of numbers are typed arrays, which take 1 to 8
 * bytes an element: see integer-array.ts.
 */
import { type IntegerArray, isIntegerArray } from "./integer-array.ts";

/** Coordinates of a sparse vector: strictly ascending u32 indices, finite f32 values, one value per index. */
export interface SparseVector {
  readonly indices: Uint32Array;
  readonly values: Float32Array;
  /** The term behind each index, if the writer sent them. */
  readonly tokens?: readonly string[];
}

export type MetadataScalar = string | boolean | bigint | number;

/** Arrays hold one kind only; an empty array counts as an array of booleans. */
export type MetadataArray = readonly string[] | readonly boolean[] | IntegerArray | Float64Array;

export type MetadataValue = MetadataScalar | MetadataArray | SparseVector;

/** A record's or a collection's metadata: never empty of meaning, keys in the order they were written. */
export type Metadata = ReadonlyMap<string, MetadataValue>;

/** Metadata of an update: `null` removes the key. */
export type MetadataPatch = ReadonlyMap<string, MetadataValue | null>;

export type MetadataKind =
  | "bool"
  | "int"
  | "float"
  | "string"
  | "sparse_vector"
  | "bool_array"
  | "int_array"
  | "float_array"
  | "string_array";

export function isSparseVector(value: MetadataValue): value is SparseVector {
  return typeof value === "object" && "indices" in value;
}

export function metadataKind(value: MetadataValue): MetadataKind {
  if (typeof value === "object") {
    if (isSparseVector(value)) return "sparse_vector";
    if (isIntegerArray(value)) return "int_array";
    if (value instanceof Float64Array) return "float_array";
    return typeof value[0] === "string" ? "string_array" : "bool_array";
  }
  return scalarKind(value);
}

/** The members in their order, an integer as `bigint`. */
export function* arrayMembers(array: MetadataArray): Generator<MetadataScalar> {
  if (isIntegerArray(array)) for (const member of array) yield BigInt(member);
  else yield* array;
}

function scalarKind(value: MetadataScalar): "bool" | "int" | "float" | "string" {
  if (typeof value === "boolean") return "bool";
  if (typeof value === "bigint") return "int";
  return typeof value === "number" ? "float" : "string";
}
