/** Plain twin of `assembly/checksum.ts`: byte by byte. */
import { CHECKSUM } from "../arguments.ts";
import { Arguments, type Views } from "./views.ts";

export function crc32c(views: Views, pointer: number): void {
  const args = new Arguments(views, pointer);
  const table = args.u32(CHECKSUM.tables) >>> 2;
  const from = args.u32(CHECKSUM.bytes);
  const end = from + args.u32(CHECKSUM.length);
  let crc = args.u32(CHECKSUM.crc);
  for (let at = from; at < end; at++) crc = (crc >>> 8) ^ views.u32[table + ((crc ^ views.u8[at]!) & 0xff)]!;
  args.setU32(CHECKSUM.crc, crc);
}
