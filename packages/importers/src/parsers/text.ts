/** Plain text, source code and Markdown, which stay as they are. */
import type { ParsedFile } from "../file-parser.ts";

/** UTF-8, or UTF-16 with a mark. */
export function decode(bytes: Uint8Array): string {
  const [first, second] = bytes;
  const mark =
    first === 0xff && second === 0xfe ? "utf-16le" : first === 0xfe && second === 0xff ? "utf-16be" : null;
  try {
    const text = new TextDecoder(mark ?? "utf-8", { fatal: true }).decode(bytes);
    if (!text.includes("\0")) return text;
  } catch {
    // Below.
  }
  throw new Error("is no text in UTF-8 or UTF-16");
}

export function parseText(bytes: Uint8Array): ParsedFile {
  return { title: null, parts: [decode(bytes)] };
}

/** Its title is the first heading, or the one of the front matter. */
export function parseMarkdown(bytes: Uint8Array): ParsedFile {
  const text = decode(bytes).replaceAll("\r\n", "\n");
  const front = text.startsWith("---\n") ? text.indexOf("\n---\n", 3) : -1;
  const matter = front < 0 ? "" : text.slice(4, front + 1);
  const body = front < 0 ? text : text.slice(front + 5);
  const named = /^title:[ \t]*(["']?)(.+?)\1[ \t]*$/mu.exec(matter)?.[2];
  const heading = /^# +(.+)$/mu.exec(body)?.[1];
  return { title: named ?? heading ?? null, parts: [body] };
}
