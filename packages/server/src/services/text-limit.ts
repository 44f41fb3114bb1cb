/** The part of a text that is read where one over the limit is cut instead of refused, and texts of long documents. */
import { Turns } from "@sheaf/process";
import { type CancelSignal, type DocumentText, LIMITS, characterEnd, documentPieces } from "@sheaf/protocol";

/** UTF-8 takes at most three bytes for a UTF-16 unit. */
const MAX_BYTES_PER_UNIT = 3;

/** The start of a text up to `LIMITS.textBytes`, cut between characters. */
export function withinTextLimit(text: DocumentText): string {
  if (typeof text === "string" && text.length * MAX_BYTES_PER_UNIT <= LIMITS.textBytes) return text;
  const bytes =
    typeof text === "string" ? Buffer.from(text) : Buffer.from(text.buffer, text.byteOffset, text.length);
  if (typeof text === "string" && bytes.length <= LIMITS.textBytes) return text;
  return bytes.toString("utf8", 0, characterEnd(bytes, LIMITS.textBytes));
}

/** All of it, however long. Throws after an abort. */
export async function wholeText(document: DocumentText, signal: CancelSignal): Promise<string> {
  if (typeof document === "string") return document;
  const turns = new Turns(signal);
  let text = "";
  for (const piece of documentPieces(document)) {
    text += piece;
    if (turns.isOver) await turns.take();
  }
  return text;
}
