/** Plain twin of `assembly/score-codes.ts`: estimated scores of single rows. */
import { CANDIDATES, CODES, RECORD } from "../arguments.ts";
import { makeRoom, push } from "./candidates.ts";
import { Arguments, type Views } from "./views.ts";

const f = Math.fround;

export function scoreCodes(views: Views, pointer: number): void {
  const args = new Arguments(views, pointer);
  const best = new Arguments(views, args.u32(CODES.best));
  for (let i = 0; i < args.u32(CODES.count); i++) {
    const id = views.u32[(args.u32(CODES.ids) >>> 2) + i]!;
    const score = scoreRow(views, args, id);
    if (score > best.f32(CANDIDATES.threshold)) {
      makeRoom(views, args.u32(CODES.best));
      push(views, best, id, score);
    }
  }
}

function scoreRow(views: Views, args: Arguments, id: number): number {
  const codeBytes = args.u32(CODES.codeBytes);
  const codes = args.u32(CODES.records) + id * (codeBytes + RECORD.words * 4);
  const planes = args.u32(CODES.planes);
  let weighted = 0;
  for (let byte = 0; byte < codeBytes; byte++) {
    const code = views.u8[codes + byte]!;
    const plane = planes + (byte >> 3) * 32 + (byte & 7);
    for (let p = 0; p < 4; p++) weighted += countOnes(code & views.u8[plane + p * 8]!) << p;
  }
  const rest = (codes + codeBytes) >>> 2;
  const low = f(f(views.u32[rest + RECORD.bits]!) * args.f32(CODES.low));
  const signs = f(f(f(weighted * args.f32(CODES.scale)) + low) + args.f32(CODES.shift));
  const list = views.u32[rest + RECORD.list]!;
  const base = f(views.f32[rest + RECORD.bias]! + views.f32[(args.u32(CODES.bases) >>> 2) + list]!);
  return f(base + f(views.f32[rest + RECORD.factor]! * signs));
}

function countOnes(byte: number): number {
  let v = byte - ((byte >> 1) & 0x55);
  v = (v & 0x33) + ((v >> 2) & 0x33);
  return (v + (v >> 4)) & 15;
}
