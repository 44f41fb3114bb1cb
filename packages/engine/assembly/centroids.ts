/**
 * Dot products of a query with centroids of 8-bit elements. The query is brought to 16 bits first, so that all that is
 * lost is of the query: codes are relative to the centroids as they are here.
 */
import { sumOfInts } from "./lanes";
import { scaled } from "./table";

@unmanaged
class CentroidsArguments {
  /** i8, `width` to a centroid. */
  rows: usize;
  /** A multiple of 16. */
  width: u32;
  count: u32;
  /** f32 per centroid: what a step of its elements is worth. */
  steps: usize;
  /** f32, in the order of the centroids' elements. */
  query: usize;
  /** Room for the query in 16 bits. */
  words: usize;
  /** Largest whole number that an element of the query becomes: no sum overflows 32 bits. */
  limit: f32;
  /** f32 per centroid. */
  out: usize;
  /** Out: what a step of the words is worth. */
  step: f32;
}

/** Added and taken off again it rounds an f32 to a whole number, ties to even. */
const ROUNDING: f32 = 12_582_912;

export function scoreCentroids(pointer: usize): void {
  const args = changetype<CentroidsArguments>(pointer);
  const step = toWords(args);
  args.step = step;
  const bytes = <usize>args.width;
  const last = args.rows + bytes * (args.count - 1);
  // Two at a time share the query's loads; the last of an odd number is taken twice.
  for (let i: usize = 0; i < args.count; i += 2) {
    let p = args.rows + i * bytes;
    const next = min(p + bytes, last) - p;
    const end = p + bytes;
    let q = args.words;
    let a = i32x4.splat(0);
    let b = a;
    let c = a;
    let d = a;
    for (; p < end; p += 16) {
      const x = v128.load(q);
      const y = v128.load(q, 16);
      a = i32x4.add(a, i32x4.dot_i16x8_s(x, v128.load8x8_s(p)));
      b = i32x4.add(b, i32x4.dot_i16x8_s(y, v128.load8x8_s(p, 8)));
      c = i32x4.add(c, i32x4.dot_i16x8_s(x, v128.load8x8_s(p + next)));
      d = i32x4.add(d, i32x4.dot_i16x8_s(y, v128.load8x8_s(p + next, 8)));
      q += 32;
    }
    const out = args.out + (i << 2);
    const steps = args.steps + (i << 2);
    store<f32>(out, <f32>sumOfInts(i32x4.add(a, b)) * (step * load<f32>(steps)));
    if (next > 0) store<f32>(out, <f32>sumOfInts(i32x4.add(c, d)) * (step * load<f32>(steps, 4)), 4);
  }
}

/** Returns what a step of the words is worth. */
function toWords(args: CentroidsArguments): f32 {
  const end = args.query + ((<usize>args.width) << 2);
  let most = f32x4.splat(0);
  for (let p = args.query; p < end; p += 16) most = f32x4.max(most, f32x4.abs(v128.load(p)));
  const largest = max(
    max(f32x4.extract_lane(most, 0), f32x4.extract_lane(most, 1)),
    max(f32x4.extract_lane(most, 2), f32x4.extract_lane(most, 3)),
  );
  const factor = f64x2.splat(largest == 0 ? 0 : <f64>args.limit / <f64>largest);
  let w = args.words;
  for (let p = args.query; p < end; p += 32) {
    v128.store(w, i16x8.narrow_i32x4_s(rounded(scaled(p, factor)), rounded(scaled(p + 16, factor))));
    w += 16;
  }
  return largest / args.limit;
}

/** Whole numbers; of elements far below 2^22. */
export function rounded(x: v128): v128 {
  const rounding = f32x4.splat(ROUNDING);
  return i32x4.trunc_sat_f32x4_s(f32x4.sub(f32x4.add(x, rounding), rounding));
}
