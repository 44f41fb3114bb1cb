/**
 * The distance between two dense vectors, defined once. Every index answers with these values, and the WASM kernels
 * equal them to the bit, so a score never depends on the path that found the record.
 *
 * Sums: every product, difference and addition is rounded to f32. Element j is added to lane j mod 16, in ascending
 * j. The 16 lanes are reduced in one fixed tree, the one that four SIMD registers A (lanes 0-3), B, C, D give:
 *   16 -> 8 -> 4: t[i] = (A[i] + B[i]) + (C[i] + D[i])      4 -> 2 -> 1: (t[0] + t[1]) + (t[2] + t[3])
 * Padding both vectors with zeros changes nothing: a lane starts at +0 and never becomes -0.
 *
 * Distances, lower is closer: l2 is the sum of (a-b)^2, ip is 1 - dot(a, b), cosine is 1 - dot(a/norm(a), b/norm(b))
 * and 1 where a vector is all zeros. Only the norm is computed in f64: squares of f32 neither overflow nor vanish
 * there, so that very long and very short vectors have a direction like any other.
 */
import type { Space } from "@sheaf/protocol";

const f = Math.fround;

/** The lanes of the sum at hand; nothing here is re-entrant. */
const lanes = new Float32Array(16);

/** Sum of `a[j] * b[bOffset + j]` over the length of `a`, as f32. */
export function dot(a: Float32Array, b: Float32Array, bOffset = 0): number {
  const n = a.length;
  const whole = n & ~15;
  // Four lanes at a time: an array of lanes in the inner loop takes three times as long.
  for (let lane = 0; lane < 16; lane += 4) {
    let s0 = 0;
    let s1 = 0;
    let s2 = 0;
    let s3 = 0;
    for (let j = lane, k = bOffset + lane; j < whole; j += 16, k += 16) {
      s0 = f(s0 + f(a[j]! * b[k]!));
      s1 = f(s1 + f(a[j + 1]! * b[k + 1]!));
      s2 = f(s2 + f(a[j + 2]! * b[k + 2]!));
      s3 = f(s3 + f(a[j + 3]! * b[k + 3]!));
    }
    lanes[lane] = s0;
    lanes[lane + 1] = s1;
    lanes[lane + 2] = s2;
    lanes[lane + 3] = s3;
  }
  for (let j = whole; j < n; j++) lanes[j & 15]! += f(a[j]! * b[bOffset + j]!);
  return sumLanes();
}

/** Sum of `(a[j] - b[bOffset + j])^2` over the length of `a`, as f32. Never computed from norms. */
export function squaredL2(a: Float32Array, b: Float32Array, bOffset = 0): number {
  const n = a.length;
  const whole = n & ~15;
  for (let lane = 0; lane < 16; lane += 4) {
    let s0 = 0;
    let s1 = 0;
    let s2 = 0;
    let s3 = 0;
    for (let j = lane, k = bOffset + lane; j < whole; j += 16, k += 16) {
      const d0 = f(a[j]! - b[k]!);
      const d1 = f(a[j + 1]! - b[k + 1]!);
      const d2 = f(a[j + 2]! - b[k + 2]!);
      const d3 = f(a[j + 3]! - b[k + 3]!);
      s0 = f(s0 + f(d0 * d0));
      s1 = f(s1 + f(d1 * d1));
      s2 = f(s2 + f(d2 * d2));
      s3 = f(s3 + f(d3 * d3));
    }
    lanes[lane] = s0;
    lanes[lane + 1] = s1;
    lanes[lane + 2] = s2;
    lanes[lane + 3] = s3;
  }
  for (let j = whole; j < n; j++) {
    const d = f(a[j]! - b[bOffset + j]!);
    lanes[j & 15]! += f(d * d);
  }
  return sumLanes();
}

/** Euclidean length, f64. */
export function norm(vector: Float32Array): number {
  let sum = 0;
  for (let j = 0; j < vector.length; j++) sum += vector[j]! * vector[j]!;
  return Math.sqrt(sum);
}

/** Of length 1, or all zeros if the vector has no length: a copy, or in `unit`, which may be the vector itself. */
export function normalize(
  vector: Float32Array,
  unit: Float32Array = new Float32Array(vector.length),
): Float32Array {
  const length = norm(vector);
  if (length === 0) return unit.fill(0);
  for (let j = 0; j < vector.length; j++) unit[j] = vector[j]! / length;
  return unit;
}

/**
 * The form of a vector that `preparedDistance` compares: of length 1 for cosine, in `unit` if that is given, itself for
 * the other spaces.
 */
export function prepare(space: Space, vector: Float32Array, unit?: Float32Array): Float32Array {
  return space === "cosine" ? normalize(vector, unit) : vector;
}

/**
 * Distance, as f32, of a prepared query to the prepared row that starts at `offset` of `rows`; both have the query's
 * length.
 */
export function preparedDistance(space: Space, query: Float32Array, rows: Float32Array, offset = 0): number {
  return space === "l2" ? squaredL2(query, rows, offset) : f(1 - dot(query, rows, offset));
}

/** Distance, as f32, of two vectors of the same length as they were given. */
export function distance(space: Space, a: Float32Array, b: Float32Array): number {
  return preparedDistance(space, prepare(space, a), prepare(space, b));
}

function sumLanes(): number {
  const t0 = sumColumn(0);
  const t1 = sumColumn(1);
  const t2 = sumColumn(2);
  const t3 = sumColumn(3);
  return f(f(t0 + t1) + f(t2 + t3));
}

function sumColumn(i: number): number {
  return f(f(lanes[i]! + lanes[i + 4]!) + f(lanes[i + 8]! + lanes[i + 12]!));
}
