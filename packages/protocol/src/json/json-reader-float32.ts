/** Number tokens -> f32, without a string and without `JSON.parse`: embeddings are little but such tokens. */

const SPACE = 0x20;
const SPACES: readonly number[] = [SPACE, 0x09, 0x0a, 0x0d];
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const LOWER_E = 0x65;
const UPPER_E = 0x45;

/** Digits that an int32 holds whatever they are. */
const WORD_DIGITS = 9;
/** Digits that are read at once. */
const BLOCK_DIGITS = 8;
const BLOCK = 10 ** BLOCK_DIGITS;
/** Exact in float64. */
const POWERS = Array.from({ length: 23 }, (_, exponent) => 10 ** exponent);
/**
 * The quotients and the product below have been rounded two or three times, and digits after the 16th significant one may
 * be left out: they are off by less than 1.4e-15 of themselves.
 */
const DOUBT = 2 ** -49;

export class Float32ListReader {
  /** How many numbers the last list had. */
  count = 0;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /**
   * Writes the numbers behind the bracket at `open` to `out`, each as `readFloat32` does. Gives where the list goes on
   * with something else than a comma, or -1 for what is no number and for more than there is room for.
   *
   * Nearly all numbers of an embedding begin with `0.` and have more than eight digits. Those are read right here, eight
   * digits at once: a call for each would cost half as much as its work.
   */
  read(open: number, out: Float32Array): number {
    const bytes = this.#bytes;
    const view = this.#view;
    const lastBlocks = bytes.length - 2 * BLOCK_DIGITS;
    let at = open;
    let count = 0;
    do {
      const start = skipSpace(bytes, at + 1);
      if (count === out.length) return -1;
      const integer = bytes[start] === MINUS ? start + 1 : start;
      const fraction = integer + 2;
      at = fraction;
      while (bytes[at] === ZERO) at += 1;
      const plain = bytes[integer] === ZERO && bytes[integer + 1] === DOT && at <= lastBlocks;
      let digits = plain ? digitBlock(view, at) : -1;
      let rounded = Number.NaN;
      if (digits >= 0) {
        at += BLOCK_DIGITS;
        const more = digitBlock(view, at);
        if (more >= 0) {
          at += BLOCK_DIGITS;
          digits = digits * BLOCK + more;
        } else {
          for (; isDigit(bytes[at]); at += 1) digits = digits * 10 + bytes[at]! - ZERO;
        }
        const places = at - fraction;
        while (isDigit(bytes[at])) at += 1;
        if (places < POWERS.length && bytes[at] !== LOWER_E && bytes[at] !== UPPER_E) {
          rounded = roundedQuotient(digits, places);
        }
      }
      if (Number.isNaN(rounded)) at = readFloat32(bytes, start, out, count);
      else out[count] = integer > start ? -rounded : rounded;
      if (at < 0) return -1;
      count += 1;
      at = skipSpace(bytes, at);
    } while (bytes[at] === COMMA);
    this.count = count;
    return at;
  }
}

/** The value of eight digits, or -1 where one of the bytes is none. Four bytes are worked on at once, each in its place. */
function digitBlock(view: DataView, at: number): number {
  const first = view.getInt32(at, true) ^ 0x30303030;
  const last = view.getInt32(at + 4, true) ^ 0x30303030;
  // A byte above 9 has its highest bit, or gets it from the sum.
  if (((first + 0x76767676) | first | (last + 0x76767676) | last) & 0x80808080) return -1;
  return Math.imul(fourDigits(first), 10_000) + fourDigits(last);
}

/** Of digits one to a byte, the first one in the lowest. */
function fourDigits(bytes: number): number {
  const pairs = (Math.imul(bytes, 10) + (bytes >>> 8)) & 0x00ff00ff;
  return Math.imul(pairs & 0xff, 100) + (pairs >>> 16);
}

/** `digits / 10^places` as f32; NaN where the last bits decide, and what is left out of `digits` could be one of them. */
function roundedQuotient(digits: number, places: number): number {
  const about = digits / POWERS[places]!;
  const rounded = Math.fround(about * (1 - DOUBT));
  return rounded === Math.fround(about * (1 + DOUBT)) ? rounded : Number.NaN;
}

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

function skipSpace(bytes: Uint8Array, from: number): number {
  let at = from;
  while (bytes[at]! <= SPACE && SPACES.includes(bytes[at]!)) at += 1;
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
