/**
 * Word documents. The archive is inflated here, within the sizes that its directory names, before anything else looks at it:
 * the library only gets the parts with text, stored as they are.
 */
import { unzipSync, zipSync } from "fflate";
import mammoth from "mammoth";
import type { ParsedFile } from "../file-parser.ts";
import { PARSER_LIMITS } from "../parser-limits.ts";
import { htmlText } from "./html.ts";

const TEXT_PARTS = /^(?:\[Content_Types\]\.xml|_rels\/\.rels|word\/[^/]+\.xml|word\/_rels\/[^/]+\.rels)$/u;
/** No parser of XML has to follow more than that, and documents have a few dozen. */
const MOST_DEPTH = 1_000;

export async function parseDocx(bytes: Uint8Array): Promise<ParsedFile> {
  const parts = inflate(bytes);
  if (parts["word/document.xml"] === undefined) throw new Error("is no Word document");
  for (const [name, part] of Object.entries(parts)) checkXml(name, part);
  const buffer = Buffer.from(zipSync(parts, { level: 0 }));
  const { value } = await mammoth.convertToHtml({ buffer });
  return htmlText(value);
}

function inflate(bytes: Uint8Array): Record<string, Uint8Array> {
  const most = Math.min(PARSER_LIMITS.inflatedBytes, bytes.length * PARSER_LIMITS.inflation);
  let [total, entries] = [0, 0];
  try {
    // Nothing is inflated beyond the size that the directory names.
    return unzipSync(bytes, {
      filter({ name, originalSize }) {
        entries += 1;
        total += originalSize;
        if (total > most) throw new Error(`inflates to over ${most} bytes`);
        if (entries > PARSER_LIMITS.archiveEntries)
          throw new Error(`has over ${PARSER_LIMITS.archiveEntries} entries`);
        return TEXT_PARTS.test(name);
      },
    });
  } catch (error) {
    throw new Error(`cannot be unpacked: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

function checkXml(name: string, part: Uint8Array): void {
  const text = new TextDecoder().decode(part);
  if (/<!(?:DOCTYPE|ENTITY)/iu.test(text)) throw new Error(`${name} declares entities`);
  let depth = 0;
  for (const [tag] of text.matchAll(/<[^!?][^>]*>/gu)) {
    if (tag.startsWith("</")) depth -= 1;
    else if (!tag.endsWith("/>")) depth += 1;
    if (depth > MOST_DEPTH) throw new Error(`${name} is nested more than ${MOST_DEPTH} deep`);
  }
}
