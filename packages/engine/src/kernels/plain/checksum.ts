/** Plain twin of `assembly/checksum.ts`: byte by byte. */
import { blockAt } from "../argument-block.ts";
import { CHECKSUM } from "../argument-layouts.generated.ts";
import type { Views } from "./views.ts";

export function crc32c(views: Views, pointer: number): void {
  const args = blockAt(CHECKSUM, views, pointer);
  const table = args.tables >>> 2;
  const from = args.bytes;
  const end = from + args.length;
  let crc = args.crc;
  for (let at = from; at < end; at++) crc = (crc >>> 8) ^ views.u32[table + ((crc ^ views.u8[at]!) & 0xff)]!;
  args.crc = crc;
}
