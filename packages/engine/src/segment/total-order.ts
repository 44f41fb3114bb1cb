/**
 * The order of f32 scores: IEEE 754 `totalOrder` (-Infinity, ..., -0, +0, ..., Infinity, NaN). JavaScript cannot tell
 * the sign of a NaN, so every NaN is a positive one and sorts last.
 */

const float = new Float32Array(1);
const bits = new Int32Array(float.buffer);

/** Negative, zero or positive, as a comparator. */
export function compareTotal(a: number, b: number): number {
  if (a < b) return -1;
  if (a > b) return 1;
  return a === b && a !== 0 ? 0 : totalOrderKey(a) - totalOrderKey(b);
}

/** A u32 that orders as the f32 does; numbers that are the same in total order have the same key. */
export function totalOrderKey(value: number): number {
  if (Number.isNaN(value)) return 0xffff_ffff;
  float[0] = value;
  const pattern = bits[0]!;
  // Positive numbers move above the negative ones, whose order is reversed.
  return (pattern < 0 ? ~pattern : pattern | 0x8000_0000) >>> 0;
}
