/** One number token -> f32, without a string and without `JSON.parse`: embeddings are little but such tokens. */

const PLUS = 0x2b;
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
 * The quotient or product below has been rounded four times, and digits after the 16th significant one are left out: it is
 * off by less than 2^-49 of itself.
 */
const DOUBT = 2 ** -48;

/** Reads the numbers of one body. */
export class Float32Reader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /**
   * Writes the token that begins at `start` to `out[index]`, as `Math.fround(JSON.parse(token))` to the bit. Gives where
   * it ends, or -1 for what is no JSON number or is infinite as f32.
   */
  read(start: number, out: Float32Array, index: number): number {
    const bytes = this.#bytes;
    const integer = bytes[start] === MINUS ? start + 1 : start;
    let at = integer;
    let word = 0;
    for (; isDigit(bytes[at]); at += 1) word = (word * 10 + bytes[at]! - ZERO) | 0;
    const integerDigits = at - integer;
    if (integerDigits === 0 || (integerDigits > 1 && bytes[integer] === ZERO)) return -1;
    if (integerDigits > WORD_DIGITS) return readSlowly(bytes, start, out, index);
    let digits = word;
    let scale = 0;
    if (bytes[at] === DOT) {
      const fraction = at + 1;
      if (!isDigit(bytes[fraction])) return -1;
      at = fraction;
      if (word === 0) while (bytes[at] === ZERO) at += 1;
      if (at + 2 * BLOCK_DIGITS > bytes.length) return readSlowly(bytes, start, out, index);
      for (let blocks = 0; blocks < 2; blocks += 1) {
        word = digitBlock(this.#view, at);
        if (word < 0) {
          const rest = at;
          for (word = 0; isDigit(bytes[at]); at += 1) word = (word * 10 + bytes[at]! - ZERO) | 0;
          digits = digits * POWERS[at - rest]! + word;
          break;
        }
        digits = digits * BLOCK + word;
        at += BLOCK_DIGITS;
      }
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
    const about = scale < 0 ? digits / POWERS[-scale]! : digits * POWERS[scale]!;
    const rounded = Math.fround(about * (1 - DOUBT));
    // Between two neighbours the last bits decide; what is left out of `about` could be one of them.
    if (rounded !== Math.fround(about * (1 + DOUBT))) return readSlowly(bytes, start, out, index);
    if (rounded === Infinity) return -1;
    out[index] = integer > start ? -rounded : rounded;
    return at;
  }
}

/** The value of eight digits, or -1 where one of the bytes is none. Four bytes are worked on at once, each in its place. */
function digitBlock(view: DataView, at: number): number {
  const first = view.getUint32(at, true) ^ 0x30303030;
  const last = view.getUint32(at + 4, true) ^ 0x30303030;
  // A byte above 9 has its highest bit, or gets it from the sum.
  if (((first + 0x76767676) | first | (last + 0x76767676) | last) & 0x80808080) return -1;
  return fourDigits(first) * 10_000 + fourDigits(last);
}

/** Of digits one to a byte, the first one in the lowest. */
function fourDigits(bytes: number): number {
  const pairs = (Math.imul(bytes, 10) + (bytes >>> 8)) & 0x00ff00ff;
  return (pairs & 0xff) * 100 + (pairs >>> 16);
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
