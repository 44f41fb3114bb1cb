/** Plain twin of `assembly/nibbles.ts`. */
import { blockAt } from "../argument-block.ts";
import { CANDIDATES, ENCODE, REFINE } from "../argument-layouts.generated.ts";
import { readHalves } from "./rows.ts";
import type { Views } from "./views.ts";

const f = Math.fround;
const STEP = f(0.3352);
const SMALLEST_STEP = f(1e-30);

export function encodeNibbles(views: Views, pointer: number): void {
  const args = blockAt(ENCODE, views, pointer);
  const row = new Float32Array(args.width);
  const codeBytes = Math.ceil(row.length / 32) * 16;
  for (let i = 0; i < args.count; i++) {
    const id = views.u32[(args.ids >>> 2) + i]!;
    readHalves(views, args.rows + id * row.length * 2, row);
    const code = args.codes + i * codeBytes;
    const { step, loss } = encode(row, views.u8.subarray(code, code + codeBytes));
    views.f32[(args.steps >>> 2) + i] = step;
    views.f32[(args.losses >>> 2) + i] = loss;
  }
}

function encode(row: Float32Array, code: Uint8Array): { step: number; loss: number } {
  const squares = sumOfFour(row, (x) => x);
  const step = f(STEP * f(Math.sqrt(f(squares / row.length))));
  const perStep = step < SMALLEST_STEP ? 0 : f(1 / step);
  const levelOf = (x: number): number => Math.max(0, Math.min(15, Math.trunc(f(f(x * perStep) + 8))));
  code.fill(0);
  for (let j = 0; j < row.length; j++)
    code[(j >>> 5) * 16 + (j & 15)]! |= levelOf(row[j]!) << (j & 16 ? 4 : 0);
  const lost = sumOfFour(row, (x) => f(x - f((levelOf(x) - 7.5) * step)));
  return { step, loss: f(Math.sqrt(lost)) };
}

/** Sum of squares in the four lanes of a register. */
function sumOfFour(row: Float32Array, valueOf: (x: number) => number): number {
  const lanes = new Float32Array(4);
  for (let j = 0; j < row.length; j++) {
    const value = valueOf(row[j]!);
    lanes[j & 3]! += f(value * value);
  }
  return f(f(lanes[0]! + lanes[1]!) + f(lanes[2]! + lanes[3]!));
}

export function refineCandidates(views: Views, pointer: number): void {
  const args = blockAt(REFINE, views, pointer);
  const best = blockAt(CANDIDATES, views, args.best);
  const [ids, scores] = [best.ids >>> 2, best.scores >>> 2];
  const codeBytes = args.codeBytes;
  const words = new Int16Array(views.u8.buffer, args.words, codeBytes * 2);
  const middle = f(f(words.reduce((sum, word) => sum + word, 0)) * 7.5);
  let kept = 0;
  for (let i = 0; i < best.count; i++) {
    const id = views.u32[ids + i]!;
    const of = (address: number): number => views.f32[(address >>> 2) + id]!;
    const code = args.codes + id * codeBytes;
    const sum = f(weightedSum(views.u8.subarray(code, code + codeBytes), words));
    const value = f(of(args.steps) * f(args.wordStep * f(sum - middle)));
    const score = f(f(of(args.biases) + value) + f(args.perLoss * of(args.losses)));
    if (score < best.threshold) continue;
    views.u32[ids + kept] = id;
    views.f32[scores + kept++] = score;
  }
  best.count = kept;
}

function weightedSum(code: Uint8Array, words: Int16Array): number {
  let sum = 0;
  for (const [j, word] of words.entries())
    sum += word * ((code[(j >>> 5) * 16 + (j & 15)]! >>> (j & 16 ? 4 : 0)) & 15);
  return sum;
}
