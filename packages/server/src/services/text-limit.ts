/** The part of a text that is read where one over the limit is cut instead of refused. */
import { LIMITS } from "@sheaf/protocol";

/** UTF-8 takes at most three bytes for a UTF-16 unit. */
const MAX_BYTES_PER_UNIT = 3;

/** The start of a text up to `LIMITS.textBytes`, cut between characters. */
export function withinTextLimit(text: string): string {
  if (text.length * MAX_BYTES_PER_UNIT <= LIMITS.textBytes) return text;
  const bytes = Buffer.from(text);
  if (bytes.length <= LIMITS.textBytes) return text;
  let end: number = LIMITS.textBytes;
  while (isContinuationByte(bytes[end])) end--;
  return bytes.toString("utf8", 0, end);
}

function isContinuationByte(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
