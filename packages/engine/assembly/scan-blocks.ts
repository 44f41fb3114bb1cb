/**
 * FastScan: estimated scores of blocks of 32 rows from 1-bit codes, and the candidates among them.
 *
 * A block holds, for every 8 dimensions, one byte of each of its 32 rows: the low nibble is the signs of the first
 * four dimensions, the high nibble of the last four. `table` gives for every 4 dimensions what each of the 16
 * patterns adds, as whole numbers up to 63: four of them fit a byte, and 4,096 dimensions fit 16 bits (64,512).
 * Score of a row: (bias + base) + factor * (sum * scale + shift).
 *
 * Of a long list most blocks have no row that is near. They are left out after the first `checked` bytes of their codes,
 * where no row's score by these, which is made likewise, is above the threshold.
 */
import { Candidates, makeRoom, push } from "./candidates";

@unmanaged
class ScanArguments {
  codes: usize;
  blocks: u32;
  /** Bytes of code per row: dimensions / 8, even. */
  codeBytes: u32;
  table: usize;
  /** f32 per row. */
  factors: usize;
  /** f32 per row. */
  biases: usize;
  /** One u32 per block; rows without a bit are no candidates. */
  masks: usize;
  /** Id of the first row; the others follow. */
  firstId: u32;
  base: f32;
  scale: f32;
  shift: f32;
  /** Bytes of code that say enough of a row to leave it out, even; 0: all are looked at. */
  checked: u32;
  checkScale: f32;
  checkShift: f32;
  /** 128 bytes of room. */
  scratch: usize;
  best: usize;
}

function lookUp(t0: v128, t1: v128, codes: v128): v128 {
  return i8x16.add(
    i8x16.swizzle(t0, v128.and(codes, i8x16.splat(0x0f))),
    i8x16.swizzle(t1, i8x16.shr_u(codes, 4)),
  );
}

/** Checked blocks, of those behind each other, until it counts how many were left out. */
const TRIED: u32 = 16;

/**
 * Scores of four rows, stored to scratch; a bit for each above the threshold. `at`: bytes to their f32 from those of row 0,
 * of which a block has 128. `weights`: what a sum counts, a scale and a shift.
 */
function scoreFour(args: ScanArguments, at: usize, sums: v128, weights: usize): i32 {
  const value = f32x4.add(
    f32x4.mul(f32x4.convert_i32x4_u(sums), v128.load32_splat(weights)),
    v128.load32_splat(weights, 4),
  );
  const scores = f32x4.add(
    f32x4.add(v128.load(args.biases + at), f32x4.splat(args.base)),
    f32x4.mul(v128.load(args.factors + at), value),
  );
  v128.store(args.scratch + (at & 127), scores);
  const threshold = changetype<Candidates>(args.best).threshold;
  return i32x4.bitmask(f32x4.gt(scores, f32x4.splat(threshold)));
}

/**
 * Of the 32 rows from `row` on, whose sums are in scratch: twice those of even + 256 * odd rows modulo 2^16, and those of
 * the odd ones alone.
 */
function scoreBlock(args: ScanArguments, row: usize, weights: usize): u32 {
  const odd0 = v128.load(args.scratch, 16);
  const odd1 = v128.load(args.scratch, 48);
  const even0 = i16x8.sub(v128.load(args.scratch), i16x8.shl(odd0, 8));
  const even1 = i16x8.sub(v128.load(args.scratch, 32), i16x8.shl(odd1, 8));
  const r0 = v128.shuffle<i16>(even0, odd0, 0, 8, 1, 9, 2, 10, 3, 11);
  const r1 = v128.shuffle<i16>(even0, odd0, 4, 12, 5, 13, 6, 14, 7, 15);
  const r2 = v128.shuffle<i16>(even1, odd1, 0, 8, 1, 9, 2, 10, 3, 11);
  const r3 = v128.shuffle<i16>(even1, odd1, 4, 12, 5, 13, 6, 14, 7, 15);
  let hits: u32 = scoreFour(args, row, i32x4.extend_low_i16x8_u(r0), weights);
  hits |= scoreFour(args, row + 16, i32x4.extend_high_i16x8_u(r0), weights) << 4;
  hits |= scoreFour(args, row + 32, i32x4.extend_low_i16x8_u(r1), weights) << 8;
  hits |= scoreFour(args, row + 48, i32x4.extend_high_i16x8_u(r1), weights) << 12;
  hits |= scoreFour(args, row + 64, i32x4.extend_low_i16x8_u(r2), weights) << 16;
  hits |= scoreFour(args, row + 80, i32x4.extend_high_i16x8_u(r2), weights) << 20;
  hits |= scoreFour(args, row + 96, i32x4.extend_low_i16x8_u(r3), weights) << 24;
  hits |= scoreFour(args, row + 112, i32x4.extend_high_i16x8_u(r3), weights) << 28;
  return hits;
}

