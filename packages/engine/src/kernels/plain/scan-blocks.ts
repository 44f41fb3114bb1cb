/** Plain twin of `assembly/scan-blocks.ts`: FastScan over blocks of 32 rows. */
import { type ArgumentBlock, blockAt } from "../argument-block.ts";
import { BASES, CANDIDATES, SCAN } from "../argument-layouts.generated.ts";
import { makeRoom, push } from "./candidates.ts";
import type { Views } from "./views.ts";

const f = Math.fround;

export function scanBlocks(views: Views, pointer: number): void {
  const args = blockAt(SCAN, views, pointer);
  const best = blockAt(CANDIDATES, views, args.best);
  const scratch = args.scratch >>> 2;
  for (let block = 0; block < args.blocks; block++) {
    const mask = views.u32[(args.masks >>> 2) + block]!;
    if (mask === 0) continue;
    // All 32 scores against one threshold: making room must not raise it halfway.
    const threshold = best.threshold;
    let hits = 0;
    for (let row = 0; row < 32; row++) {
      const score = scoreRow(views, args, block, row);
      views.f32[scratch + row] = score;
      if (score > threshold) hits |= 1 << row;
    }
    hits &= mask;
    if (hits === 0) continue;
    makeRoom(views, args.best);
    for (let row = 0; row < 32; row++) {
      if ((hits >>> row) & 1) {
        push(views, best, args.firstId + block * 32 + row, views.f32[scratch + row]!);
      }
    }
  }
}

function scoreRow(views: Views, args: ArgumentBlock<typeof SCAN>, block: number, row: number): number {
  const codeBytes = args.codeBytes;
  const codes = args.codes + block * codeBytes * 32 + row;
  const table = args.table;
  let sum = 0;
  for (let byte = 0; byte < codeBytes; byte++) {
    const code = views.u8[codes + byte * 32]!;
    sum += views.u8[table + byte * 32 + (code & 15)]! + views.u8[table + byte * 32 + 16 + (code >> 4)]!;
  }
  const at = block * 32 + row;
  const value = f(f(sum * args.scale) + args.shift);
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
