/**
 * Two bits more for each element of a row's 1-bit code, for a second opinion on candidates: with its sign an element x of
 * the rotated residual is sign(x) * (2m + 1) * step / 2, with m = 0..3. The step is that of the best uniform quantizer of 8
 * levels for Gaussian elements (Max 1960), as a rotation makes them, of the residual's root mean square. The code leaves a
 * quarter of the error of the signs alone.
 *
 * A row's magnitudes are the low bits of its m, then the high bits, each with zeros to the length of the code in its
 * record; then the factor, by which the dot product with the levels 2m + 1 estimates that with the residual without bias,
 * and the error: the deviation of that estimate for a query of length 1 that points in a random direction.
 */
import { Candidates } from "./candidates";
import { sumOfFloats, sumOfInts } from "./lanes";

/** Of the root mean square. */
const STEP: f64 = 0.586;
/** Elements below have no reciprocal worth having; such a residual is next to nothing. */
const SMALLEST_STEP: f32 = 1e-30;

export function bytesOfMagnitudes(codeBytes: usize): usize {
  return (codeBytes << 1) + 8;
}

function magnitudesOf(x: v128, perStep: v128): v128 {
  return i32x4.min_u(i32x4.trunc_sat_f32x4_u(f32x4.mul(f32x4.abs(x), perStep)), i32x4.splat(3));
}

function bitsOf(levels: v128, bit: u32): u32 {
  return i32x4.bitmask(i32x4.shl(levels, 31 - bit));
}

/** `squares`: of all elements, of which there are `size`. */
export function encodeMagnitudes(target: usize, rotated: usize, size: u32, squares: f64): void {
  const codeBytes: usize = ((<usize>size + 127) >> 7) << 4;
  const step = <f32>(STEP * sqrt(squares / <f64>size));
  const perStep = f32x4.splat(step < SMALLEST_STEP ? 0 : 1 / step);
  const one = i32x4.splat(1);
  let dots = f32x4.splat(0);
  let square = i32x4.splat(0);
  let code = target;
  for (let p = rotated; p < rotated + ((<usize>size) << 2); p += 32) {
    const x = v128.load(p);
    const y = v128.load(p, 16);
    const mx = magnitudesOf(x, perStep);
    const my = magnitudesOf(y, perStep);
    store<u8>(code, bitsOf(mx, 0) | (bitsOf(my, 0) << 4));
    store<u8>(code + codeBytes, bitsOf(mx, 1) | (bitsOf(my, 1) << 4));
    const vx = i32x4.add(i32x4.shl(mx, 1), one);
    const vy = i32x4.add(i32x4.shl(my, 1), one);
    square = i32x4.add(square, i32x4.add(i32x4.mul(vx, vx), i32x4.mul(vy, vy)));
    const ofX = f32x4.mul(f32x4.abs(x), f32x4.convert_i32x4_s(vx));
    dots = f32x4.add(dots, f32x4.add(ofX, f32x4.mul(f32x4.abs(y), f32x4.convert_i32x4_s(vy))));
    code += 1;
  }
  const dot = <f64>sumOfFloats(dots);
  const factor: f32 = dot == 0 ? 0 : <f32>(squares / dot);
  const lost = <f64>factor * <f64>factor * <f64>sumOfInts(square) - squares;
  store<f32>(target + (codeBytes << 1), factor);
  store<f32>(target + (codeBytes << 1), lost > 0 ? <f32>sqrt(lost / <f64>size) : 0, 4);
}

@unmanaged
class MagnitudesArguments {
  /** As of `scoreCodes`; the candidates' ids are row numbers. */
  records: usize;
  /** Bytes of code per row, a multiple of 16. */
  codeBytes: u32;
  /** By row number. */
  magnitudes: usize;
  /** Elements of a rotated vector. */
  size: u32;
  /** The query in 5 bit planes, 8 bytes of each (least significant first) for every 8 bytes of code. */
  planes: usize;
  /** Of all its levels there. */
  total: u32;
  /** An element of the query is its level times `scale` and `low`. */
  scale: f32;
  low: f32;
  /** f32 per list. */
  bases: usize;
  /** Added to the score for each unit of error. */
  perError: f32;
  best: usize;
}

/** Rows that are asked for before the first of them is needed, so that their cache misses overlap. */
const AHEAD: u32 = 16;

function touch(args: MagnitudesArguments, best: Candidates, from: u32): void {
  const end = min(from + AHEAD, best.count);
  const stride = bytesOfMagnitudes(args.codeBytes);
  for (let i = from; i < end; i++) {
    const id = <usize>load<u32>(best.ids + ((<usize>i) << 2));
    const record = args.records + id * (args.codeBytes + 16);
    for (let line: usize = 0; line < args.codeBytes; line += 64) load<u32>(record + line);
    for (let line: usize = 0; line < stride; line += 64) load<u32>(args.magnitudes + id * stride + line);
  }
}

/** Weighted count of the bits of the query's levels, where `mask` has ones. */
function weigh(mask: u64, plane: usize): u64 {
  return (
    popcnt(mask & load<u64>(plane)) +
    (popcnt(mask & load<u64>(plane, 8)) << 1) +
    (popcnt(mask & load<u64>(plane, 16)) << 2) +
    (popcnt(mask & load<u64>(plane, 24)) << 3) +
    (popcnt(mask & load<u64>(plane, 32)) << 4)
  );
}

/** Gives the candidates the scores of their 3 bits and drops those that are below the threshold then. */
export function scoreMagnitudes(pointer: usize): void {
  const args = changetype<MagnitudesArguments>(pointer);
  const best = changetype<Candidates>(args.best);
  const codeBytes = <usize>args.codeBytes;
  let kept: usize = 0;
  for (let i: u32 = 0; i < best.count; i++) {
    if ((i & (AHEAD - 1)) == 0) touch(args, best, i);
    const id = load<u32>(best.ids + ((<usize>i) << 2));
    let p = args.records + <usize>id * (codeBytes + 16);
    const end = p + codeBytes;
    let m = args.magnitudes + <usize>id * bytesOfMagnitudes(codeBytes);
    let plane = args.planes;
    // Sums over positive elements, and over all, of the query's levels and of ones; by sign, low and high bits.
    let levels: i64 = 0;
    let ones: i64 = 0;
    while (p < end) {
      const sign = load<u64>(p);
      const low = load<u64>(m);
      const high = load<u64>(m + codeBytes);
      const ofLow = 2 * weigh(sign & low, plane) - weigh(low, plane);
      const ofHigh = 2 * weigh(sign & high, plane) - weigh(high, plane);
      levels += 2 * weigh(sign, plane) + 2 * ofLow + 4 * ofHigh;
      ones += 2 * popcnt(sign) + 2 * (2 * popcnt(sign & low) - popcnt(low));
      ones += 4 * (2 * popcnt(sign & high) - popcnt(high));
      p += 8;
      m += 8;
      plane += 40;
    }
    const value = <f32>(levels - <i64>args.total) * args.scale + <f32>(ones - <i64>args.size) * args.low;
    const rest = m + codeBytes;
    const base = load<f32>(end, 4) + load<f32>(args.bases + ((<usize>load<u32>(end, 8)) << 2));
    const score = base + load<f32>(rest) * value + args.perError * load<f32>(rest, 4);
    if (score < best.threshold) continue;
    store<u32>(best.ids + (kept << 2), id);
    store<f32>(best.scores + (kept << 2), score);
    kept++;
  }
  best.count = <u32>kept;
}
