/**
 * 4-bit codes of rows, for a second opinion on candidates: an eighth of a row's f32, a fifth of the error that the 1-bit
 * code leaves. An element x is the level u = 0..15 whose value (u - 7.5) * step is nearest; the step is that of the best
 * uniform quantizer of 16 levels for Gaussian elements of the row's root mean square (Max 1960). What a row lost by it
 * is kept beside the code, so other rows only cost time.
 *
 * Elements are in the order of a query for bf16 rows, 32 of them in 16 bytes: the first 16 in the low nibbles, the
 * others in the high ones.
 */
import { Candidates } from "./candidates";
import { sumOfFloats, sumOfInts } from "./lanes";

/** Of the root mean square. */
const STEP: f32 = 0.3352;
/** Elements below have no reciprocal worth having; such a row loses all of itself. */
const SMALLEST_STEP: f32 = 1e-30;

@unmanaged
class EncodeArguments {
  /** bf16, `width` to a row. */
  rows: usize;
  /** A multiple of 16. */
  width: u32;
  /** u32 row numbers. */
  ids: usize;
  count: u32;
  /** Out, by the number's position: codes of `width` / 2 bytes rounded up to 16, and an f32 each. */
  codes: usize;
  steps: usize;
  /** Euclidean lengths. */
  losses: usize;
}

/** Elements 0 2 4 6 of eight bf16. */
function evenOf(eight: v128): v128 {
  return i32x4.shl(eight, 16);
}

function oddOf(eight: v128): v128 {
  return v128.and(eight, i32x4.splat(0xffff0000));
}

function levelsOfFour(x: v128, perStep: v128): v128 {
  const levels = i32x4.trunc_sat_f32x4_s(f32x4.add(f32x4.mul(x, perStep), f32x4.splat(8)));
  return i32x4.min_s(i32x4.max_s(levels, i32x4.splat(0)), i32x4.splat(15));
}

/** As 16-bit lanes, even elements first. */
function levelsOf(eight: v128, perStep: v128): v128 {
  return i16x8.narrow_i32x4_s(levelsOfFour(evenOf(eight), perStep), levelsOfFour(oddOf(eight), perStep));
}

/** Adds the squares of what four elements lose. */
function addLost(lost: v128, x: v128, levels: v128, step: v128): v128 {
  const kept = f32x4.mul(f32x4.sub(f32x4.convert_i32x4_s(levels), f32x4.splat(7.5)), step);
  const difference = f32x4.sub(x, kept);
  return f32x4.add(lost, f32x4.mul(difference, difference));
}

function addLostOf(lost: v128, eight: v128, levels: v128, step: v128): v128 {
  const evens = addLost(lost, evenOf(eight), i32x4.extend_low_i16x8_s(levels), step);
  return addLost(evens, oddOf(eight), i32x4.extend_high_i16x8_s(levels), step);
}

function stepOf(row: usize, width: u32): f32 {
  let squares = f32x4.splat(0);
  const end = row + ((<usize>width) << 1);
  for (let p = row; p < end; p += 16) {
    const eight = v128.load(p);
    squares = f32x4.add(squares, f32x4.mul(evenOf(eight), evenOf(eight)));
    squares = f32x4.add(squares, f32x4.mul(oddOf(eight), oddOf(eight)));
  }
  return STEP * <f32>sqrt(sumOfFloats(squares) / <f32>width);
}

/** Rows that are asked for before the first of them is needed, so that their cache misses overlap. */
const ROWS_AHEAD: u32 = 4;

function touchRows(args: EncodeArguments, from: u32, rowBytes: usize): void {
  const end = min(from + ROWS_AHEAD, args.count);
  for (let i = from; i < end; i++) {
    const row = args.rows + <usize>load<u32>(args.ids + ((<usize>i) << 2)) * rowBytes;
    for (let line: usize = 0; line < rowBytes; line += 64) load<u32>(row + line);
  }
}

