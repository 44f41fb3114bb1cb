/**
 * Identity and order of metadata values across types, for grouping: Bool < Int < Float < Str < Sparse < BoolArray <
 * IntArray < FloatArray < StrArray; strings by their UTF-8 bytes, arrays element by element. An int never equals a
 * float here.
 */
import {
  type MetadataArray,
  type MetadataKind,
  type MetadataScalar,
  type MetadataValue,
  isSparseVector,
  metadataKind,
} from "@sheaf/protocol";

const KIND_ORDER: Record<MetadataKind, number> = {
  bool: 0,
  int: 1,
  float: 2,
  string: 3,
  sparse_vector: 4,
  bool_array: 5,
  int_array: 6,
  float_array: 7,
  string_array: 8,
};

/** Equal for equal values of one kind and for nothing else. */
export function metadataIdentity(value: MetadataValue): string {
  const kind = KIND_ORDER[metadataKind(value)];
  if (typeof value !== "object") return `${kind}${scalarIdentity(value)}`;
  let parts = "";
  for (const part of isSparseVector(value) ? [...value.indices, ...value.values] : value) {
    parts += scalarIdentity(part);
  }
  return `${kind}[${parts}]`;
}

/** Comparator; a missing value (`undefined`) comes before every other. */
export function compareMetadata(a: MetadataValue | undefined, b: MetadataValue | undefined): number {
  if (a === undefined || b === undefined) return Number(a !== undefined) - Number(b !== undefined);
  const kinds = KIND_ORDER[metadataKind(a)] - KIND_ORDER[metadataKind(b)];
  if (kinds !== 0) return kinds;
  if (typeof a !== "object" || typeof b !== "object")
    return compareScalars(a as MetadataScalar, b as MetadataScalar);
  if (isSparseVector(a) && isSparseVector(b)) {
    return compareLists(a.indices, b.indices) || compareLists(a.values, b.values);
  }
  return compareLists(a as MetadataArray, b as MetadataArray);
}

/** The length keeps neighbours in a list apart. */
function scalarIdentity(value: MetadataScalar): string {
  const text = String(value);
  return `${text.length}:${text}`;
}

function compareLists(a: ArrayLike<MetadataScalar>, b: ArrayLike<MetadataScalar>): number {
  for (let i = 0; i < a.length && i < b.length; i++) {
    const order = compareScalars(a[i]!, b[i]!);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

/** Both of one kind; an integer of an array may be a `number` or a `bigint`, which never equal each other by `===`. */
function compareScalars(a: MetadataScalar, b: MetadataScalar): number {
  if (typeof a === "string" && typeof b === "string") return compareUtf8(a, b);
  if (a < b) return -1;
  return a > b ? 1 : 0;
}

function compareUtf8(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return bytewise(x) - bytewise(y);
  }
  return a.length - b.length;
}

/** Surrogates stand for code points above U+FFFF, so their bytes sort after those of U+E000 to U+FFFF. */
function bytewise(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
