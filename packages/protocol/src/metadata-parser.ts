/**
 * Metadata of records and collections as it comes off the wire. A number keeps the kind it was written with: an
 * integer literal that fits int64 becomes a `bigint`, every other number a `number` (float64).
 */
import { invalid, unprocessable } from "./errors.ts";
import type { JsonFloat } from "./json/json-float.ts";
import {
  exceedsBytes,
  isMembers,
  isNumber,
  isNumberList,
  itemPath,
  memberPath,
  membersOf,
  toNumber,
  utf8Length,
} from "./json/json-shape.ts";
import { integerArray, isInt64 } from "./integer-array.ts";
import { LIMITS } from "./limits.ts";
import type { Metadata, MetadataArray, MetadataPatch, MetadataScalar, MetadataValue } from "./metadata.ts";
import { parseSparseVector } from "./metadata-sparse-vector.ts";

const NUMBER_BYTES = 8;

/**
 * Metadata that may hold no `null`: of a new collection, or of `add`.
 *
 * @throws SheafError 422 for a value of no known kind, 400 for keys and sizes out of bounds.
 */
export function parseMetadata(value: unknown, path: string): Metadata {
  const metadata = new Map<string, MetadataValue>();
  for (const [key, member] of entriesOf(value, path)) {
    if (member === null) {
      throw unprocessable(
        memberPath(path, key),
        "must not be null; only update and upsert take null, to remove a key",
      );
    }
    metadata.set(key, parseMetadataValue(member, memberPath(path, key)));
  }
  return metadata;
}

/** Metadata of `update`, `upsert` and of a collection that is changed, where `null` removes a key. Errors as `parseMetadata`. */
export function parseMetadataPatch(value: unknown, path: string): MetadataPatch {
  const patch = new Map<string, MetadataValue | null>();
  for (const [key, member] of entriesOf(value, path)) {
    patch.set(key, member === null ? null : parseMetadataValue(member, memberPath(path, key)));
  }
  return patch;
}

/**
 * A scalar as metadata and `where` know it; `null` if the value is none. Integer literals of 2^63..2^64-1 become
 * floats here; `where` refuses them before.
 */
export function metadataScalar(value: unknown): MetadataScalar | null {
  if (typeof value === "string" || typeof value === "boolean") return value;
  if (!isNumber(value)) return null;
  if (typeof value === "bigint") return isInt64(value) ? value : Number(value);
  return typeof value === "number" && Number.isInteger(value) ? BigInt(value) : toNumber(value);
}

function entriesOf(value: unknown, path: string): readonly [string, unknown][] {
  const entries = Object.entries(membersOf(value, path));
  if (entries.length > LIMITS.metadataKeys) {
    throw invalid(path, `holds ${entries.length} keys, the limit is ${LIMITS.metadataKeys}`);
  }
  for (const [key] of entries) checkKey(key, path);
  return entries;
}

function checkKey(key: string, path: string): void {
  if (key === "") throw invalid(path, "Metadata key cannot be empty");
  if (key.startsWith("#") || key.startsWith("$")) {
    throw invalid(memberPath(path, key), "Metadata key cannot start with '#' or '$'");
  }
  if (exceedsBytes(key, LIMITS.metadataKeyBytes)) {
    throw invalid(memberPath(path, key), `Metadata key is over ${LIMITS.metadataKeyBytes} bytes`);
  }
}

function parseMetadataValue(value: unknown, path: string): MetadataValue {
  if (typeof value === "string") {
    if (exceedsBytes(value, LIMITS.metadataValueBytes)) throw tooLarge(path);
    return value;
  }
  if (Array.isArray(value)) return parseArray(value, path);
  if (isNumberList(value)) {
    if (value.length * NUMBER_BYTES > LIMITS.metadataValueBytes) throw tooLarge(path);
    return value;
  }
  if (isMembers(value)) {
    if (!("indices" in value)) throw unprocessable(path, "must not be an object, except for a sparse vector");
    return parseSparseVector(value, path);
  }
  const scalar = metadataScalar(value);
  if (scalar === null) throw unprocessable(path, "must be a string, number, boolean, array or sparse vector");
  return scalar;
}

/** Arrays of numbers come as typed arrays where `readJson` has made such, else item by item. */
function parseArray(items: readonly unknown[], path: string): MetadataArray {
  const kinds = new Set<ScalarKind>();
  let bytes = 0;
  for (const [index, item] of items.entries()) {
    const kind = scalarKind(item);
    if (kind === null) throw unprocessable(itemPath(path, index), "must be a string, number or boolean");
    kinds.add(kind);
    bytes += typeof item === "string" ? Math.max(utf8Length(item), 1) : kind === "bool" ? 1 : NUMBER_BYTES;
  }
  if (bytes > LIMITS.metadataValueBytes) throw tooLarge(path);
  return homogeneous(items, kinds, path);
}

type ScalarKind = "bool" | "string" | "int" | "float";

/** `null`: no scalar. */
function scalarKind(value: unknown): ScalarKind | null {
  if (typeof value === "string") return "string";
  if (typeof value === "boolean") return "bool";
  if (!isNumber(value)) return null;
  const isInteger = typeof value === "bigint" ? isInt64(value) : Number.isInteger(value);
  return isInteger ? "int" : "float";
}

/** One kind for all: integers beside floats become floats; any other mixture is refused. */
function homogeneous(items: readonly unknown[], kinds: ReadonlySet<ScalarKind>, path: string): MetadataArray {
  if (kinds.has("string") || kinds.has("bool") || kinds.size === 0) {
    if (kinds.size > 1) throw unprocessable(path, "must hold values of one kind");
    return items as readonly string[] | readonly boolean[];
  }
  const numbers = items as readonly (number | bigint | JsonFloat)[];
  return kinds.has("float")
    ? Float64Array.from(numbers, toNumber)
    : integerArray(numbers as readonly (number | bigint)[]);
}

function tooLarge(path: string): Error {
  return invalid(path, `is over ${LIMITS.metadataValueBytes} bytes`);
}
