/**
 * The distance of a prepared query to a vector as it was given, which may lie at any address; what
 * `src/kernels/distance.ts` defines, the normalisation for cosine included.
 */
import { dotOf, squaredL2Of } from "./rows";

@unmanaged
class CompareArguments {
  vector: usize;
  dimension: u32;
  /** Padded with zeros to a multiple of 16. */
  query: usize;
  /** Room for the prepared vector, padded like the query. */
  row: usize;
  /** 0: l2, 1: ip, 2: cosine. */
  space: u32;
  /** Out. */
  distance: f32;
}

export function compareVector(pointer: usize): void {
  const args = changetype<CompareArguments>(pointer);
  const row = args.row;
  const bytes = (<usize>args.dimension) << 2;
  const padded = (bytes + 63) & ~63;
  memory.copy(row, args.vector, bytes);
  memory.fill(row + bytes, 0, padded - bytes);
  if (args.space == 2) normalize(row, padded);
  args.distance = args.space == 0 ? squaredL2Of(args.query, row, padded) : 1 - dotOf(args.query, row, padded);
}

/** One sum in f64, in the order of the elements; zeros of the padding change nothing. */
function normalize(row: usize, bytes: usize): void {
  const end = row + bytes;
  let sum: f64 = 0;
  for (let p = row; p < end; p += 16) {
    const low = f64x2.promote_low_f32x4(v128.load64_zero(p));
    const high = f64x2.promote_low_f32x4(v128.load64_zero(p, 8));
    const lows = f64x2.mul(low, low);
    const highs = f64x2.mul(high, high);
    sum += f64x2.extract_lane(lows, 0);
    sum += f64x2.extract_lane(lows, 1);
    sum += f64x2.extract_lane(highs, 0);
    sum += f64x2.extract_lane(highs, 1);
  }
  if (sum == 0) {
    memory.fill(row, 0, bytes);
    return;
  }
  const length = f64x2.splat(sqrt(sum));
  for (let p = row; p < end; p += 8) {
    const x = f64x2.promote_low_f32x4(v128.load64_zero(p));
    v128.store64_lane(p, f32x4.demote_f64x2_zero(f64x2.div(x, length)), 0);
  }
}
