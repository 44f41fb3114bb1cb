/** One number token -> f32, without a string and without `JSON.parse`: embeddings are little but such tokens. */

const PLUS = 0x2b;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const LOWER_E = 0x65;
const UPPER_E = 0x45;

/** Digits that an int32 holds whatever they are. */
const WORD_DIGITS = 9;
/** Exact in float64. */
const POWERS = Array.from({ length: 23 }, (_, exponent) => 10 ** exponent);
/**
 * The quotient or product below has been rounded three times, and digits after the 18th significant one are left out: it is
 * off by less than 2^-50 of itself.
 */
const DOUBT = 2 ** -49;

/**
 * Writes the token that begins at `start` to `out[index]`, as `Math.fround(JSON.parse(token))` to the bit. Gives where it
 * ends, or -1 for what is no JSON number or is infinite as f32.
 */
export function readFloat32(bytes: Uint8Array, start: number, out: Float32Array, index: number): number {
  const integer = bytes[start] === MINUS ? start + 1 : start;
  let at = integer;
  let high = 0;
  for (; isDigit(bytes[at]); at += 1) high = (high * 10 + bytes[at]! - ZERO) | 0;
  const integerDigits = at - integer;
  if (integerDigits === 0 || (integerDigits > 1 && bytes[integer] === ZERO)) return -1;
  if (integerDigits > WORD_DIGITS) return readSlowly(bytes, start, out, index);
  let low = 0;
  let lowDigits = 0;
  let scale = 0;
  if (bytes[at] === DOT) {
    const fraction = at + 1;
    if (!isDigit(bytes[fraction])) return -1;
    at = fraction;
    let highEnd = fraction + WORD_DIGITS - integerDigits;
    if (high === 0) {
      while (bytes[at] === ZERO) at += 1;
      highEnd = at + WORD_DIGITS;
    }
    for (; at < highEnd && isDigit(bytes[at]); at += 1) high = (high * 10 + bytes[at]! - ZERO) | 0;
    const lowStart = at;
    const lowEnd = at + WORD_DIGITS;
    for (; at < lowEnd && isDigit(bytes[at]); at += 1) low = (low * 10 + bytes[at]! - ZERO) | 0;
    lowDigits = at - lowStart;
    scale = fraction - at;
    while (isDigit(bytes[at])) at += 1;
  }
  if (bytes[at] === LOWER_E || bytes[at] === UPPER_E) {
    at += 1;
    const negative = bytes[at] === MINUS;
    if (negative || bytes[at] === PLUS) at += 1;
    if (!isDigit(bytes[at])) return -1;
    let exponent = 0;
    for (; isDigit(bytes[at]); at += 1) exponent = Math.min(999, exponent * 10 + bytes[at]! - ZERO);
    scale += negative ? -exponent : exponent;
  }
  if (scale < -22 || scale > 22) return readSlowly(bytes, start, out, index);
  const digits = high * POWERS[lowDigits]! + low;
  const about = scale < 0 ? digits / POWERS[-scale]! : digits * POWERS[scale]!;
  const rounded = Math.fround(about * (1 - DOUBT));
  // Between two neighbours the last bits decide; what is left out of `about` could be one of them.
  if (rounded !== Math.fround(about * (1 + DOUBT))) return readSlowly(bytes, start, out, index);
  if (rounded === Infinity) return -1;
  out[index] = integer > start ? -rounded : rounded;
  return at;
}

function readSlowly(bytes: Uint8Array, start: number, out: Float32Array, index: number): number {
  let end = start;
  while (isNumberByte(bytes[end])) end += 1;
  let value: unknown;
  try {
    value = JSON.parse(String.fromCharCode(...bytes.subarray(start, end)));
  } catch {
    return -1;
  }
  out[index] = value as number;
  return Number.isFinite(out[index]) ? end : -1;
}

function isNumberByte(byte: number | undefined): boolean {
  return (
    isDigit(byte) || byte === DOT || byte === MINUS || byte === PLUS || byte === LOWER_E || byte === UPPER_E
  );
}

/** The ten digits differ from 0x30 in nothing but their value; so does nothing else, `undefined` beyond the end included. */
function isDigit(byte: number | undefined): boolean {
  return (byte! ^ ZERO) <= 9;
}
