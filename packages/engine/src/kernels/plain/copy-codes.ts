/** Plain twin of `assembly/copy-codes.ts`. */
import { blockAt } from "../argument-block.ts";
import { COPY } from "../argument-layouts.generated.ts";
import { RECORD, RECORD_BYTES } from "../kernels.ts";
import type { Views } from "./views.ts";

export function copyCodes(views: Views, pointer: number): void {
  const args = blockAt(COPY, views, pointer);
  const { codeBytes, copiedBytes } = args;
  for (let i = 0; i < args.count; i++) {
    const id = views.u32[(args.ids >>> 2) + i]!;
    const record = args.records + id * (codeBytes + RECORD_BYTES);
    const target = args.blocks + (i >>> 5) * copiedBytes * 32 + (i & 31);
    for (let byte = 0; byte < copiedBytes; byte++) views.u8[target + byte * 32] = views.u8[record + byte]!;
    const rest = (record + codeBytes) >>> 2;
    // As bits: a number that is none keeps them.
    views.u32[(args.factors >>> 2) + i] = views.u32[rest + RECORD.factor]!;
    views.u32[(args.biases >>> 2) + i] = views.u32[rest + RECORD.bias]!;
    views.u16[(args.lists >>> 1) + i] = views.u32[rest + RECORD.list]!;
  }
}
