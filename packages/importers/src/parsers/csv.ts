/** Tables: a part for each row, as lines of `column: value`. */
import { type CsvError, parse } from "csv-parse/sync";
import type { ParsedFile } from "../file-parser.ts";
import { PARSER_LIMITS } from "../parser-limits.ts";
import { decode } from "./text.ts";

const DELIMITERS = [",", ";", "\t", "|"];

export function parseCsv(bytes: Uint8Array): ParsedFile {
  const text = decode(bytes);
  const head = text.slice(0, text.search(/[\r\n]|$/u));
  const [delimiter = ","] = DELIMITERS.toSorted((a, b) => head.split(b).length - head.split(a).length);
  try {
    const rows = parse(text, {
      ...{ delimiter, bom: true, relax_column_count: true, skip_empty_lines: true },
      ...{ max_record_size: PARSER_LIMITS.textLength, to: PARSER_LIMITS.parts + 2 },
    });
    const [columns = [], ...records] = rows;
    if (records.length === 0) return { title: null, parts: [columns.join("\n")] };
    return { title: null, parts: records.map((record) => rowText(columns, record)) };
  } catch (error) {
    throw new Error(`is no CSV: ${(error as CsvError).message}`, { cause: error });
  }
}

function rowText(columns: readonly string[], record: readonly string[]): string {
  return record
    .map((value, i) => [columns[i] ?? `column ${i + 1}`, value.trim()] as const)
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");
}
