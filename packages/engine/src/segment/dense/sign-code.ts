/**
 * The 1-bit code of a rotated vector, and the planes by which a query estimates dot products with coded vectors.
 *
 * After a random rotation the signs of a vector o keep most of its direction: <o, q> is estimated without bias by
 * factor * <signs(o), q> with factor = |o|^2 / |o|_1, and the error's deviation is about
 * ERROR_PER_FACTOR * factor * |q| (RaBitQ, Gao and Long 2024).
 */

/** sqrt(1 - 2 / pi): what a Gaussian direction loses by keeping its signs alone. */
export const ERROR_PER_FACTOR = 0.603;

const PLANES_MAX = 15;

/** <signs, q> is about `(weighted * scale + bits * low) + shift`; see `assembly/score-codes.ts`. */
export interface PlaneScale {
  readonly scale: number;
  readonly low: number;
  readonly shift: number;
}

/** The query in 4 bit planes, 32 bytes for every 64 elements. Four bits cost 4 % of the estimate's precision. */
export function buildPlanes(rotated: Float32Array, planes: Uint8Array): PlaneScale {
  let largest = 0;
  let total = 0;
  for (let j = 0; j < rotated.length; j++) {
    const x = rotated[j]!;
    largest = Math.max(largest, Math.abs(x));
    total += x;
  }
  const perUnit = largest === 0 ? 0 : PLANES_MAX / (2 * largest);
  planes.fill(0);
  for (let byte = 0; byte * 8 < rotated.length; byte++) {
    // Without branches, which the query's signs would make unforeseeable.
    let [p0, p1, p2, p3] = [0, 0, 0, 0];
    for (let bit = 0; bit < 8; bit++) {
      const level = Math.floor((rotated[byte * 8 + bit]! + largest) * perUnit + 0.5);
      p0 |= (level & 1) << bit;
      p1 |= ((level >> 1) & 1) << bit;
      p2 |= ((level >> 2) & 1) << bit;
      p3 |= ((level >> 3) & 1) << bit;
    }
    const at = (byte >> 3) * 32 + (byte & 7);
    planes[at] = p0;
    planes[at + 8] = p1;
    planes[at + 16] = p2;
    planes[at + 24] = p3;
  }
  return { scale: perUnit === 0 ? 0 : 2 / perUnit, low: -2 * largest, shift: -total };
}
