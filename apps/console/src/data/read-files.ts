/** Files as records: JSON lines and CSV with a record a line, Markdown and text as a document each, which the server cuts. */
import type { Chunking } from "@sheaf/client";
import { shortened } from "../parts/format.ts";
import { isObject } from "../parts/json-text.ts";
import { isNumber, parseExact } from "./exact-json.ts";
import { type NewRecord, recordOf } from "./new-record.ts";
import { readCsv } from "./read-csv.ts";
import { NONE_REFUSED, type Refused, refuse } from "./refused.ts";

export interface ReadFile {
  readonly name: string;
  readonly records: readonly NewRecord[];
  /** What could not be read, with its line. */
  readonly refused: Refused;
  /** How its documents end up as records; `null`: as the collection says. */
  readonly chunking: Chunking | null;
  /** Columns of CSV that are no text, with what they are. */
  readonly kinds: readonly string[];
}

const AS_COLLECTION = { chunking: null, kinds: [] };
const ID_CHARACTERS = 60;

/** @param bytes Of the whole file, in UTF-8. */
export function readFile(name: string, bytes: BufferSource): ReadFile {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return unreadable(name, "is no text in UTF-8");
  }
  if (/\.(?:jsonl|ndjson|json)$/iu.test(name))
    return { name, ...readJsonLines(name, text), ...AS_COLLECTION };
  if (/\.csv$/iu.test(name)) return { name, ...readCsv(name, text), chunking: null };
  if (text.trim() === "") return unreadable(name, "is empty");
  const by = /\.(?:md|markdown)$/iu.test(name) ? "headings" : "sentences";
  const records = [recordOf({ document: text, source: name }, "", name)];
  return { name, records, refused: NONE_REFUSED, chunking: { by }, kinds: [] };
}

export function unreadable(name: string, problem: string): ReadFile {
  return { name, records: [], refused: refuse(NONE_REFUSED, problem), ...AS_COLLECTION };
}

function readJsonLines(name: string, text: string): Pick<ReadFile, "records" | "refused"> {
  const records: NewRecord[] = [];
  let refused = NONE_REFUSED;
  for (const [i, line] of text.split(/\r?\n/u).entries()) {
    if (line.trim() === "") continue;
    const place = `line ${i + 1}`;
    try {
      const value = parseExact(line);
      if (!isObject(value) || isNumber(value)) throw new Error("is no JSON object");
      records.push(recordOf(value, place, `${name}#${i + 1}`));
    } catch (error) {
      refused = refuse(refused, `${place}: ${(error as Error).message}`);
    }
  }
  return { records, refused };
}

/** An id is one record's: what has it again, in a file or in another one, is refused, for it would change the first. */
export function withoutRepeats(files: readonly ReadFile[]): readonly ReadFile[] {
  const firsts = new Map<string, string>();
  return files.map((file) => {
    let { refused } = file;
    const records = file.records.filter(({ id, place }) => {
      const first = firsts.get(id);
      if (first === undefined) {
        firsts.set(id, place === "" ? file.name : `${place} of ${file.name}`);
        return true;
      }
      const where = place === "" ? "" : `${place}: `;
      refused = refuse(refused, `${where}has the id ${shortened(id, ID_CHARACTERS)}, as ${first} has`);
      return false;
    });
    return { ...file, records, refused };
  });
}
