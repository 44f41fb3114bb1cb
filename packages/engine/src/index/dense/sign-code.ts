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

export interface SignCode {
  /** 0 for the zero vector. */
  readonly factor: number;
  /** How many are set. */
  readonly bits: number;
}

/** Writes one bit per element to `codes` from `at` on, set where positive. */
export function encodeSigns(rotated: Float32Array, codes: Uint8Array, at: number): SignCode {
  let bits = 0;
  let absolute = 0;
  let square = 0;
  for (let byte = 0; byte * 8 < rotated.length; byte++) {
    let code = 0;
    for (let bit = 0; bit < 8; bit++) {
      const x = rotated[byte * 8 + bit]!;
      square += x * x;
      if (x > 0) {
        code |= 1 << bit;
        bits++;
        absolute += x;
      } else {
        absolute -= x;
      }
    }
    codes[at + byte] = code;
  }
  return { factor: absolute === 0 ? 0 : square / absolute, bits };
}

/** <signs, q> is about `(weighted * scale + bits * low) + shift`; see `assembly/score-codes.ts`. */
export interface PlaneScale {
  readonly scale: number;
  readonly low: number;
  readonly shift: number;
}

/**
 * The query in 4 bit planes, 32 bytes for every 64 elements; `planes` is zeroed first. Four bits cost 4 % of the
 * estimate's precision.
 */
export function buildPlanes(rotated: Float32Array, planes: Uint8Array): PlaneScale {
  let largest = 0;
  let total = 0;
  for (const x of rotated) {
    largest = Math.max(largest, Math.abs(x));
    total += x;
  }
  const perUnit = largest === 0 ? 0 : PLANES_MAX / (2 * largest);
  planes.fill(0);
  for (let j = 0; j < rotated.length; j++) {
    const level = Math.floor((rotated[j]! + largest) * perUnit + 0.5);
    const at = (j >> 6) * 32 + ((j >> 3) & 7);
    for (let plane = 0; plane < 4; plane++) {
      if ((level >> plane) & 1) planes[at + plane * 8]! |= 1 << (j & 7);
    }
  }
  return { scale: perUnit === 0 ? 0 : 2 / perUnit, low: -2 * largest, shift: -total };
}
