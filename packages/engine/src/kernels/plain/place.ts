/** Plain twin of `assembly/place.ts`. */
import { blockAt } from "../argument-block.ts";
import { PLACE, ROTATE } from "../argument-layouts.generated.ts";
import { encodeMagnitudes } from "./magnitudes.ts";
import { rotate } from "./rotate.ts";
import type { Views } from "./views.ts";

const f = Math.fround;
const value = new Float32Array(1);
const pattern = new Uint32Array(value.buffer);

export function placeVector(views: Views, pointer: number): void {
  const args = blockAt(PLACE, views, pointer);
  const { width } = args;
  const vector = views.f32.subarray(args.vector / 4, args.vector / 4 + width);
  const centroid = views.f32.subarray(args.centroid / 4, args.centroid / 4 + width);
  const rotation = blockAt(ROTATE, views, args.rotation);
  const residual = views.f32.subarray(rotation.vector / 4, rotation.vector / 4 + rotation.size);
  const square = squareOf(vector);
  args.square = square;
  args.length = Math.sqrt(square);
  const halves = views.u16.subarray(args.halves / 2, args.halves / 2 + width);
  const lows = args.lows === 0 ? null : views.u16.subarray(args.lows / 2, args.lows / 2 + width);
  args.loss = Math.sqrt(squareOf(vector.map((x, j) => split(x, j, halves, lows))));
  residual.fill(0);
  for (let j = 0; j < width; j++) residual[j] = vector[j]! - centroid[j]!;
  args.distance = squareOf(residual.subarray(0, width));
  rotate(views, args.rotation);
  const { factor, bits, code } = encodeSigns(residual);
  if (args.magnitudes !== 0) encodeMagnitudes(views, args.magnitudes, residual, squareOf(residual));
  args.factor = factor;
  args.bits = bits;
  for (const [i, byte] of code.entries()) views.u8[args.code + i] = views.u8[args.block + i * 32] = byte;
}

export interface SignCode {
  readonly code: Uint8Array;
  /** 0 for the zero vector. */
  readonly factor: number;
  /** How many are set. */
  readonly bits: number;
}

/** One bit per element, set where positive. */
export function encodeSigns(rotated: Float32Array): SignCode {
  const code = new Uint8Array(rotated.length / 8);
  const lanes = new Float32Array(4);
  let bits = 0;
  for (let j = 0; j < rotated.length; j++) {
    if (rotated[j]! <= 0) continue;
    code[j >>> 3]! |= 1 << (j & 7);
    bits++;
  }
  for (let j = 0; j < rotated.length; j += 8)
    for (let lane = 0; lane < 4; lane++)
      lanes[lane] = f(lanes[lane]! + f(Math.abs(rotated[j + lane]!) + Math.abs(rotated[j + lane + 4]!)));
  const absolute = f(f(lanes[0]! + lanes[1]!) + f(lanes[2]! + lanes[3]!));
  return { code, factor: absolute === 0 ? 0 : f(squareOf(rotated) / absolute), bits };
}

/** What the half loses of the element. */
function split(x: number, j: number, halves: Uint16Array, lows: Uint16Array | null): number {
  value[0] = x;
  const half = (pattern[0]! + 0x8000) >>> 16;
  halves[j] = half;
  if (lows !== null) lows[j] = pattern[0]!;
  pattern[0] = half << 16;
  return x - value[0];
}

/** In f64, of two lanes. */
function squareOf(vector: Float32Array): number {
  let [even, odd] = [0, 0];
  for (let j = 0; j < vector.length; j += 4) {
    even += vector[j]! ** 2 + vector[j + 2]! ** 2;
    odd += vector[j + 1]! ** 2 + vector[j + 3]! ** 2;
  }
  return even + odd;
}
