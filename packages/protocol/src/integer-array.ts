/**
 * Integer arrays of metadata: 64-bit integers in the narrowest typed array that holds all of them, so that a million small
 * ones take a megabyte and not twenty. Equal arrays have the same form, whoever made them. A member of the narrow forms is
 * read as a `number`; `arrayMembers` gives members as metadata knows them.
 */
export type IntegerArray = Int8Array | Int16Array | Int32Array | BigInt64Array;

/** Bytes of an element; the forms in ascending order. */
export type IntegerWidth = 1 | 2 | 4 | 8;

export const INTEGER_WIDTHS: readonly IntegerWidth[] = [1, 2, 4, 8];

const FORMS = { 1: Int8Array, 2: Int16Array, 4: Int32Array, 8: BigInt64Array } as const;

/** @param values Integers within int64, as `number` or `bigint`. */
export function integerArray(values: readonly (number | bigint)[]): IntegerArray {
  let width: IntegerWidth = 1;
  for (const value of values) {
    if (width < 8) width = Math.max(width, integerWidth(value)) as IntegerWidth;
  }
  if (width === 8) return BigInt64Array.from(values, BigInt);
  const integers = emptyIntegerArray(width, values.length);
  for (let i = 0; i < values.length; i += 1) integers[i] = Number(values[i]);
  return integers;
}

/** Zeros. */
export function emptyIntegerArray(width: IntegerWidth, length: number): IntegerArray {
  return new FORMS[width](length);
}

/** Bytes that the integer needs. */
export function integerWidth(value: number | bigint): IntegerWidth {
  // A number beyond 2^53 has no bits that tell it from its neighbours, but it does not fit 32 bits either.
  const integer = Number(value);
  if ((integer | 0) !== integer) return 8;
  if ((integer << 24) >> 24 === integer) return 1;
  return (integer << 16) >> 16 === integer ? 2 : 4;
}

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

export function isInt64(value: bigint): boolean {
  return value >= INT64_MIN && value <= INT64_MAX;
}

export function isIntegerArray(value: unknown): value is IntegerArray {
  return (
    value instanceof Int8Array ||
    value instanceof Int16Array ||
    value instanceof Int32Array ||
    value instanceof BigInt64Array
  );
}
