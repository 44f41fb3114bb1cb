/**
 * Long lists of numbers of one kind, read from the bytes of a body: a list of integers becomes an `IntegerArray`, a list
 * of floats a `Float64Array`. As values of `JSON.parse` they would take 8 to 32 bytes an element, and the text as much
 * again. What is mixed, beyond 64 bits, or no list of numbers is left to the general way, which also words the refusals.
 */
import {
  type IntegerArray,
  type IntegerWidth,
  emptyIntegerArray,
  integerWidth,
  isInt64,
} from "../integer-array.ts";

const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const PLUS = 0x2b;
const ZERO = 0x30;
const LOWER_E = 0x65;
const UPPER_E = 0x45;
const CLOSE_ARRAY = 0x5d;
/** Shorter lists are cheap in the general way. */
const MIN_NUMBERS = 64;
/** Digits whose value a `number` holds exactly. */
const EXACT_DIGITS = 15;
/** Powers of ten up to this one are exact in float64. */
const POWERS = Array.from({ length: 23 }, (_, exponent) => 10 ** exponent);

/** Of the token that was passed last; nothing here is re-entrant. */
let isFloat = false;
let magnitude = 0;
let digits = 0;

/** What was found at an opening bracket. */
export interface NumberList {
  readonly numbers: IntegerArray | Float64Array;
  /** Position of the closing bracket. */
  readonly end: number;
}

/** @param open Position of the opening bracket. `null`: the general way has to read it. */
export function readNumberList(bytes: Uint8Array, open: number): NumberList | null {
  let at = skipSpace(bytes, open + 1);
  if (!isDigit(bytes[at]) && bytes[at] !== MINUS) return null;
  let count = 0;
  let width: IntegerWidth = 1;
  let floats = false;
  for (;;) {
    const start = at;
    at = passNumber(bytes, at);
    if (at === -1 || (count > 0 && isFloat !== floats)) return null;
    floats = isFloat;
    count += 1;
    if (!floats && width < 8) {
      const value = bytes[start] === MINUS ? -magnitude : magnitude;
      width = digits > EXACT_DIGITS ? 8 : (Math.max(width, integerWidth(value)) as IntegerWidth);
    }
    at = skipSpace(bytes, at);
    if (bytes[at] !== COMMA) break;
    at = skipSpace(bytes, at + 1);
  }
  if (bytes[at] !== CLOSE_ARRAY || count < MIN_NUMBERS) return null;
  const numbers = floats ? readFloats(bytes, open, count) : readIntegers(bytes, open, { count, width });
  return numbers === null ? null : { numbers, end: at };
}

/** Behind a valid number token, or -1. */
function passNumber(bytes: Uint8Array, start: number): number {
  const integer = bytes[start] === MINUS ? start + 1 : start;
  let at = integer;
  let value = 0;
  for (; isDigit(bytes[at]); at += 1) value = value * 10 + bytes[at]! - ZERO;
  magnitude = value;
  digits = at - integer;
  if (digits === 0 || (digits > 1 && bytes[integer] === ZERO)) return -1;
  isFloat = false;
  if (bytes[at] === DOT) {
    const fraction = at + 1;
    at = skipDigits(bytes, fraction);
    if (at === fraction) return -1;
    isFloat = true;
  }
  if (bytes[at] === LOWER_E || bytes[at] === UPPER_E) {
    at += bytes[at + 1] === PLUS || bytes[at + 1] === MINUS ? 2 : 1;
    const exponent = at;
    at = skipDigits(bytes, exponent);
    if (at === exponent) return -1;
    isFloat = true;
  }
  return at;
}

/** `null`: one of them is beyond int64. */
function readIntegers(
  bytes: Uint8Array,
  open: number,
  { count, width }: { readonly count: number; readonly width: IntegerWidth },
): IntegerArray | null {
  const integers = emptyIntegerArray(width, count);
  let at = open;
  for (let index = 0; index < count; index += 1) {
    const start = skipSpace(bytes, at + 1);
    at = passNumber(bytes, start);
    const value = bytes[start] === MINUS ? -magnitude : magnitude;
    if (!(integers instanceof BigInt64Array)) integers[index] = value;
    else if (digits <= EXACT_DIGITS) integers[index] = BigInt(value);
    else {
      const long = BigInt(tokenOf(bytes, start, at));
      if (!isInt64(long)) return null;
      integers[index] = long;
    }
    at = skipSpace(bytes, at);
  }
  return integers;
}

/** `null`: one of them is beyond float64. */
function readFloats(bytes: Uint8Array, open: number, count: number): Float64Array | null {
  const floats = new Float64Array(count);
  let at = open;
  for (let index = 0; index < count; index += 1) {
    const start = skipSpace(bytes, at + 1);
    at = passNumber(bytes, start);
    const value = shortDecimal(bytes, start, at) ?? Number(tokenOf(bytes, start, at));
    if (!Number.isFinite(value)) return null;
    floats[index] = value;
    at = skipSpace(bytes, at);
  }
  return floats;
}

/** A token without exponent and of few digits, which one division rounds right (Clinger); `null` for another. */
function shortDecimal(bytes: Uint8Array, start: number, end: number): number | null {
  if (end - start > EXACT_DIGITS) return null;
  const isNegative = bytes[start] === MINUS;
  let value = 0;
  let places = 0;
  for (let at = isNegative ? start + 1 : start; at < end; at += 1) {
    const byte = bytes[at]!;
    if (byte === DOT) places = end - at - 1;
    else if (isDigit(byte)) value = value * 10 + byte - ZERO;
    else return null;
  }
  const decimal = value / POWERS[places]!;
  return isNegative ? -decimal : decimal;
}

const ASCII = new TextDecoder("latin1");

function tokenOf(bytes: Uint8Array, start: number, end: number): string {
  return ASCII.decode(bytes.subarray(start, end));
}

function skipDigits(bytes: Uint8Array, from: number): number {
  let at = from;
  while (isDigit(bytes[at])) at += 1;
  return at;
}

function skipSpace(bytes: Uint8Array, from: number): number {
  let at = from;
  for (
    let byte = bytes[at]!;
    byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
    byte = bytes[at]!
  )
    at += 1;
  return at;
}

/** The ten digits differ from 0x30 in nothing but their value; so does nothing else, `undefined` beyond the end included. */
function isDigit(byte: number | undefined): boolean {
  return (byte! ^ ZERO) <= 9;
}
