/**
 * A query against rows of vectors, consecutive or named by `ids`. `width` is a multiple of 16; shorter vectors are
 * padded with zeros. The sums are those of `src/kernels/distance.ts`: 16 lanes, one tree.
 */
import { sumOfFloats } from "./lanes";

@unmanaged
class RowsArguments {
  rows: usize;
  /** Bytes from one row to the next. */
  stride: u32;
  width: u32;
  query: usize;
  /** u32 row numbers, or 0 for rows 0, 1, 2, ... */
  ids: usize;
  count: u32;
  /** f32 per row. */
  out: usize;
}

/** The lanes of four registers, (a + b) + (c + d) first. */
function sumLanes(a: v128, b: v128, c: v128, d: v128): f32 {
  return sumOfFloats(f32x4.add(f32x4.add(a, b), f32x4.add(c, d)));
}

function rowAddress(args: RowsArguments, index: u32): usize {
  const row = args.ids == 0 ? index : load<u32>(args.ids + ((<usize>index) << 2));
  return args.rows + <usize>row * args.stride;
}

/** Named rows that are asked for before the first of them is needed, so that their cache misses overlap. */
const AHEAD: u32 = 4;

function touch(args: RowsArguments, from: u32, bytes: usize): void {
  const end = min(from + AHEAD, args.count);
  for (let i = from; i < end; i++) {
    const row = rowAddress(args, i);
    for (let line: usize = 0; line < bytes; line += 64) load<u32>(row + line);
  }
}

function squareOfDifference(p: usize, q: usize, immediate: usize): v128 {
  const difference = f32x4.sub(v128.load(q + immediate), v128.load(p + immediate));
  return f32x4.mul(difference, difference);
}

/** Over `bytes`, a multiple of 64, from both addresses on. */
export function dotOf(query: usize, row: usize, bytes: usize): f32 {
  const end = query + bytes;
  let p = row;
  let a = f32x4.splat(0);
  let b = a;
  let c = a;
  let d = a;
  for (let q = query; q < end; q += 64) {
    a = f32x4.add(a, f32x4.mul(v128.load(q), v128.load(p)));
    b = f32x4.add(b, f32x4.mul(v128.load(q, 16), v128.load(p, 16)));
    c = f32x4.add(c, f32x4.mul(v128.load(q, 32), v128.load(p, 32)));
    d = f32x4.add(d, f32x4.mul(v128.load(q, 48), v128.load(p, 48)));
    p += 64;
  }
  return sumLanes(a, b, c, d);
}

/** As `dotOf`. */
export function squaredL2Of(query: usize, row: usize, bytes: usize): f32 {
  const end = query + bytes;
  let p = row;
  let a = f32x4.splat(0);
  let b = a;
  let c = a;
  let d = a;
  for (let q = query; q < end; q += 64) {
    a = f32x4.add(a, squareOfDifference(p, q, 0));
    b = f32x4.add(b, squareOfDifference(p, q, 16));
    c = f32x4.add(c, squareOfDifference(p, q, 32));
    d = f32x4.add(d, squareOfDifference(p, q, 48));
    p += 64;
  }
  return sumLanes(a, b, c, d);
}

export function dotRows(pointer: usize): void {
  const args = changetype<RowsArguments>(pointer);
  const bytes = (<usize>args.width) << 2;
  for (let i: u32 = 0; i < args.count; i++)
    store<f32>(args.out + ((<usize>i) << 2), dotOf(args.query, rowAddress(args, i), bytes));
}

/**
 * Rows of bf16 (the upper half of an f32). A 32-bit lane holds two elements, so the query comes with its elements
 * reordered in eights to match: 0 2 4 6 1 3 5 7.
 */
export function dotHalfRows(pointer: usize): void {
  const args = changetype<RowsArguments>(pointer);
  const upper = i32x4.splat(0xffff0000);
  for (let i: u32 = 0; i < args.count; i++) {
    if (args.ids != 0 && (i & (AHEAD - 1)) == 0) touch(args, i, (<usize>args.width) << 1);
    let p = rowAddress(args, i);
    let q = args.query;
    const end = q + ((<usize>args.width) << 2);
    let a = f32x4.splat(0);
    let b = a;
    let c = a;
    let d = a;
    while (q < end) {
      const x = v128.load(p);
      const y = v128.load(p, 16);
      a = f32x4.add(a, f32x4.mul(v128.load(q), i32x4.shl(x, 16)));
      b = f32x4.add(b, f32x4.mul(v128.load(q, 16), v128.and(x, upper)));
      c = f32x4.add(c, f32x4.mul(v128.load(q, 32), i32x4.shl(y, 16)));
      d = f32x4.add(d, f32x4.mul(v128.load(q, 48), v128.and(y, upper)));
      p += 32;
      q += 64;
    }
    store<f32>(args.out + ((<usize>i) << 2), sumLanes(a, b, c, d));
  }
}

/** One row of f32 in two halves: the upper one rounded to nearest, and the lower one, which says which way. */
@unmanaged
class WholeArguments {
  halves: usize;
  lows: usize;
  /** A multiple of 16. */
  width: u32;
  query: usize;
  /** Out. */
  score: f32;
}

/** Four elements of the eight at these addresses: the first ones, or the last. */
function firstFloats(halves: v128, lows: v128): v128 {
  return i32x4.add(i32x4.shl(i32x4.extend_low_i16x8_u(halves), 16), i32x4.extend_low_i16x8_s(lows));
}

function lastFloats(halves: v128, lows: v128): v128 {
  return i32x4.add(i32x4.shl(i32x4.extend_high_i16x8_u(halves), 16), i32x4.extend_high_i16x8_s(lows));
}

export function dotWholeRow(pointer: usize): void {
  const args = changetype<WholeArguments>(pointer);
  let p = args.halves;
  let r = args.lows;
  let q = args.query;
  const end = q + ((<usize>args.width) << 2);
  let a = f32x4.splat(0);
  let b = a;
  let c = a;
  let d = a;
  while (q < end) {
    const x = v128.load(p);
    const y = v128.load(p, 16);
    const u = v128.load(r);
    const v = v128.load(r, 16);
    a = f32x4.add(a, f32x4.mul(v128.load(q), firstFloats(x, u)));
    b = f32x4.add(b, f32x4.mul(v128.load(q, 16), lastFloats(x, u)));
    c = f32x4.add(c, f32x4.mul(v128.load(q, 32), firstFloats(y, v)));
    d = f32x4.add(d, f32x4.mul(v128.load(q, 48), lastFloats(y, v)));
    p += 32;
    r += 32;
    q += 64;
  }
  args.score = sumLanes(a, b, c, d);
}

/** A row in two halves, or of bf16 alone. */
@unmanaged
class FloatsArguments {
  halves: usize;
  /** 0: there are none. */
  lows: usize;
  /** A multiple of 16. */
  width: u32;
  /** Out: f32. */
  floats: usize;
}

export function readFloats(pointer: usize): void {
  const args = changetype<FloatsArguments>(pointer);
  let target = args.floats;
  const bytes = (<usize>args.width) << 1;
  for (let i: usize = 0; i < bytes; i += 16) {
    const halves = v128.load(args.halves + i);
    const lows = args.lows == 0 ? i32x4.splat(0) : v128.load(args.lows + i);
    v128.store(target, firstFloats(halves, lows));
    v128.store(target, lastFloats(halves, lows), 16);
    target += 32;
  }
}
