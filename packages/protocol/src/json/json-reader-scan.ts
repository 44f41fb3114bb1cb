/**
 * The pass over the bytes of a body before it is parsed: bounds are held here, and tokens that need marking for the
 * lossless path are reported. It allocates nothing for an ordinary body and does not check the grammar; `JSON.parse`
 * does that afterwards. What is reported is always a complete, valid number token or the start of a string.
 */
import { invalid } from "../errors.ts";
import type { VectorReader } from "./json-reader-vectors.ts";
import { LIMITS } from "../limits.ts";

/**
 * First character of a string that stands for a number token on the lossless path (DEL: one byte, legal unescaped).
 * A caller's string that begins with it is reported too, so that it can be told apart.
 */
export const MARK = 0x7f;

/**
 * `[start, end)` of a number token that `JSON.parse` would change, or `start === end`: a string of the caller begins
 * with the mark, `start` being the byte after its quote.
 */
export type OnMark = (start: number, end: number) => void;

/** What is told of a body while it is scanned. */
export interface ScanListener {
  readonly onMark: OnMark;
  /** Reads vectors, whose tokens are then passed over; `null`: they are numbers like any other. */
  readonly vectors: VectorReader | null;
  /** `[start, end)` of an array that was read as the next vector. */
  readonly onVector: (start: number, end: number) => void;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const LOWER_U = 0x75;

/** Decimals of at most this many digits name distinct float64 values, so their look tells their kind. */
const EXACT_DIGITS = 15;

/** Powers of ten up to this one are exact in float64. */
const EXACT_POWER = 22;

const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;

/**
 * How many members the objects of the text have together, where it is JSON.
 *
 * @throws SheafError 400 for depth, number of values and containers, a number beyond float64, and an escaped
 * surrogate without its other half (it has no UTF-8 form, so two such ids would become one).
 */
export function scanJson(bytes: Uint8Array, { onMark, vectors, onVector }: ScanListener): number {
  let members = 0;
  let stringStart = 0;
  let stringEnd = 0;
  let depth = 0;
  let values = 1;
  let containers = 0;
  const membersAt = new Uint32Array(LIMITS.jsonDepth + 1);
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]!;
    if (byte === QUOTE) {
      stringStart = at + 1;
      at = skipString(bytes, at, onMark);
      stringEnd = at;
    } else if (isDigit(byte) || byte === MINUS) {
      at = skipNumber(bytes, at, onMark);
    } else if (byte === COMMA) {
      values += 1;
    } else if (byte === 0x5b || byte === 0x7b) {
      depth += 1;
      values += 1;
      containers += 1;
      if (depth > LIMITS.jsonDepth)
        throw invalid("", `JSON is nested deeper than ${LIMITS.jsonDepth} levels`);
      membersAt[depth] = 0;
      if (vectors === null) continue;
      if (byte === 0x7b) vectors.object(depth);
      else {
        const end = vectors.array(bytes, at, depth);
        if (end === -1) continue;
        onVector(at, end + 1);
        values += vectors.commas;
        depth -= 1;
        at = end;
      }
    } else if (byte === 0x5d || byte === 0x7d) {
      depth -= 1;
    } else if (byte === COLON) {
      members += 1;
      membersAt[depth]! += 1;
      if (membersAt[depth]! > LIMITS.jsonMembers) {
        throw invalid("", `JSON holds an object of more than ${LIMITS.jsonMembers} members`);
      }
      vectors?.member(bytes, stringStart, stringEnd, depth);
    }
  }
  if (values > LIMITS.jsonNodes) throw invalid("", `JSON holds more than ${LIMITS.jsonNodes} values`);
  if (containers > LIMITS.jsonContainers) {
    throw invalid("", `JSON holds more than ${LIMITS.jsonContainers} arrays and objects`);
  }
  return members;
}

/** From the opening quote to the closing one. */
function skipString(bytes: Uint8Array, open: number, onMark: OnMark): number {
  let at = open + 1;
  if (bytes[at] === MARK || (bytes[at] === BACKSLASH && escapedUnit(bytes, at) === MARK)) onMark(at, at);
  for (; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) at = skipEscape(bytes, at);
  }
  return at;
}

/** From the backslash to the last byte of the escape, a surrogate pair being one escape. */
function skipEscape(bytes: Uint8Array, at: number): number {
  const unit = escapedUnit(bytes, at);
  if (unit === null) return at + 1;
  if (unit < 0xd800 || unit > 0xdfff) return at + 5;
  const low = unit < 0xdc00 ? escapedUnit(bytes, at + 6) : null;
  if (low === null || low < 0xdc00 || low > 0xdfff) {
    throw invalid("", `Failed to parse the request body as JSON: lone surrogate in a string at byte ${at}`);
  }
  return at + 11;
}

