/**
 * Estimated scores of single rows from their own copy of the 1-bit codes, for filters that few rows pass. A row's
 * record is its code, then its factor, bias (f32), list and number of set bits (u32): one cache line up to 384
 * dimensions. The query is cut into 4 bit planes, and a sum over signs becomes a weighted count of common bits, taken
 * 64 at a time: x86 counts the bits of a register in one instruction, those of a vector in ten.
 *
 * `planes` holds 4 x 8 bytes (least significant plane first) for every 8 bytes of code. With S the weighted count
 * over the planes and P the bits of the code, the score of a row is
 * (bias + base of its list) + factor * ((S * scale + P * low) + shift).
 */
import { Candidates, makeRoom, push } from "./candidates";

@unmanaged
class CodesArguments {
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

function countCommon(code: u64, plane: usize): u64 {
  return popcnt(code & load<u64>(plane));
}

/** Rows whose records are asked for before the first of them is needed, so that their cache misses overlap. */
const AHEAD: u32 = 32;

function touch(args: CodesArguments, from: u32): void {
  const end = min(from + AHEAD, args.count);
  for (let i = from; i < end; i++) {
    const id = load<u32>(args.ids + ((<usize>i) << 2));
    load<u32>(args.records + <usize>id * (args.codeBytes + 16));
  }
}

export function scoreCodes(pointer: usize): void {
  const args = changetype<CodesArguments>(pointer);
  const best = changetype<Candidates>(args.best);
  for (let i: u32 = 0; i < args.count; i++) {
    if ((i & (AHEAD - 1)) == 0) touch(args, i);
    const id = load<u32>(args.ids + ((<usize>i) << 2));
    let p = args.records + <usize>id * (args.codeBytes + 16);
    const end = p + args.codeBytes;
    let plane = args.planes;
    let s0: u64 = 0;
    let s1: u64 = 0;
    let s2: u64 = 0;
    let s3: u64 = 0;
    while (p < end) {
      const code = load<u64>(p);
      s0 += countCommon(code, plane);
      s1 += countCommon(code, plane + 8);
      s2 += countCommon(code, plane + 16);
      s3 += countCommon(code, plane + 24);
      p += 8;
      plane += 32;
    }
    const weighted = <u32>(s0 + (s1 << 1) + (s2 << 2) + (s3 << 3));
    const value = <f32>weighted * args.scale + <f32>load<u32>(end, 12) * args.low + args.shift;
    const base = load<f32>(end, 4) + load<f32>(args.bases + ((<usize>load<u32>(end, 8)) << 2));
    const score = base + load<f32>(end) * value;
    if (score > best.threshold) {
      makeRoom(best);
      push(best, id, score);
    }
  }
}
