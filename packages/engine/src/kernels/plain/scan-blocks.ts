/** Plain twin of `assembly/scan-blocks.ts`: FastScan over blocks of 32 rows. */
import { type ArgumentBlock, blockAt } from "../argument-block.ts";
import { BASES, CANDIDATES, SCAN } from "../argument-layouts.generated.ts";
import { makeRoom, push } from "./candidates.ts";
import type { Views } from "./views.ts";

const f = Math.fround;

/** As `assembly/scan-blocks.ts` has it. */
const TRIED = 16;

export function scanBlocks(views: Views, pointer: number): void {
  const args = blockAt(SCAN, views, pointer);
  const best = blockAt(CANDIDATES, views, args.best);
  const scratch = args.scratch >>> 2;
  let tried = 0;
  let leftOut = 0;
  for (let block = 0; block < args.blocks; block++) {
    const mask = views.u32[(args.masks >>> 2) + block]!;
    if (mask === 0) continue;
    if (args.checked > 0 && (tried < TRIED || 2 * leftOut >= tried)) {
      const { checked: bytes, checkScale: scale, checkShift: shift } = args;
      tried++;
      if ((scoreBlock(views, args, block, { bytes, scale, shift }) & mask) === 0) {
        leftOut++;
        continue;
      }
    }
    const { codeBytes: bytes, scale, shift } = args;
    const hits = scoreBlock(views, args, block, { bytes, scale, shift }) & mask;
    if (hits === 0) continue;
    makeRoom(views, args.best);
    for (let row = 0; row < 32; row++) {
      if ((hits >>> row) & 1) {
        push(views, best, args.firstId + block * 32 + row, views.f32[scratch + row]!);
      }
    }
  }
}

/** What scores are made of: so many bytes of each code, and what their sum counts. */
interface Weights {
  readonly bytes: number;
  readonly scale: number;
  readonly shift: number;
}

/** All 32 scores against one threshold: making room must not raise it halfway. */
function scoreBlock(views: Views, args: ArgumentBlock<typeof SCAN>, block: number, weights: Weights): number {
  const { threshold } = blockAt(CANDIDATES, views, args.best);
  let hits = 0;
  for (let row = 0; row < 32; row++) {
    const score = scoreRow(views, args, block * 32 + row, weights);
    views.f32[(args.scratch >>> 2) + row] = score;
    if (score > threshold) hits |= 1 << row;
  }
  return hits;
}

function scoreRow(
  views: Views,
  args: ArgumentBlock<typeof SCAN>,
  at: number,
  { bytes, scale, shift }: Weights,
): number {
  const codes = args.codes + (at >>> 5) * args.codeBytes * 32 + (at & 31);
  const table = args.table;
  let sum = 0;
  for (let byte = 0; byte < bytes; byte++) {
    const code = views.u8[codes + byte * 32]!;
    sum += views.u8[table + byte * 32 + (code & 15)]! + views.u8[table + byte * 32 + 16 + (code >> 4)]!;
  }
  const value = f(f(sum * scale) + shift);
  const base = f(views.f32[(args.biases >>> 2) + at]! + args.base);
  return f(base + f(views.f32[(args.factors >>> 2) + at]! * value));
}

export function addBases(views: Views, pointer: number): void {
  const args = blockAt(BASES, views, pointer);
  const [biases, bases, out] = [args.biases >>> 2, args.bases >>> 2, args.out >>> 2];
  for (let i = 0; i < args.count; i++) {
    const list = views.u16[(args.lists >>> 1) + i]!;
    views.f32[out + i] = views.f32[biases + i]! + views.f32[bases + list]!;
  }
}
