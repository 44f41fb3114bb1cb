/**
 * Sorting by 32-bit keys at native speed: one sort of 64-bit integers with the key above and the index below is an
 * order of magnitude faster than a comparator.
 */
import { totalOrderKey } from "./total-order.ts";

const isLittleEndian = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1;
const LOW = isLittleEndian ? 0 : 1;
const HIGH = 1 - LOW;
/** Of what a number has above its 32 lowest bits. */
const HIGH_UNIT = 2 ** 32;

/** Indices of `keys` (u32) in ascending order of key; equal keys keep their order. */
export function orderByKey(keys: ArrayLike<number>): Uint32Array {
  return indicesOf(sortedWords(keys.length, (i) => keys[i]!));
}

/** So many are sorted in a millisecond or two. */
const SORTED_AT_ONCE = 16_384;
const PLACED_PER_STEP = 65_536;
const DIGITS = 2 ** 8;

/** As `orderByKey`; pauses about every millisecond. */
export function* orderInSteps(keys: Uint32Array): Generator<undefined, Uint32Array> {
  if (keys.length <= SORTED_AT_ONCE) return orderByKey(keys);
  let from = new Uint32Array(keys.length);
  let into = new Uint32Array(keys.length);
  // Indexed: `from` of a typed array makes an object for each number.
  for (let i = 0; i < from.length; i++) from[i] = i;
  yield;
  // By eight bits after the other, the lowest first; what is equal in them keeps its order.
  for (let shift = 0; shift < 32; shift += 8) {
    const places = new Uint32Array(DIGITS + 1);
    for (let i = 0; i < keys.length; i++) places[((keys[i]! >>> shift) & (DIGITS - 1)) + 1]!++;
    for (let digit = 0; digit < DIGITS; digit++) places[digit + 1]! += places[digit]!;
    for (let i = 0; i < from.length; i++) {
      const index = from[i]!;
      into[places[(keys[index]! >>> shift) & (DIGITS - 1)]!++] = index;
      if (i % PLACED_PER_STEP === 0) yield;
    }
    [from, into] = [into, from];
  }
  return from;
}

/** Indices of whole numbers from 0 to 2^53 - 1 in ascending order; equal ones keep their order. */
export function orderByNumber(numbers: ArrayLike<number>): Uint32Array {
  const order = orderByKey(numbers);
  const highOf = (index: number): number => Math.floor(numbers[index]! / HIGH_UNIT);
  let isHigh = false;
  for (let i = 0; i < numbers.length; i++) isHigh ||= numbers[i]! >= HIGH_UNIT;
  if (!isHigh) return order;
  const byHigh = indicesOf(sortedWords(order.length, (i) => highOf(order[i]!)));
  return permute(order, byHigh, new Uint32Array(order.length));
}

/** Indices of `scores` (f32) in total order, ties by `offsetOf(index)`. */
export function orderByScore(scores: Float32Array, offsetOf: (index: number) => number): Uint32Array {
  const words = sortedWords(scores.length, (i) => totalOrderKey(scores[i]!));
  const order = indicesOf(words);
  for (let start = 0; start < order.length;) {
    let end = start + 1;
    while (end < order.length && words[2 * end + HIGH] === words[2 * start + HIGH]) end++;
    if (end > start + 1) sortTies(order.subarray(start, end), offsetOf);
    start = end;
  }
  return order;
}

/** Fusing leaves by rank ties most records in pairs, and equal vectors all of them. */
function sortTies(ties: Uint32Array, offsetOf: (index: number) => number): void {
  if (ties.length > 2) {
    const offsets = new Float64Array(ties.length);
    let ascending = true;
    for (let i = 0; i < ties.length; i++) {
      offsets[i] = offsetOf(ties[i]!);
      ascending &&= i === 0 || offsets[i - 1]! < offsets[i]!;
    }
    if (!ascending) ties.set(permute(ties, orderByNumber(offsets), new Uint32Array(ties.length)));
  } else if (offsetOf(ties[0]!) > offsetOf(ties[1]!)) ties.reverse();
}

/** `values` in the given order. */
export function permute<T extends Int32Array | Uint32Array | Float32Array | Float64Array>(
  values: T,
  order: Uint32Array,
  into: T,
): T {
  for (let i = 0; i < order.length; i++) into[i] = values[order[i]!]!;
  return into;
}

function indicesOf(words: Uint32Array): Uint32Array {
  const indices = new Uint32Array(words.length / 2);
  for (let i = 0; i < indices.length; i++) indices[i] = words[2 * i + LOW]!;
  return indices;
}

/** Pairs of (index, key), as `LOW` and `HIGH` words, ascending by key, then index. */
function sortedWords(length: number, keyOf: (index: number) => number): Uint32Array {
  const pairs = new BigUint64Array(length);
  const words = new Uint32Array(pairs.buffer);
  for (let i = 0; i < length; i++) {
    words[2 * i + LOW] = i;
    words[2 * i + HIGH] = keyOf(i);
  }
  pairs.sort();
  return words;
}
