/**
 * Puts a vector into its slot: as bf16 with what that leaves, and the 1-bit code of its distance to the centroid
 * (`src/segment/dense/sign-code.ts`), in its record and in its block for FastScan. Lengths, which bounds rest on, are
 * of f64 sums.
 */
import { sumOfFloats } from "./lanes";
import { encodeMagnitudes } from "./magnitudes";
import { RotateArguments, rotate } from "./rotate";

@unmanaged
class PlaceArguments {
  /** f32, as the centroid. */
  vector: usize;
  centroid: usize;
  /** A multiple of 16. */
  width: u32;
  /** Out: the bf16, and what they lack, unless this is 0. */
  halves: usize;
  lows: usize;
  /** An argument block of `rotate`; its vector, zeros beyond the width, becomes the rotated residual. */
  rotation: usize;
  /** Out: bytes of the code, one after the other, and 32 bytes apart. */
  code: usize;
  block: usize;
  /** Out, unless this is 0: see `magnitudes.ts`. */
  magnitudes: usize;
  /** Out: |vector|, the same squared, and the length of what bf16 lost. */
  length: f32;
  square: f32;
  loss: f32;
  /** Out: the squared distance to the centroid. */
  distance: f32;
  /** Out: of the code. */
  factor: f32;
  bits: u32;
}

export function placeVector(pointer: usize): void {
  const args = changetype<PlaceArguments>(pointer);
  split(args);
  const rotation = changetype<RotateArguments>(args.rotation);
  takeResidual(args, rotation.vector, (<usize>rotation.size) << 2);
  rotate(args.rotation);
  encodeSigns(args, rotation.vector, (<usize>rotation.size) << 2);
}

function addSquares(sum: v128, x: v128): v128 {
  const low = f64x2.promote_low_f32x4(x);
  const high = f64x2.promote_low_f32x4(v128.shuffle<i64>(x, x, 1, 1));
  return f64x2.add(sum, f64x2.add(f64x2.mul(low, low), f64x2.mul(high, high)));
}

function total(sum: v128): f64 {
  return f64x2.extract_lane(sum, 0) + f64x2.extract_lane(sum, 1);
}

function upper(bits: v128): v128 {
  return i32x4.shr_u(i32x4.add(bits, i32x4.splat(0x8000)), 16);
}

function lower(bits: v128): v128 {
  return v128.and(bits, i32x4.splat(0xffff));
}

function split(args: PlaceArguments): void {
  let squares = f64x2.splat(0);
  let lost = squares;
  const end = args.vector + ((<usize>args.width) << 2);
  let at: usize = 0;
  for (let p = args.vector; p < end; p += 32) {
    const x = v128.load(p);
    const y = v128.load(p, 16);
    const first = upper(x);
    const last = upper(y);
    v128.store(args.halves + at, i16x8.narrow_i32x4_u(first, last));
    if (args.lows != 0) v128.store(args.lows + at, i16x8.narrow_i32x4_u(lower(x), lower(y)));
    squares = addSquares(addSquares(squares, x), y);
    lost = addSquares(lost, f32x4.sub(x, i32x4.shl(first, 16)));
    lost = addSquares(lost, f32x4.sub(y, i32x4.shl(last, 16)));
    at += 16;
  }
  args.square = <f32>total(squares);
  args.length = <f32>sqrt(total(squares));
  args.loss = <f32>sqrt(total(lost));
}

function takeResidual(args: PlaceArguments, target: usize, bytes: usize): void {
  const filled = (<usize>args.width) << 2;
  let squares = f64x2.splat(0);
  for (let i: usize = 0; i < filled; i += 16) {
    const difference = f32x4.sub(v128.load(args.vector + i), v128.load(args.centroid + i));
    v128.store(target + i, difference);
    squares = addSquares(squares, difference);
  }
  for (let i = filled; i < bytes; i += 16) v128.store(target + i, f32x4.splat(0));
  args.distance = <f32>total(squares);
}

function encodeSigns(args: PlaceArguments, rotated: usize, bytes: usize): void {
  let squares = f64x2.splat(0);
  let absolute = f32x4.splat(0);
  const zero = absolute;
  let bits: u32 = 0;
  let code = args.code;
  let block = args.block;
  for (let p = rotated; p < rotated + bytes; p += 32) {
    const x = v128.load(p);
    const y = v128.load(p, 16);
    squares = addSquares(addSquares(squares, x), y);
    absolute = f32x4.add(absolute, f32x4.add(f32x4.abs(x), f32x4.abs(y)));
    const byte: u32 = i32x4.bitmask(f32x4.gt(x, zero)) | (i32x4.bitmask(f32x4.gt(y, zero)) << 4);
    bits += popcnt(byte);
    store<u8>(code, byte);
    store<u8>(block, byte);
    code += 1;
    block += 32;
  }
  if (args.magnitudes != 0) encodeMagnitudes(args.magnitudes, rotated, <u32>(bytes >> 2), total(squares));
  const sum = <f64>sumOfFloats(absolute);
  args.factor = sum == 0 ? 0 : <f32>(total(squares) / sum);
  args.bits = bits;
}
