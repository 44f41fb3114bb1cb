/** What FastScan adds up for a rotated query: see `scan-blocks.ts`. */
import { sumOfFloats } from "./lanes";

@unmanaged
class TableArguments {
  vector: usize;
  /** Elements, a multiple of 4. */
  size: u32;
  /** For every four elements, what each of the 16 sign patterns adds, as a whole number up to 63. */
  table: usize;
  /** Elements, a multiple of 4, that a check looks at. */
  checked: u32;
  /** Out: <signs, query> is about sum * scale + shift. */
  scale: f32;
  shift: f32;
  /** Out: the same of the first `checked` elements. */
  checkedShift: f32;
}

const TABLE_MAX: f64 = 63;

/** In f64 in between, where no reciprocal of a short query's elements is too large. */
export function scaled(p: usize, factor: v128): v128 {
  const low = f64x2.mul(f64x2.promote_low_f32x4(v128.load64_zero(p)), factor);
  const high = f64x2.mul(f64x2.promote_low_f32x4(v128.load64_zero(p, 8)), factor);
  return v128.shuffle<i64>(f32x4.demote_f64x2_zero(low), f32x4.demote_f64x2_zero(high), 0, 2);
}

export function buildTable(pointer: usize): void {
  const args = changetype<TableArguments>(pointer);
  const end = args.vector + ((<usize>args.size) << 2);
  let range: f32 = 0;
  let shift: f32 = 0;
  const checked = args.vector + ((<usize>args.checked) << 2);
  for (let p = args.vector; p < end; p += 16) {
    if (p == checked) args.checkedShift = shift;
    const span = sumOfFloats(f32x4.abs(v128.load(p)));
    range = max(range, span);
    shift -= span;
  }
  const perUnit = range == 0 ? 0 : TABLE_MAX / <f64>range;
  const factor = f64x2.splat(perUnit);
  const zero = f32x4.splat(0);
  let t = args.table;
  for (let p = args.vector; p < end; p += 16) {
    const x = scaled(p, factor);
    const a = f32x4.extract_lane(x, 0);
    const b = f32x4.extract_lane(x, 1);
    const c = f32x4.extract_lane(x, 2);
    const d = f32x4.extract_lane(x, 3);
    // Above the lowest sum, an element's own sign adds it twice and the other sign nothing.
    let low = f32x4.splat(sumOfFloats(f32x4.max(f32x4.neg(x), zero)) + 0.5);
    low = f32x4.add(low, f32x4(0, a, b, a + b));
    const sums0 = i32x4.trunc_sat_f32x4_s(low);
    const sums1 = i32x4.trunc_sat_f32x4_s(f32x4.add(low, f32x4.splat(c)));
    const sums2 = i32x4.trunc_sat_f32x4_s(f32x4.add(low, f32x4.splat(d)));
    const sums3 = i32x4.trunc_sat_f32x4_s(f32x4.add(low, f32x4.splat(c + d)));
    v128.store(
      t,
      i8x16.narrow_i16x8_u(i16x8.narrow_i32x4_s(sums0, sums1), i16x8.narrow_i32x4_s(sums2, sums3)),
    );
    t += 16;
  }
  args.scale = perUnit == 0 ? 0 : <f32>(2 / perUnit);
  args.shift = shift;
}
