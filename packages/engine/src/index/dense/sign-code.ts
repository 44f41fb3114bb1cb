/**
 * The 1-bit code of a rotated vector, and the tables by which a query estimates dot products with coded vectors.
 *
 * After a random rotation the signs of a vector o keep most of its direction: <o, q> is estimated without bias by
 * factor * <signs(o), q> with factor = |o|^2 / |o|_1, and the error's deviation is about
 * ERROR_PER_FACTOR * factor * |q| (RaBitQ, Gao and Long 2024).
 */

/** sqrt(1 - 2 / pi): what a Gaussian direction loses by keeping its signs alone. */
export const ERROR_PER_FACTOR = 0.603;

const TABLE_MAX = 63;
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

/** <signs, q> is about `sum * scale + shift`, where `sum` adds table entries. */
export interface TableScale {
  readonly scale: number;
  readonly shift: number;
}

/** For every four elements of the query, what each of the 16 sign patterns adds, in 6 bits. */
export function buildTable(rotated: Float32Array, table: Uint8Array): TableScale {
  let range = 0;
  let shift = 0;
  for (let j = 0; j < rotated.length; j += 4) {
    const span = spanOf(rotated, j);
    shift -= span;
    if (span > range) range = span;
  }
  const perUnit = range === 0 ? 0 : TABLE_MAX / (2 * range);
  for (let j = 0; j < rotated.length; j += 4) {
    const a = 2 * perUnit * rotated[j]!;
    const b = 2 * perUnit * rotated[j + 1]!;
    const c = 2 * perUnit * rotated[j + 2]!;
    const d = 2 * perUnit * rotated[j + 3]!;
    // Above the lowest sum, an element's own sign adds it twice and the other sign nothing.
    const low = Math.max(-a, 0) + Math.max(-b, 0) + 0.5;
    const high = Math.max(-c, 0) + Math.max(-d, 0);
    for (let pattern = 0; pattern < 4; pattern++) {
      const sum = low + high + (pattern & 1 ? c : 0) + (pattern & 2 ? d : 0);
      const at = j * 4 + pattern * 4;
      table[at] = sum;
      table[at + 1] = sum + a;
      table[at + 2] = sum + b;
      table[at + 3] = sum + a + b;
    }
  }
  return { scale: perUnit === 0 ? 0 : 1 / perUnit, shift };
}

function spanOf(rotated: Float32Array, j: number): number {
  return (
    Math.abs(rotated[j]!) + Math.abs(rotated[j + 1]!) + Math.abs(rotated[j + 2]!) + Math.abs(rotated[j + 3]!)
  );
}

/** <signs, q> is about `(weighted * scale + bits * low) + shift`; see `assembly/score-codes.ts`. */
export interface PlaneScale extends TableScale {
  readonly low: number;
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