export function scanBlocks(pointer: usize): void {
  const args = changetype<ScanArguments>(pointer);
  const best = changetype<Candidates>(args.best);
  const blockBytes = (<usize>args.codeBytes) << 5;
  const checkedBytes = (<usize>args.checked) << 5;
  const weights = pointer + offsetof<ScanArguments>("scale");
  const checkWeights = pointer + offsetof<ScanArguments>("checkScale");
  let tried: u32 = 0;
  let leftOut: u32 = 0;
  for (let block: u32 = 0; block < args.blocks; block++) {
    const mask = load<u32>(args.masks + ((<usize>block) << 2));
    if (mask == 0) continue;
    let p = args.codes + <usize>block * blockBytes;
    const end = p + blockBytes;
    // A check that leaves out less than half of the blocks is not worth its time.
    const isChecked = checkedBytes != 0 && (tried < TRIED || leftOut << 1 >= tried);
    let until = isChecked ? p + checkedBytes : end;
    const row = (<usize>block) << 7;
    let t = args.table;
    // Bytes are summed in 16-bit lanes, see `scoreBlock`.
    let all0 = i16x8.splat(0);
    let odd0 = all0;
    let all1 = all0;
    let odd1 = all0;
    for (;;) {
      while (p < until) {
        const t0 = v128.load(t);
        const t1 = v128.load(t, 16);
        const t2 = v128.load(t, 32);
        const t3 = v128.load(t, 48);
        const s0 = i8x16.add(lookUp(t0, t1, v128.load(p)), lookUp(t2, t3, v128.load(p, 32)));
        const s1 = i8x16.add(lookUp(t0, t1, v128.load(p, 16)), lookUp(t2, t3, v128.load(p, 48)));
        all0 = i16x8.add(all0, s0);
        odd0 = i16x8.add(odd0, i16x8.shr_u(s0, 8));
        all1 = i16x8.add(all1, s1);
        odd1 = i16x8.add(odd1, i16x8.shr_u(s1, 8));
        p += 64;
        t += 64;
      }
      v128.store(args.scratch, all0);
      v128.store(args.scratch, odd0, 16);
      v128.store(args.scratch, all1, 32);
      v128.store(args.scratch, odd1, 48);
      if (until == end) break;
      tried++;
      if ((scoreBlock(args, row, checkWeights) & mask) == 0) break;
      until = end;
    }
    if (p < end) {
      leftOut++;
      continue;
    }
    let hits = scoreBlock(args, row, weights) & mask;
    if (hits == 0) continue;
    makeRoom(best);
    while (hits != 0) {
      const bit = ctz(hits);
      hits &= hits - 1;
      push(best, args.firstId + (block << 5) + bit, load<f32>(args.scratch + ((<usize>bit) << 2)));
    }
  }
}

@unmanaged
class BasesArguments {
  /** u16 per row. */
  lists: usize;
  /** f32 per row. */
  biases: usize;
  /** f32 per list. */
  bases: usize;
  count: u32;
  /** f32 per row. */
  out: usize;
}

/** Biases for rows that are not all of one list: the base of each one's list is added here instead. */
export function addBases(pointer: usize): void {
  const args = changetype<BasesArguments>(pointer);
  const end = args.lists + ((<usize>args.count) << 1);
  let bias = args.biases;
  let out = args.out;
  for (let p = args.lists; p < end; p += 2) {
    store<f32>(out, load<f32>(bias) + load<f32>(args.bases + ((<usize>load<u16>(p)) << 2)));
    bias += 4;
    out += 4;
  }
}
