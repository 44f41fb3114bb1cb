/** Plain twin of `assembly/centroids.ts`. */
import { type ArgumentBlock, blockAt } from "../argument-block.ts";
import { CENTROIDS } from "../argument-layouts.generated.ts";
import type { Views } from "./views.ts";

const f = Math.fround;
const ROUNDING = 12_582_912;

export function scoreCentroids(views: Views, pointer: number): void {
  const args = blockAt(CENTROIDS, views, pointer);
  const width = args.width;
  const [rows, steps, out] = [args.rows, args.steps, args.out];
  const words = toWords(views, args);
  const step = f(largestOf(views, args) / args.limit);
  args.step = step;
  for (let i = 0; i < args.count; i++) {
    let sum = 0;
    for (let j = 0; j < width; j++) sum += ((views.u8[rows + i * width + j]! << 24) >> 24) * words[j]!;
    views.f32[(out >>> 2) + i] = f(sum) * f(step * views.f32[(steps >>> 2) + i]!);
  }
}

function queryOf(views: Views, args: ArgumentBlock<typeof CENTROIDS>): Float32Array {
  const first = args.query >>> 2;
  return views.f32.subarray(first, first + args.width);
}

function largestOf(views: Views, args: ArgumentBlock<typeof CENTROIDS>): number {
  return queryOf(views, args).reduce((largest, x) => Math.max(largest, Math.abs(x)), 0);
}

function toWords(views: Views, args: ArgumentBlock<typeof CENTROIDS>): Int16Array {
  const largest = largestOf(views, args);
  const factor = largest === 0 ? 0 : args.limit / largest;
  const words = Int16Array.from(queryOf(views, args), (x) => f(f(f(x * factor) + ROUNDING) - ROUNDING));
  views.u16.set(words, args.words >>> 1);
  return words;
}
