/**
 * Integer arrays as bytes on disk: int64, little-endian, whatever form they have in memory. Both directions go through an
 * aligned buffer of 32-bit words, because a `bigint` for each element would take ten times as long.
 */
import { type IntegerArray, type IntegerWidth, emptyIntegerArray, integerWidth } from "@sheaf/protocol";

const ELEMENT_BYTES = 8;
/** Elements that go through the buffer at once. */
const CHUNK = 4_096;
/** Low and high word of each element. */
const words = new Int32Array(2 * CHUNK);
const bytesOfWords = new Uint8Array(words.buffer);

/** @param out Eight bytes for each. */
export function writeIntegers(values: IntegerArray, out: Uint8Array): void {
  if (values instanceof BigInt64Array) {
    out.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
    return;
  }
  for (let from = 0; from < values.length; from += CHUNK) {
    const count = Math.min(CHUNK, values.length - from);
    for (let i = 0; i < count; i++) {
      const value = values[from + i]!;
      words[2 * i] = value;
      words[2 * i + 1] = value >> 31;
    }
    out.set(bytesOfWords.subarray(0, ELEMENT_BYTES * count), ELEMENT_BYTES * from);
  }
}

/** In the narrowest form that holds them. */
export function readIntegers(bytes: Uint8Array): IntegerArray {
  const width = widthOf(bytes);
  const integers = emptyIntegerArray(width, bytes.length / ELEMENT_BYTES);
  if (integers instanceof BigInt64Array) {
    new Uint8Array(integers.buffer).set(bytes);
    return integers;
  }
  for (let from = 0; from < integers.length; from += CHUNK) {
    const count = load(bytes, from);
    for (let i = 0; i < count; i++) integers[from + i] = words[2 * i]!;
  }
  return integers;
}

function widthOf(bytes: Uint8Array): IntegerWidth {
  let least = 0;
  let most = 0;
  for (let from = 0; from < bytes.length / ELEMENT_BYTES; from += CHUNK) {
    const count = load(bytes, from);
    for (let i = 0; i < count; i++) {
      const low = words[2 * i]!;
      if (low >> 31 !== words[2 * i + 1]) return 8;
      if (low < least) least = low;
      if (low > most) most = low;
    }
  }
  return Math.max(integerWidth(least), integerWidth(most)) as IntegerWidth;
}

/** How many elements are in the buffer then. */
function load(bytes: Uint8Array, from: number): number {
  const chunk = bytes.subarray(ELEMENT_BYTES * from, ELEMENT_BYTES * (from + CHUNK));
  bytesOfWords.set(chunk);
  return chunk.length / ELEMENT_BYTES;
}
