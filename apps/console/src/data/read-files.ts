/** Files as records: JSON lines and CSV with a record a line, Markdown and text as a document each, which the server cuts. */
import type { Chunking } from "@sheaf/client";
import { type CsvError, parse } from "csv-parse/browser/esm/sync";
import { type JsonObject, isObject } from "../parts/json-text.ts";

export interface NewRecord {
  readonly id: string;
  readonly document: string | null;
  readonly metadata: JsonObject | null;
}

export interface ReadFile {
  readonly name: string;
  readonly records: readonly NewRecord[];
  /** What could not be read, with its line. */
  readonly problems: readonly string[];
  /** How its documents end up as records; `null`: as the collection says. */
  readonly chunking: Chunking | null;
}

const MOST_PROBLEMS = 20;
const DELIMITERS = [",", ";", "\t", "|"];
const AS_COLLECTION = { chunking: null };

/** @param bytes Of the whole file, in UTF-8. */
export function readFile(name: string, bytes: BufferSource): ReadFile {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return { name, records: [], problems: ["is no text in UTF-8"], ...AS_COLLECTION };
  }
  if (/\.(?:jsonl|ndjson|json)$/iu.test(name)) return readJsonLines(name, text);
  if (/\.csv$/iu.test(name)) return readCsv(name, text);
  if (text.trim() === "") return { name, records: [], problems: ["is empty"], ...AS_COLLECTION };
  const by = /\.(?:md|markdown)$/iu.test(name) ? "headings" : "sentences";
  const records = [{ id: name, document: text, metadata: { source: name } }];
  return { name, records, problems: [], chunking: { by } };
}

function readJsonLines(name: string, text: string): ReadFile {
  const records: NewRecord[] = [];
  const problems: string[] = [];
  for (const [i, line] of text.split(/\r?\n/u).entries()) {
    if (line.trim() === "") continue;
    try {
      const value: unknown = JSON.parse(line);
      if (!isObject(value)) throw new Error("is no JSON object");
      records.push(recordOf(value, `${name}#${i + 1}`));
    } catch (error) {
      if (problems.length < MOST_PROBLEMS) problems.push(`line ${i + 1}: ${(error as Error).message}`);
    }
  }
  return { name, records, problems, ...AS_COLLECTION };
}

/** As an export has it, else the whole object is metadata but for its text. */
function recordOf(value: JsonObject, fallbackId: string): NewRecord {
  const { id, document, text, metadata, ...rest } = value;
  const words = [document, text].find((member) => typeof member === "string");
  const fields = isObject(metadata) ? metadata : rest;
  return {
    id: (typeof id === "string" && id !== "") || typeof id === "number" ? String(id) : fallbackId,
    document: words ?? null,
    metadata: plainFields(fields),
  };
}

/** The server keeps numbers, texts, booleans and lists of them; what else there is goes in as JSON. */
function plainFields(fields: JsonObject): JsonObject | null {
  const entries = Object.entries(fields).filter(([, value]) => value !== null && value !== "");
  if (entries.length === 0) return null;
  return Object.fromEntries(
    entries.map(([key, value]) => [key, isObject(value) ? JSON.stringify(value) : value]),
  );
}

function readCsv(name: string, text: string): ReadFile {
  let rows: readonly (readonly string[])[];
  try {
    rows = parseCsv(text);
  } catch (error) {
    return { name, records: [], problems: [(error as CsvError).message], ...AS_COLLECTION };
  }
  const [head = [], ...rest] = rows;
  const problems = rest.flatMap((row, i) =>
    row.length > head.length ? [`row ${i + 2}: has more cells than the head`] : [],
  );
  const records = rest.map((row, i) => {
    const value = Object.fromEntries(head.map((key, column) => [key, row[column] ?? ""]));
    return recordOf(value, `${name}#${i + 1}`);
  });
  return { name, records, problems: problems.slice(0, MOST_PROBLEMS), ...AS_COLLECTION };
}

/** Rows of cells, which the delimiter parts that the head has most of. @throws CsvError */
export function parseCsv(text: string): readonly (readonly string[])[] {
  const head = text.slice(0, text.search(/[\r\n]|$/u));
  const [delimiter = ","] = DELIMITERS.toSorted((a, b) => head.split(b).length - head.split(a).length);
  return parse(text, { delimiter, bom: true, relax_column_count: true, skip_empty_lines: true });
}
