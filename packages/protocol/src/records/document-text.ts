/**
 * Documents between a body and the disk: text, or UTF-8 where they are long. Making a string of UTF-8, and UTF-8 of a
 * string, takes 5 to 10 ms for each MiB beyond ASCII, in one piece. So a long document is encoded where its body is parsed, and
 * decoded in pieces where its reply is written; everybody in between passes its bytes on.
 */

/** Which form it has depends on its length alone. */
export type DocumentText = string | Uint8Array;

/** In UTF-8. Beyond it no index looks into a document. */
const LONGEST_TEXT_BYTES = 64 * 1024;
/** UTF-8 takes at most three bytes for a UTF-16 unit. */
const BYTES_PER_UNIT = 3;
const PIECE_BYTES = 64 * 1024;

/** Whether a document of so many bytes of UTF-8 stays in that form. */
export function isLongDocument(bytes: number): boolean {
  return bytes > LONGEST_TEXT_BYTES;
}

export function toDocumentText(text: string): DocumentText {
  if (!isLongDocument(BYTES_PER_UNIT * text.length)) return text;
  const bytes = new TextEncoder().encode(text);
  return isLongDocument(bytes.length) ? bytes : text;
}

/** For those that are not in a hurry. */
export function fromDocumentText(document: DocumentText): string {
  return typeof document === "string" ? document : [...documentPieces(document)].join("");
}

/** The text of UTF-8 in pieces that take a fraction of a millisecond, none of which ends within a character. */
export function* documentPieces(utf8: Uint8Array): Generator<string, void> {
  const bytes = Buffer.from(utf8.buffer, utf8.byteOffset, utf8.byteLength);
  for (let from = 0; from < bytes.length;) {
    const end = characterEnd(bytes, from + PIECE_BYTES);
    yield bytes.toString("utf8", from, end);
    from = end;
  }
}

/** `end`, or the beginning of the character that it lies in. */
export function characterEnd(utf8: Uint8Array, end: number): number {
  let at = end;
  while (isContinuationByte(utf8[at])) at--;
  return Math.min(at, utf8.length);
}

function isContinuationByte(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
