/** Plain twin of `assembly/scan-blocks.ts`: FastScan over blocks of 32 rows. */
import { BASES, CANDIDATES, SCAN } from "../arguments.ts";
import { makeRoom, push } from "./candidates.ts";
import { Arguments, type Views } from "./views.ts";

const f = Math.fround;

export function scanBlocks(views: Views, pointer: number): void {
  const args = new Arguments(views, pointer);
  const best = new Arguments(views, args.u32(SCAN.best));
  const scratch = args.u32(SCAN.scratch) >>> 2;
  for (let block = 0; block < args.u32(SCAN.blocks); block++) {
    const mask = views.u32[(args.u32(SCAN.masks) >>> 2) + block]!;
    if (mask === 0) continue;
    // All 32 scores against one threshold: making room must not raise it halfway.
    const threshold = best.f32(CANDIDATES.threshold);
    let hits = 0;
    for (let row = 0; row < 32; row++) {
      const score = scoreRow(views, args, block, row);
      views.f32[scratch + row] = score;
      if (score > threshold) hits |= 1 << row;
    }
    hits &= mask;
    if (hits === 0) continue;
    makeRoom(views, args.u32(SCAN.best));
    for (let row = 0; row < 32; row++) {
      if ((hits >>> row) & 1) {
        push(views, best, args.u32(SCAN.firstId) + block * 32 + row, views.f32[scratch + row]!);
      }
    }
  }
}

function scoreRow(views: Views, args: Arguments, block: number, row: number): number {
  const codeBytes = args.u32(SCAN.codeBytes);
  const codes = args.u32(SCAN.codes) + block * codeBytes * 32 + row;
  const table = args.u32(SCAN.table);
  let sum = 0;
  for (let byte = 0; byte < codeBytes; byte++) {
    const code = views.u8[codes + byte * 32]!;
    sum += views.u8[table + byte * 32 + (code & 15)]! + views.u8[table + byte * 32 + 16 + (code >> 4)]!;
  }
  const at = block * 32 + row;
  const value = f(f(sum * args.f32(SCAN.scale)) + args.f32(SCAN.shift));
  const base = f(views.f32[(args.u32(SCAN.biases) >>> 2) + at]! + args.f32(SCAN.base));
  return f(base + f(views.f32[(args.u32(SCAN.factors) >>> 2) + at]! * value));
}

export function addBases(views: Views, pointer: number): void {
  const args = new Arguments(views, pointer);
  const [biases, bases, out] = [BASES.biases, BASES.bases, BASES.out].map((field) => args.u32(field) >>> 2);
  for (let i = 0; i < args.u32(BASES.count); i++) {
    const list = views.u16[(args.u32(BASES.lists) >>> 1) + i]!;
    views.f32[out! + i] = views.f32[biases! + i]! + views.f32[bases! + list]!;
  }
}
