/** Files as records: JSON lines and CSV with a record a line, Markdown and text cut into pieces that a model takes. */
import { type JsonObject, isObject } from "../parts/json-text.ts";
import { parseCsv } from "./csv.ts";

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
}

/** English words have some 1.4 tokens; languages without blanks are cut by characters. */
const WORDS_PER_TOKEN = 0.6;
const CHARACTERS_PER_TOKEN = 2.5;
const MOST_PROBLEMS = 20;

export function readFile(name: string, text: string, maxTokens: number): ReadFile {
  if (/\.(?:jsonl|ndjson|json)$/iu.test(name)) return readJsonLines(name, text);
  if (/\.csv$/iu.test(name)) return readCsv(name, text);
  const pieces = piecesOf(text, maxTokens);
  const records = pieces.map((document, i) => ({
    id: `${name}#${i + 1}`,
    document,
    metadata: { source: name, part: i + 1 },
  }));
  return { name, records, problems: [] };
}

function readJsonLines(name: string, text: string): ReadFile {
  const records: NewRecord[] = [];
  const problems: string[] = [];
  for (const [i, line] of linesOf(text).entries()) {
    if (line.trim() === "") continue;
    try {
      const value: unknown = JSON.parse(line);
      if (!isObject(value)) throw new Error("is no JSON object");
      records.push(recordOf(value, `${name}#${i + 1}`));
    } catch (error) {
      if (problems.length < MOST_PROBLEMS) problems.push(`line ${i + 1}: ${(error as Error).message}`);
    }
  }
  return { name, records, problems };
}

/** As an export has it, else the whole object is metadata but for its text. */
function recordOf(value: JsonObject, fallbackId: string): NewRecord {
  const { id, document, text, metadata, ...rest } = value;
  const words = [document, text].find((member) => typeof member === "string");
  const fields = isObject(metadata) ? metadata : rest;
  return {
    id: typeof id === "string" || typeof id === "number" ? String(id) : fallbackId,
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
  const [head = [], ...rows] = parseCsv(text);
  const problems = rows.flatMap((row, i) =>
    row.length > head.length ? [`row ${i + 2}: has more cells than the head`] : [],
  );
  const records = rows.map((row, i) => {
    const value = Object.fromEntries(head.map((key, column) => [key, row[column] ?? ""]));
    return recordOf(value, `${name}#${i + 1}`);
  });
  return { name, records, problems: problems.slice(0, MOST_PROBLEMS) };
}

/** Paragraphs together as long as they fit; a longer one is cut between words. */
export function piecesOf(text: string, maxTokens: number): readonly string[] {
  const most = Math.floor(maxTokens * CHARACTERS_PER_TOKEN);
  const mostWords = Math.floor(maxTokens * WORDS_PER_TOKEN);
  const fits = (part: string): boolean => part.length <= most && wordsOf(part) <= mostWords;
  const pieces: string[] = [];
  let piece = "";
  for (const part of text.split(/\n\s*\n/u).flatMap((paragraph) => cut(paragraph.trim(), most, fits))) {
    const joined = piece === "" ? part : `${piece}\n\n${part}`;
    if (fits(joined)) piece = joined;
    else {
      if (piece !== "") pieces.push(piece);
      piece = part;
    }
  }
  return piece === "" ? pieces : [...pieces, piece];
}

function cut(paragraph: string, most: number, fits: (part: string) => boolean): readonly string[] {
  if (paragraph === "") return [];
  if (fits(paragraph)) return [paragraph];
  const half = Math.min(most, Math.floor(paragraph.length / 2));
  const blank = paragraph.lastIndexOf(" ", half);
  const at = blank > 0 ? blank : Math.max(1, half);
  return [...cut(paragraph.slice(0, at).trim(), most, fits), ...cut(paragraph.slice(at).trim(), most, fits)];
}

function wordsOf(text: string): number {
  return text.split(/\s+/u).length;
}

function linesOf(text: string): readonly string[] {
  return text.split(/\r?\n/u);
}
