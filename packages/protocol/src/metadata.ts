/**
 * Metadata values as every part behind the parser holds them. A number's kind is its JavaScript type: `bigint` is an
 * int64 and `number` is a float64, so `3` and `3.0` stay apart and 2^53+1 stays itself. JavaScript compares the two
 * by exact numeric value (`1n < 1.5`), which is the rule of `where`.
 */

/** Coordinates of a sparse vector: strictly ascending u32 indices, finite f32 values, one value per index. */
export interface SparseVector {
  readonly indices: Uint32Array;
  readonly values: Float32Array;
  /** The term behind each index, if the writer sent them. */
  readonly tokens?: readonly string[];
}

export type MetadataScalar = string | boolean | bigint | number;

/** Arrays hold one kind only; an empty array counts as an array of booleans. */
export type MetadataArray = readonly string[] | readonly boolean[] | readonly bigint[] | readonly number[];

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
    const first = value[0];
    return first === undefined ? "bool_array" : (`${scalarKind(first)}_array` as const);
  }
  return scalarKind(value);
}

function scalarKind(value: MetadataScalar): "bool" | "int" | "float" | "string" {
  if (typeof value === "boolean") return "bool";
  if (typeof value === "bigint") return "int";
  return typeof value === "number" ? "float" : "string";
}
