/** Calls the parser of a kind of file, and bounds what comes out. Runs in the process of the parsers only. */
import type { FileKind } from "../file-kind.ts";
import type { ParsedFile } from "../file-parser.ts";
import { PARSER_LIMITS } from "../parser-limits.ts";
import { parseCsv } from "./csv.ts";
import { parseHtml } from "./html.ts";
import { parseJson, parseJsonLines } from "./json.ts";
import { parseMarkdown, parseText } from "./text.ts";

export interface ParseRequest {
  readonly kind: FileKind;
  readonly bytes: Uint8Array;
}

/** Rejects with a reason that can be shown. */
export async function parse({ kind, bytes }: ParseRequest): Promise<ParsedFile> {
  const { title, parts } = await PARSERS[kind](bytes);
  if (parts.every((part) => part.trim() === "")) throw new Error("holds no text");
  if (parts.length > PARSER_LIMITS.parts)
    throw new Error(`has ${parts.length} parts, the limit is ${PARSER_LIMITS.parts}`);
  const length = parts.reduce((sum, text) => sum + text.length, 0);
  if (length > PARSER_LIMITS.textLength)
    throw new Error(`holds ${length} characters, the limit is ${PARSER_LIMITS.textLength}`);
  return { title: title === null || title.trim() === "" ? null : title.trim(), parts };
}

type Parser = (bytes: Uint8Array) => ParsedFile | Promise<ParsedFile>;

const PARSERS: Readonly<Record<FileKind, Parser>> = {
  markdown: parseMarkdown,
  html: parseHtml,
  csv: parseCsv,
  json: parseJson,
  lines: parseJsonLines,
  code: parseText,
  text: parseText,
  // These two take time to load.
  pdf: async (bytes) => (await import("./pdf.ts")).parsePdf(bytes),
  docx: async (bytes) => (await import("./docx.ts")).parseDocx(bytes),
};
