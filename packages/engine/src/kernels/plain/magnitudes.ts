/** Plain twin of `assembly/magnitudes.ts`. */
import { type ArgumentBlock, blockAt } from "../argument-block.ts";
import { CANDIDATES, MAGNITUDES } from "../argument-layouts.generated.ts";
import { MAGNITUDE, MAGNITUDE_BYTES, RECORD, RECORD_BYTES } from "../kernels.ts";
import type { Views } from "./views.ts";

const f = Math.fround;
const STEP = 0.586;
const SMALLEST_STEP = f(1e-30);

/** `squares`: of all elements. */
export function encodeMagnitudes(views: Views, target: number, rotated: Float32Array, squares: number): void {
  const size = rotated.length;
  const codeBytes = Math.ceil(size / 128) * 16;
  const step = f(STEP * Math.sqrt(squares / size));
  const perStep = step < SMALLEST_STEP ? 0 : f(1 / step);
  const levels = rotated.map((x) => Math.min(3, Math.trunc(f(Math.abs(x) * perStep))));
  views.u8.fill(0, target, target + size / 8);
  views.u8.fill(0, target + codeBytes, target + codeBytes + size / 8);
  let square = 0;
  for (const [j, level] of levels.entries()) {
    const byte = target + (j >>> 3);
    views.u8[byte]! |= (level & 1) << (j & 7);
    views.u8[byte + codeBytes]! |= (level >> 1) << (j & 7);
    square += (2 * level + 1) ** 2;
  }
  const lanes = new Float32Array(4);
  const ofElement = (j: number): number => f(Math.abs(rotated[j]!) * (2 * levels[j]! + 1));
  for (let j = 0; j < size; j += 8)
    for (let lane = 0; lane < 4; lane++)
      lanes[lane] = f(lanes[lane]! + f(ofElement(j + lane) + ofElement(j + lane + 4)));
  const dot = f(f(lanes[0]! + lanes[1]!) + f(lanes[2]! + lanes[3]!));
  const factor = dot === 0 ? 0 : f(squares / dot);
  const lost = factor * factor * square - squares;
  const rest = (target + 2 * codeBytes) >>> 2;
  views.f32[rest + MAGNITUDE.factor] = factor;
  views.f32[rest + MAGNITUDE.error] = lost > 0 ? Math.sqrt(lost / size) : 0;
}

export function scoreMagnitudes(views: Views, pointer: number): void {
  const args = blockAt(MAGNITUDES, views, pointer);
  const best = blockAt(CANDIDATES, views, args.best);
  const [ids, scores] = [best.ids >>> 2, best.scores >>> 2];
  let kept = 0;
  for (let i = 0; i < best.count; i++) {
    const id = views.u32[ids + i]!;
    const score = scoreRow(views, args, id);
    if (score < best.threshold) continue;
    views.u32[ids + kept] = id;
    views.f32[scores + kept++] = score;
  }
  best.count = kept;
}

function scoreRow(views: Views, args: ArgumentBlock<typeof MAGNITUDES>, id: number): number {
  const { codeBytes, size, planes } = args;
  const code = args.records + id * (codeBytes + RECORD_BYTES);
  const magnitudes = args.magnitudes + id * (2 * codeBytes + MAGNITUDE_BYTES);
  let [levels, ones] = [0, 0];
  for (let j = 0; j < codeBytes * 8; j++) {
    const bitAt = (address: number): number => (views.u8[address + (j >>> 3)]! >> (j & 7)) & 1;
    const sign = 2 * bitAt(code) - (j < size ? 1 : 0);
    const twice = 2 * bitAt(code) - 1;
    const more = 2 * bitAt(magnitudes) + 4 * bitAt(magnitudes + codeBytes);
    let level = 0;
    for (let p = 0; p < 5; p++) {
      const plane = planes + (j >>> 6) * 40 + p * 8 + ((j >>> 3) & 7);
      level += ((views.u8[plane]! >> (j & 7)) & 1) << p;
    }
    levels += (2 * bitAt(code) + twice * more) * level;
    ones += sign + twice * more;
  }
  const value = f(f(f(levels - args.total) * args.scale) + f(f(ones) * args.low));
  const record = (code + codeBytes) >>> 2;
  const list = views.u32[record + RECORD.list]!;
  const base = f(views.f32[record + RECORD.bias]! + views.f32[(args.bases >>> 2) + list]!);
  const rest = (magnitudes + 2 * codeBytes) >>> 2;
  const error = f(args.perError * views.f32[rest + MAGNITUDE.error]!);
  return f(f(base + f(views.f32[rest + MAGNITUDE.factor]! * value)) + error);
}
