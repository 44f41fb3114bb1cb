/** Plain twin of `assembly/nearest.ts`. */
import { blockAt } from "../argument-block.ts";
import { NEAREST, SUM, WORDS } from "../argument-layouts.generated.ts";
import type { Views } from "./views.ts";

const f = Math.fround;
const LENGTH = 32_000;
const ROUNDING = 12_582_912;

export function toWords(views: Views, pointer: number): void {
  const args = blockAt(WORDS, views, pointer);
  const { vectors, width, count, words, steps } = args;
  const i16 = new Int16Array(views.u16.buffer);
  for (let i = 0; i < count; i++) {
    const vector = views.f32.subarray(vectors / 4 + i * width, vectors / 4 + (i + 1) * width);
    const lanes = new Float32Array(4);
    for (const [j, x] of vector.entries()) lanes[j & 3] = f(lanes[j & 3]! + f(x * x));
    const length = f(Math.sqrt(f(f(lanes[0]! + lanes[1]!) + f(lanes[2]! + lanes[3]!))));
    views.f32[steps / 4 + i] = length / LENGTH;
    const factor = length === 0 ? 0 : f(LENGTH / length);
    for (const [j, x] of vector.entries())
      i16[words / 2 + placeOfWord(width, i, j)] = f(f(f(x * factor) + ROUNDING) - ROUNDING);
  }
}

/** Where an element of a vector is among the words of all. */
function placeOfWord(width: number, vector: number, element: number): number {
  return (vector >>> 2) * 4 * width + (element >>> 3) * 32 + (vector & 3) * 8 + (element & 7);
}

export function nearestCentroids(views: Views, pointer: number): void {
  const args = blockAt(NEAREST, views, pointer);
  const { words, steps, width, count, centroids, centroidSteps, halfSquares, centroidCount, out } = args;
  const i16 = new Int16Array(views.u16.buffer);
  for (let i = 0; i < count; i++) {
    let best = -Infinity;
    views.u32[out / 4 + i] = 0;
    for (let c = 0; c < centroidCount; c++) {
      let sum = 0;
      for (let j = 0; j < width; j++)
        sum += i16[words / 2 + placeOfWord(width, i, j)]! * i16[centroids / 2 + placeOfWord(width, c, j)]!;
      const perStep = f(views.f32[steps / 4 + i]! * views.f32[centroidSteps / 4 + c]!);
      const score = f(f(f(sum) * perStep) - views.f32[halfSquares / 4 + c]!);
      if (score <= best) continue;
      best = score;
      views.u32[out / 4 + i] = c;
    }
  }
}

export function addWords(views: Views, pointer: number): void {
  const { words, step, width, sums } = blockAt(SUM, views, pointer);
  const i16 = new Int16Array(views.u16.buffer);
  for (let j = 0; j < width; j++) {
    const word = i16[words / 2 + placeOfWord(width, 0, j)]!;
    views.f32[sums / 4 + j]! += f(word * step);
  }
}
