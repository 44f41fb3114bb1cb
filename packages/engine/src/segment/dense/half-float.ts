/**
 * bf16: the upper half of an f32, rounded to nearest, ties away from zero. Half the bytes, the whole range. What the
 * rounding leaves is an int16, so that the lower half beside it gives the f32 back to the bit.
 */
import { HALF_ORDER, type SplitFloats } from "../../kernels/plain/rows.ts";

const value = new Float32Array(1);
const pattern = new Uint32Array(value.buffer);

/**
 * Writes `floats` to `halves` from `at` on, and what that leaves to `lows`, unless this is empty; returns the Euclidean
 * length of what `halves` lost. Floats are below 2^127.
 */
export function floatsToHalves(floats: Float32Array, { halves, lows, at }: SplitFloats): number {
  let lost = 0;
  for (let j = 0; j < floats.length; j++) {
    value[0] = floats[j]!;
    const half = (pattern[0]! + 0x8000) >>> 16;
    halves[at + j] = half;
    if (lows.length > 0) lows[at + j] = pattern[0]!;
    pattern[0] = half << 16;
    const difference = floats[j]! - value[0];
    lost += difference * difference;
  }
  return Math.sqrt(lost);
}

/** Most that a vector lost which bf16 left so long: half of the last of 8 bits, and what is too small for a bit. */
export function mostLost(length: number): number {
  return length * 2 ** -7.9 + 2 ** -100;
}

/** Reads as many halves as `floats` is long, from `at` on. */
export function halvesToFloats(halves: Uint16Array, at: number, floats: Float32Array): void {
  for (let j = 0; j < floats.length; j++) {
    pattern[0] = halves[at + j]! << 16;
    floats[j] = value[0]!;
  }
}

/** The order in which `dotHalfRows` takes a query: `target` as long as `query`, a multiple of 8. */
export function reorderForHalves(query: Float32Array, target: Float32Array | Int8Array): void {
  for (let j = 0; j < query.length; j++) target[j] = query[(j & ~7) + HALF_ORDER[j & 7]!]!;
}