/** The UTF-16 unit of a `\uXXXX` at `at`; `null` if it is something else. */
function escapedUnit(bytes: Uint8Array, at: number): number | null {
  if (bytes[at] !== BACKSLASH || bytes[at + 1] !== LOWER_U) return null;
  let unit = 0;
  for (let digit = at + 2; digit < at + 6; digit += 1) {
    const value = hexValue(bytes[digit] ?? 0);
    if (value === -1) return null;
    unit = unit * 16 + value;
  }
  return unit;
}

function hexValue(byte: number): number {
  if (byte >= ZERO && byte <= NINE) return byte - ZERO;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x61 + 10 : -1;
}

/** From the first byte of a number token to its last. */
function skipNumber(bytes: Uint8Array, start: number, onMark: OnMark): number {
  const integer = bytes[start] === MINUS ? start + 1 : start;
  let at = integer;
  while (isDigit(bytes[at])) at += 1;
  const integerDigits = at - integer;
  if (bytes[at] !== DOT) {
    if (integerDigits > EXACT_DIGITS || isNumberByte(bytes[at])) return skipOddNumber(bytes, start, onMark);
    return at - 1;
  }
  const fraction = at + 1;
  const exactEnd = fraction + EXACT_DIGITS - integerDigits;
  let allZero = true;
  let allNine = true;
  at = fraction;
  // Nearly always the first two digits settle it; embeddings are little but digits, so what follows them is kept short.
  for (; (allZero || allNine) && at < exactEnd && isDigit(bytes[at]); at += 1) {
    if (bytes[at] !== ZERO) allZero = false;
    if (bytes[at] !== NINE) allNine = false;
  }
  while (isDigit(bytes[at])) at += 1;
  if (isNumberByte(bytes[at]) || at === fraction) return skipOddNumber(bytes, start, onMark);
  // A digit that is neither in a run of zeros nor of nines keeps the value further from a whole one than rounding
  // can carry it; without digits beyond the exact ones, nines are no danger either.
  if (!allZero && (!allNine || at <= exactEnd)) return at - 1;
  const plain = integerDigits === 1 || (integerDigits > 1 && bytes[integer] !== ZERO);
  if (!allZero || at > exactEnd || !plain) return skipOddNumber(bytes, start, onMark);
  onMark(start, at);
  return at - 1;
}

/** A token whose look does not tell its kind: long, with an exponent, or no number at all (left to the parser). */
function skipOddNumber(bytes: Uint8Array, start: number, onMark: OnMark): number {
  let end = start + 1;
  while (isNumberByte(bytes[end])) end += 1;
  const value = shortExponentValue(bytes, start, end);
  if (value !== null) {
    if (Number.isInteger(value)) onMark(start, end);
    return end - 1;
  }
  const text = new TextDecoder().decode(bytes.subarray(start, end));
  if (!NUMBER.test(text)) return end - 1;
  const exact = Number(text);
  if (!Number.isFinite(exact)) {
    throw invalid("", `Failed to parse the request body as JSON: number out of range at byte ${start}`);
  }
  const integerLiteral = !/[.eE]/.test(text);
  if (integerLiteral ? !Number.isSafeInteger(exact) : Number.isInteger(exact)) onMark(start, end);
  return end - 1;
}

/**
 * The value of a valid token with an exponent and few enough digits that one multiplication or division rounds it
 * right (Clinger's fast path); `null` for any other token. Spares bodies full of `1e-5` a string each.
 */
function shortExponentValue(bytes: Uint8Array, start: number, end: number): number | null {
  let at = bytes[start] === MINUS ? start + 1 : start;
  if (end - at > EXACT_DIGITS || (bytes[at] === ZERO && isDigit(bytes[at + 1]))) return null;
  const integer = at;
  let digits = 0;
  for (; isDigit(bytes[at]); at += 1) digits = digits * 10 + bytes[at]! - ZERO;
  let places = 0;
  const point = at;
  if (bytes[at] === DOT) {
    for (at += 1; isDigit(bytes[at]); at += 1) digits = digits * 10 + bytes[at]! - ZERO;
    places = at - point - 1;
  }
  if (point === integer || at === point + 1 || (bytes[at] !== 0x65 && bytes[at] !== 0x45)) return null;
  at += 1;
  const negative = bytes[at] === MINUS;
  if (negative || bytes[at] === 0x2b) at += 1;
  const exponentStart = at;
  let exponent = 0;
  for (; isDigit(bytes[at]); at += 1) exponent = exponent * 10 + bytes[at]! - ZERO;
  if (at !== end || at === exponentStart) return null;
  const scale = (negative ? -exponent : exponent) - places;
  if (Math.abs(scale) > EXACT_POWER) return null;
  return scale < 0 ? digits / 10 ** -scale : digits * 10 ** scale;
}

/** The ten digits differ from 0x30 in nothing but their value; so does nothing else, `undefined` beyond the end included. */
function isDigit(byte: number | undefined): boolean {
  return (byte! ^ ZERO) <= 9;
}

/** Any byte a number token can hold after its first. */
function isNumberByte(byte: number | undefined): boolean {
  return isDigit(byte) || byte === DOT || byte === MINUS || byte === 0x2b || byte === 0x65 || byte === 0x45;
}
