/** Plain twin of `assembly/score-codes.ts`: estimated scores of single rows. */
import { type ArgumentBlock, blockAt } from "../argument-block.ts";
import { CANDIDATES, CODES } from "../argument-layouts.generated.ts";
import { RECORD, RECORD_BYTES } from "../kernels.ts";
import { makeRoom, push } from "./candidates.ts";
import type { Views } from "./views.ts";

const f = Math.fround;

export function scoreCodes(views: Views, pointer: number): void {
  const args = blockAt(CODES, views, pointer);
  const best = blockAt(CANDIDATES, views, args.best);
  for (let i = 0; i < args.count; i++) {
    const id = views.u32[(args.ids >>> 2) + i]!;
    const score = scoreRow(views, args, id);
    if (score > best.threshold) {
      makeRoom(views, args.best);
      push(views, best, id, score);
    }
  }
}

function scoreRow(views: Views, args: ArgumentBlock<typeof CODES>, id: number): number {
  const codeBytes = args.codeBytes;
  const codes = args.records + id * (codeBytes + RECORD_BYTES);
  const planes = args.planes;
  let weighted = 0;
  for (let byte = 0; byte < codeBytes; byte++) {
    const code = views.u8[codes + byte]!;
    const plane = planes + (byte >> 3) * 32 + (byte & 7);
    for (let p = 0; p < 4; p++) weighted += countOnes(code & views.u8[plane + p * 8]!) << p;
  }
  const rest = (codes + codeBytes) >>> 2;
  const low = f(f(views.u32[rest + RECORD.bits]!) * args.low);
  const signs = f(f(f(weighted * args.scale) + low) + args.shift);
  const list = views.u32[rest + RECORD.list]!;
  const base = f(views.f32[rest + RECORD.bias]! + views.f32[(args.bases >>> 2) + list]!);
  return f(base + f(views.f32[rest + RECORD.factor]! * signs));
}

function countOnes(byte: number): number {
  let v = byte - ((byte >> 1) & 0x55);
  v = (v & 0x33) + ((v >> 2) & 0x33);
  return (v + (v >> 4)) & 15;
}
