/** Plain twin of `assembly/centroids.ts`. */
import { CENTROIDS } from "../arguments.ts";
import { Arguments, type Views } from "./views.ts";

const f = Math.fround;
const ROUNDING = 12_582_912;

export function scoreCentroids(views: Views, pointer: number): void {
  const args = new Arguments(views, pointer);
  const width = args.u32(CENTROIDS.width);
  const [rows, steps, out] = [args.u32(CENTROIDS.rows), args.u32(CENTROIDS.steps), args.u32(CENTROIDS.out)];
  const words = toWords(views, args);
  const step = f(largestOf(views, args) / args.f32(CENTROIDS.limit));
  args.setF32(CENTROIDS.step, step);
  for (let i = 0; i < args.u32(CENTROIDS.count); i++) {
    let sum = 0;
    for (let j = 0; j < width; j++) sum += ((views.u8[rows + i * width + j]! << 24) >> 24) * words[j]!;
    views.f32[(out >>> 2) + i] = f(sum) * f(step * views.f32[(steps >>> 2) + i]!);
  }
}

function queryOf(views: Views, args: Arguments): Float32Array {
  const first = args.u32(CENTROIDS.query) >>> 2;
  return views.f32.subarray(first, first + args.u32(CENTROIDS.width));
}

function largestOf(views: Views, args: Arguments): number {
  return queryOf(views, args).reduce((largest, x) => Math.max(largest, Math.abs(x)), 0);
}

function toWords(views: Views, args: Arguments): Int16Array {
  const largest = largestOf(views, args);
  const factor = largest === 0 ? 0 : args.f32(CENTROIDS.limit) / largest;
  const words = Int16Array.from(queryOf(views, args), (x) => f(f(f(x * factor) + ROUNDING) - ROUNDING));
  views.u16.set(words, args.u32(CENTROIDS.words) >>> 1);
  return words;
}
