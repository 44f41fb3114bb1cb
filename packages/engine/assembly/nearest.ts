/**
 * The nearest centroid of vectors, by dot products of 16-bit elements: four times as many at a time as in f32. Vectors and
 * centroids are brought to one length first, which no sum of products can overflow 32 bits with (Cauchy and Schwarz).
 */
import { rounded } from "./centroids";
import { sumOfFloats } from "./lanes";

/** Of a vector in words: no element is above 2^15, and no product of two vectors above 2^30. */
const LENGTH: f32 = 32_000;

@unmanaged
class WordsArguments {
  /** f32, `width` to a vector. */
  vectors: usize;
  /** A multiple of 16. */
  width: u32;
  /** A multiple of 4. */
  count: u32;
  /** Out: 16-bit elements; of every four vectors eight each in turn. */
  words: usize;
  /** Out, f32 by vector: what a step of its words is worth. */
  steps: usize;
}

export function toWords(pointer: usize): void {
  const args = changetype<WordsArguments>(pointer);
  const bytes = (<usize>args.width) << 2;
  for (let i: usize = 0; i < args.count; i++) {
    const vector = args.vectors + i * bytes;
    let squares = f32x4.splat(0);
    for (let p = vector; p < vector + bytes; p += 16) {
      const x = v128.load(p);
      squares = f32x4.add(squares, f32x4.mul(x, x));
    }
    const length = <f32>sqrt(sumOfFloats(squares));
    store<f32>(args.steps + (i << 2), length / LENGTH);
    const factor = f32x4.splat(length == 0 ? 0 : LENGTH / length);
    let w = args.words + (i >> 2) * (bytes << 1) + ((i & 3) << 4);
    for (let p = vector; p < vector + bytes; p += 32) {
      const low = rounded(f32x4.mul(v128.load(p), factor));
      const high = rounded(f32x4.mul(v128.load(p, 16), factor));
      v128.store(w, i16x8.narrow_i32x4_s(low, high));
      w += 64;
    }
  }
}

@unmanaged
class NearestArguments {
  /** Of `toWords`, and their steps. */
  words: usize;
  steps: usize;
  width: u32;
  /** A multiple of 4. */
  count: u32;
  /** Of `toWords`, the steps, and f32 by centroid: half of its squared length. */
  centroids: usize;
  centroidSteps: usize;
  halfSquares: usize;
  /** A multiple of 4. */
  centroidCount: u32;
  /** Out: u32 by vector. */
  out: usize;
}

export function nearestCentroids(pointer: usize): void {
  const args = changetype<NearestArguments>(pointer);
  for (let i: u32 = 0; i < args.count; i += 4) nearestOfFour(args, i);
}

function nearestOfFour(args: NearestArguments, first: u32): void {
  // Of four vectors.
  const bytes = (<usize>args.width) << 3;
  const words = args.words + (<usize>first >> 2) * bytes;
  const steps = v128.load(args.steps + ((<usize>first) << 2));
  let best = f32x4.splat(-Infinity);
  let nearest = i32x4.splat(0);
  for (let i: u32 = 0; i < args.centroidCount; i += 2) {
    // Two of the four that lie together.
    const start = args.centroids + (<usize>i >> 2) * bytes + ((i & 2) << 4);
    const end = start + bytes;
    let p = words;
    let a0 = i32x4.splat(0);
    let a1 = a0;
    let a2 = a0;
    let a3 = a0;
    let b0 = a0;
    let b1 = a0;
    let b2 = a0;
    let b3 = a0;
    for (let q = start; q < end; q += 64) {
      const x = v128.load(q);
      const y = v128.load(q, 16);
      const s = v128.load(p);
      a0 = i32x4.add(a0, i32x4.dot_i16x8_s(s, x));
      b0 = i32x4.add(b0, i32x4.dot_i16x8_s(s, y));
      const t = v128.load(p, 16);
      a1 = i32x4.add(a1, i32x4.dot_i16x8_s(t, x));
      b1 = i32x4.add(b1, i32x4.dot_i16x8_s(t, y));
      const u = v128.load(p, 32);
      a2 = i32x4.add(a2, i32x4.dot_i16x8_s(u, x));
      b2 = i32x4.add(b2, i32x4.dot_i16x8_s(u, y));
      const v = v128.load(p, 48);
      a3 = i32x4.add(a3, i32x4.dot_i16x8_s(v, x));
      b3 = i32x4.add(b3, i32x4.dot_i16x8_s(v, y));
      p += 64;
    }
    const scoresA = scoresOf(args, i, sumsOf(a0, a1, a2, a3), steps);
    const isA = f32x4.gt(scoresA, best);
    best = v128.bitselect(scoresA, best, isA);
    nearest = v128.bitselect(i32x4.splat(i), nearest, isA);
    const scoresB = scoresOf(args, i + 1, sumsOf(b0, b1, b2, b3), steps);
    const isB = f32x4.gt(scoresB, best);
    best = v128.bitselect(scoresB, best, isB);
    nearest = v128.bitselect(i32x4.splat(i + 1), nearest, isB);
  }
  v128.store(args.out + ((<usize>first) << 2), nearest);
}

@unmanaged
class SumArguments {
  /** Of `toWords`: those of one vector, and what their step is worth. */
  words: usize;
  step: f32;
  width: u32;
  /** f32, `width` of them, which the vector is added to. */
  sums: usize;
}

export function addWords(pointer: usize): void {
  const args = changetype<SumArguments>(pointer);
  const step = f32x4.splat(args.step);
  const end = args.sums + ((<usize>args.width) << 2);
  let w = args.words;
  for (let p = args.sums; p < end; p += 32) {
    const words = v128.load(w);
    const low = f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_s(words));
    const high = f32x4.convert_i32x4_s(i32x4.extend_high_i16x8_s(words));
    v128.store(p, f32x4.add(v128.load(p), f32x4.mul(low, step)));
    v128.store(p, f32x4.add(v128.load(p, 16), f32x4.mul(high, step)), 16);
    w += 64;
  }
}

/** Each summed over its lanes. */
function sumsOf(a: v128, b: v128, c: v128, d: v128): v128 {
  const ab = i32x4.add(v128.shuffle<i32>(a, b, 0, 4, 1, 5), v128.shuffle<i32>(a, b, 2, 6, 3, 7));
  const cd = i32x4.add(v128.shuffle<i32>(c, d, 0, 4, 1, 5), v128.shuffle<i32>(c, d, 2, 6, 3, 7));
  return i32x4.add(v128.shuffle<i64>(ab, cd, 0, 2), v128.shuffle<i64>(ab, cd, 1, 3));
}

function scoresOf(args: NearestArguments, centroid: u32, sums: v128, steps: v128): v128 {
  const at = (<usize>centroid) << 2;
  const perStep = f32x4.mul(steps, v128.load32_splat(args.centroidSteps + at));
  const dots = f32x4.mul(f32x4.convert_i32x4_s(sums), perStep);
  return f32x4.sub(dots, v128.load32_splat(args.halfSquares + at));
}
