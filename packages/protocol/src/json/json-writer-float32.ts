/**
 * Prints f32 values as the shortest decimal that reads back as the same f32, read as a float64 first and rounded
 * afterwards, as JSON readers do. Printing an f32 as the float64 it is takes 17 digits and three times as long.
 *
 * A decimal of 6 digits is tried first, then 7, 8 and 9: f32 holds more than 6 digits, so a shorter decimal shows as
 * 6 digits that end in zeros. With |x| in 1e-7..1e9 every step is exact enough in float64: the digits are an integer
 * below 1e9 and their scale a power of ten up to 1e15, so the division that checks them is rounded once. Values
 * outside that range take the slow way.
 */

/** Smallest and largest magnitude of the fast way. */
const FAST_MIN = 1e-7;
const FAST_MAX = 1e9;
const FIRST_DIGITS = 6;
const LAST_DIGITS = 9;
/** Sign, 9 digits, up to 7 leading zeros, point: 24 is above what one value and its comma take. */
const BYTES_PER_VALUE = 24;

const ASCII = new TextDecoder();
const ZERO = 0x30;
const MINUS = 0x2d;
const DOT = 0x2e;
const COMMA = 0x2c;

const POWERS_OF_TEN = Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`));

/** How a whole value prints: `2.0` tells a float to clients that keep the kinds apart, `2` is the shortest. */
export type WholeStyle = "2.0" | "2";

/** `[0.5,-1.25,2.0]`; values that are not finite print as `null`. */
export function writeFloat32Array(values: Float32Array, whole: WholeStyle): string {
  const bytes = new Uint8Array(values.length * BYTES_PER_VALUE + 2);
  let at = 0;
  bytes[at++] = 0x5b;
  for (let index = 0; index < values.length; index += 1) {
    if (index > 0) bytes[at++] = COMMA;
    at = pushFloat32(bytes, at, values[index]!, whole);
  }
  bytes[at++] = 0x5d;
  return ASCII.decode(bytes.subarray(0, at));
}

/** Each writer takes the offset to write at and returns the one after what it wrote. */
function pushFloat32(bytes: Uint8Array, at: number, value: number, whole: WholeStyle): number {
  const magnitude = Math.abs(value);
  if (!(magnitude >= FAST_MIN && magnitude < FAST_MAX)) return pushText(bytes, at, slowFloat32(value, whole));
  const exponent = decimalExponent(magnitude);
  for (let count = FIRST_DIGITS; count <= LAST_DIGITS; count += 1) {
    const scale = count - 1 - exponent;
    const digits = Math.round(shift(magnitude, scale));
    if (Math.fround(shift(digits, -scale)) !== magnitude) continue;
    let to = at;
    if (value < 0) bytes[to++] = MINUS;
    to = pushDecimal(bytes, to, digits | 0, scale);
    return whole === "2.0" && Number.isInteger(value) ? pushText(bytes, to, ".0") : to;
  }
  return pushText(bytes, at, slowFloat32(value, whole));
}

/** `digits` / 10^`scale`, without zeros at the end. All integers here are below 2^31. */
function pushDecimal(bytes: Uint8Array, at: number, digits: number, scale: number): number {
  if (scale <= 0) return pushInteger(bytes, at, (digits * POWERS_OF_TEN[-scale]!) | 0, 1);
  let rest = digits;
  let places = scale;
  while (places > 0 && rest % 10 === 0) {
    rest = (rest / 10) | 0;
    places -= 1;
  }
  const unit = POWERS_OF_TEN[places]!;
  const integer = (rest / unit) | 0;
  const to = pushInteger(bytes, at, integer, 1);
  if (places === 0) return to;
  bytes[to] = DOT;
  return pushInteger(bytes, to + 1, integer === 0 ? rest : rest - integer * unit, places);
}

/** At least `width` digits, zeros in front. */
function pushInteger(bytes: Uint8Array, at: number, value: number, width: number): number {
  let end = at + width;
  for (let digits = width; value >= POWERS_OF_TEN[digits]!; digits += 1) end += 1;
  let rest = value;
  for (let to = end - 1; to >= at; to -= 1) {
    const quotient = (rest / 10) | 0;
    bytes[to] = ZERO + (rest - quotient * 10);
    rest = quotient;
  }
  return end;
}

function pushText(bytes: Uint8Array, at: number, text: string): number {
  for (let index = 0; index < text.length; index += 1) bytes[at + index] = text.charCodeAt(index);
  return at + text.length;
}

/** `value` * 10^`scale`, rounded once. */
function shift(value: number, scale: number): number {
  return scale >= 0 ? value * POWERS_OF_TEN[scale]! : value / POWERS_OF_TEN[-scale]!;
}

/** The exponent of the first digit, for FAST_MIN <= magnitude < FAST_MAX. */
function decimalExponent(magnitude: number): number {
  let exponent = 0;
  if (magnitude >= 1) {
    while (magnitude >= POWERS_OF_TEN[exponent + 1]!) exponent += 1;
    return exponent;
  }
  while (magnitude * POWERS_OF_TEN[-exponent]! < 1) exponent -= 1;
  return exponent;
}

/** Zero, what is not finite, the very small and the very large. */
function slowFloat32(value: number, whole: WholeStyle): string {
  if (!Number.isFinite(value)) return "null";
  const tail = whole === "2.0" ? ".0" : "";
  if (value === 0) return `${Object.is(value, -0) ? "-0" : "0"}${tail}`;
  for (let digits = 1; digits <= LAST_DIGITS; digits += 1) {
    const shortened = Number(value.toPrecision(digits));
    if (Math.fround(shortened) === value) return withTail(`${shortened}`, tail);
  }
  return withTail(`${value}`, tail);
}

/** An exponent already tells a float. */
function withTail(text: string, tail: string): string {
  return /[.e]/.test(text) ? text : text + tail;
}
