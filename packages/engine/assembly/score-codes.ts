/**
 * Estimated scores of single rows from their own copy of the 1-bit codes, for filters that few rows pass. A row's
 * record is its code, then its factor, bias (f32) and list (u32) and 4 bytes of nothing: one cache line up to 384
 * dimensions. The query
 * is cut into 4 bit planes, and a sum over signs becomes a weighted count of common bits.
 *
 * `planes` holds 4 x 16 bytes (least significant plane first) for every 16 bytes of code. With S the weighted count
 * over the planes and P the bits of the code, the score of a row is
 * (bias + base of its list) + factor * ((S * scale + P * low) + shift).
 */
import { Candidates, makeRoom, push } from "./candidates";

@unmanaged
class CodeArguments {
  records: usize;
  /** Bytes of code per row, a multiple of 16, at most 512. */
  codeBytes: u32;
  planes: usize;
  /** f32 per list. */
  bases: usize;
  /** u32 row numbers, also the candidates' ids. */
  ids: usize;
  count: u32;
  scale: f32;
  low: f32;
  shift: f32;
  best: usize;
}

function countCommon(code: v128, plane: usize): v128 {
  return i8x16.popcnt(v128.and(code, v128.load(plane)));
}

function twice(x: v128): v128 {
  return i8x16.add(x, x);
}

function sum16(x: v128): i32 {
  const t = i32x4.extadd_pairwise_i16x8_u(x);
  return (
    i32x4.extract_lane(t, 0) + i32x4.extract_lane(t, 1) + i32x4.extract_lane(t, 2) + i32x4.extract_lane(t, 3)
  );
}

export function scoreCodes(pointer: usize): void {
  const args = changetype<CodeArguments>(pointer);
  const best = changetype<Candidates>(args.best);
  for (let i: u32 = 0; i < args.count; i++) {
    const id = load<u32>(args.ids + ((<usize>i) << 2));
    let p = args.records + <usize>id * (args.codeBytes + 16);
    const end = p + args.codeBytes;
    let plane = args.planes;
    let sums = i16x8.splat(0);
    let bits = sums;
    while (p < end) {
      const code = v128.load(p);
      const c0 = countCommon(code, plane);
      const c1 = countCommon(code, plane + 16);
      const c2 = countCommon(code, plane + 32);
      const c3 = countCommon(code, plane + 48);
      // At most 15 * 8 in a byte; 32 rounds of two bytes fit 16 bits.
      const weighted = i8x16.add(c0, twice(i8x16.add(c1, twice(i8x16.add(c2, twice(c3))))));
      sums = i16x8.add(sums, i16x8.extadd_pairwise_i8x16_u(weighted));
      bits = i16x8.add(bits, i16x8.extadd_pairwise_i8x16_u(i8x16.popcnt(code)));
      p += 16;
      plane += 64;
    }
    const value = <f32>sum16(sums) * args.scale + <f32>sum16(bits) * args.low + args.shift;
    const base = load<f32>(end, 4) + load<f32>(args.bases + ((<usize>load<u32>(end, 8)) << 2));
    const score = base + load<f32>(end) * value;
    if (score > best.threshold) {
      makeRoom(best);
      push(best, id, score);
    }
  }
}