export function encodeNibbles(pointer: usize): void {
  const args = changetype<EncodeArguments>(pointer);
  const rowBytes = (<usize>args.width) << 1;
  let code = args.codes;
  for (let i: u32 = 0; i < args.count; i++) {
    if ((i & (ROWS_AHEAD - 1)) == 0) touchRows(args, i, rowBytes);
    let p = args.rows + <usize>load<u32>(args.ids + ((<usize>i) << 2)) * rowBytes;
    const end = p + rowBytes;
    const step = stepOf(p, args.width);
    const steps = f32x4.splat(step);
    const perStep = f32x4.splat(step < SMALLEST_STEP ? 0 : 1 / step);
    let lost = f32x4.splat(0);
    for (; p < end; p += 64) {
      const e0 = v128.load(p);
      const e1 = v128.load(p, 16);
      const l0 = levelsOf(e0, perStep);
      const l1 = levelsOf(e1, perStep);
      lost = addLostOf(addLostOf(lost, e0, l0, steps), e1, l1, steps);
      let high = i8x16.splat(0);
      if (p + 32 < end) {
        const e2 = v128.load(p, 32);
        const e3 = v128.load(p, 48);
        const l2 = levelsOf(e2, perStep);
        const l3 = levelsOf(e3, perStep);
        lost = addLostOf(addLostOf(lost, e2, l2, steps), e3, l3, steps);
        high = i16x8.shl(i8x16.narrow_i16x8_u(l2, l3), 4);
      }
      v128.store(code, v128.or(i8x16.narrow_i16x8_u(l0, l1), high));
      code += 16;
    }
    const at = (<usize>i) << 2;
    store<f32>(args.steps + at, step);
    store<f32>(args.losses + at, <f32>sqrt(sumOfFloats(lost)));
  }
}

@unmanaged
class RefineArguments {
  /** As `encodeNibbles` writes them; the candidates' ids are positions there. */
  codes: usize;
  /** Of one code. */
  codeBytes: u32;
  steps: usize;
  losses: usize;
  /** f32, added to the score. */
  biases: usize;
  /** The query in 16 bits, as `scoreCentroids` leaves it, with zeros to twice `codeBytes`. */
  words: usize;
  /** What a step of the words is worth. */
  wordStep: f32;
  /** Added to the score for each unit of length that a row lost. */
  perLoss: f32;
  best: usize;
}

/** Codes that are asked for before the first of them is needed, so that their cache misses overlap. */
const AHEAD: u32 = 16;

function touch(args: RefineArguments, best: Candidates, from: u32): void {
  const end = min(from + AHEAD, best.count);
  for (let i = from; i < end; i++) {
    const code = args.codes + <usize>load<u32>(best.ids + ((<usize>i) << 2)) * args.codeBytes;
    for (let line: usize = 0; line < args.codeBytes; line += 64) load<u32>(code + line);
  }
}

/** Gives the candidates the scores of their 4-bit codes and drops those that are below the threshold then. */
export function refineCandidates(pointer: usize): void {
  const args = changetype<RefineArguments>(pointer);
  const best = changetype<Candidates>(args.best);
  const middle = <f32>totalOf(args) * 7.5;
  let kept: usize = 0;
  for (let i: u32 = 0; i < best.count; i++) {
    if ((i & (AHEAD - 1)) == 0) touch(args, best, i);
    const id = load<u32>(best.ids + ((<usize>i) << 2));
    const at = (<usize>id) << 2;
    const sum = weightedSum(args, args.codes + <usize>id * args.codeBytes);
    const value = load<f32>(args.steps + at) * (args.wordStep * (<f32>sum - middle));
    const score = load<f32>(args.biases + at) + value + args.perLoss * load<f32>(args.losses + at);
    if (score < best.threshold) continue;
    store<u32>(best.ids + (kept << 2), id);
    store<f32>(best.scores + (kept << 2), score);
    kept++;
  }
  best.count = <u32>kept;
}

function totalOf(args: RefineArguments): i32 {
  let total = i32x4.splat(0);
  const end = args.words + ((<usize>args.codeBytes) << 2);
  for (let q = args.words; q < end; q += 16)
    total = i32x4.add(total, i32x4.dot_i16x8_s(v128.load(q), i16x8.splat(1)));
  return sumOfInts(total);
}

/** Of the words, by the levels. */
function weightedSum(args: RefineArguments, code: usize): i32 {
  const end = code + args.codeBytes;
  let q = args.words;
  let a = i32x4.splat(0);
  let b = a;
  let c = a;
  let d = a;
  for (let p = code; p < end; p += 16) {
    const x = v128.load(p);
    const low = v128.and(x, i8x16.splat(0x0f));
    const high = i8x16.shr_u(x, 4);
    a = i32x4.add(a, i32x4.dot_i16x8_s(v128.load(q), i16x8.extend_low_i8x16_u(low)));
    b = i32x4.add(b, i32x4.dot_i16x8_s(v128.load(q, 16), i16x8.extend_high_i8x16_u(low)));
    c = i32x4.add(c, i32x4.dot_i16x8_s(v128.load(q, 32), i16x8.extend_low_i8x16_u(high)));
    d = i32x4.add(d, i32x4.dot_i16x8_s(v128.load(q, 48), i16x8.extend_high_i8x16_u(high)));
    q += 64;
  }
  return sumOfInts(i32x4.add(i32x4.add(a, b), i32x4.add(c, d)));
}
