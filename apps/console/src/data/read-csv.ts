/** CSV files as records, a row each. */
import type { JsonObject } from "../parts/json-text.ts";
import { type CsvKind, csvKind, csvValue } from "./csv-kind.ts";
import { type Cell, EXPORT_HEAD, fieldOfColumn, readTextCell, readValueCell } from "./csv.ts";
import { type NewRecord, recordOf } from "./new-record.ts";
import { NONE_REFUSED, type Refused, refuse } from "./refused.ts";

export interface CsvRow {
  /** From 1 on, where the row begins. */
  readonly line: number;
  readonly cells: readonly Cell[];
}

export interface ReadCsv {
  readonly records: readonly NewRecord[];
  readonly refused: Refused;
  /** Columns that are no text, with what they are. */
  readonly kinds: readonly string[];
}

const DELIMITERS = [",", ";", "\t", "|"];
const TEXTS: readonly string[] = ["id", "document", "text", "uri"];

/** @param name Of the file: a row without an id has it and a number instead. */
export function readCsv(name: string, text: string): ReadCsv {
  const { head, rows, refused: unread } = parseCsv(text);
  if (head === null) return { records: [], refused: unread, kinds: [] };
  const isExport = EXPORT_HEAD.every((column, i) => head.cells[i]?.text === column);
  const columns = head.cells.map((cell, i) => {
    const column = isExport ? readTextCell(cell) : cell.text;
    return column === null || column === "" ? `column ${i + 1}` : column;
  });
  const twice = columns.find((column, i) => columns.indexOf(column) < i);
  if (twice !== undefined)
    return { records: [], refused: refuse(unread, `the head has the column ${twice} twice`), kinds: [] };
  const valueOf = isExport ? valuesOfExport(columns) : valuesOf(columns, rows);
  const records: NewRecord[] = [];
  let refused = unread;
  for (const { line, cells } of rows) {
    try {
      // Behind a stray quote, what looks like a row may be a part of one.
      const isWhole = unread.count === 0 || cells.length === columns.length;
      if (!isWhole || cells.slice(columns.length).some(({ text: cell }) => cell !== ""))
        throw new Error(`has ${cells.length} cells, and the head ${columns.length}`);
      records.push(recordOf(rowObject(columns, cells, valueOf), `line ${line}`, `${name}#${line - 1}`));
    } catch (error) {
      refused = refuse(refused, `line ${line}: ${(error as Error).message}`);
    }
  }
  return { records, refused, kinds: valueOf.kinds };
}

interface Values {
  (cell: Cell, column: number): unknown;
  readonly kinds: readonly string[];
}

/** Each cell says what it is. */
function valuesOfExport(columns: readonly string[]): Values {
  const isText = columns.map((column) => TEXTS.includes(column));
  const read = (cell: Cell, i: number): unknown =>
    isText[i] === true ? readTextCell(cell) : readValueCell(cell);
  return Object.assign(read, { kinds: [] });
}

/** A column is something else than text where all of it is. */
function valuesOf(columns: readonly string[], rows: readonly CsvRow[]): Values {
  // Some write quotes around everything, others around texts.
  const saysText = rows.some(({ cells }) => cells.some(({ text, isQuoted }) => text !== "" && !isQuoted));
  const kindOf = ({ text, isQuoted }: Cell): CsvKind => {
    const kind = csvKind(text);
    return isQuoted && saysText && kind !== "list" ? "text" : kind;
  };
  const kinds = columns.map((column, i): CsvKind => {
    if (TEXTS.includes(column)) return "text";
    let kind: CsvKind | null = null;
    for (const { cells } of rows) {
      const cell = cells[i];
      if (cell === undefined || cell.text === "") continue;
      const its = kindOf(cell);
      if (its === "text" || (kind !== null && its !== kind)) return "text";
      kind = its;
    }
    return kind ?? "text";
  });
  const read = ({ text }: Cell, i: number): unknown =>
    text === "" ? undefined : csvValue(text, kinds[i] ?? "text");
  const told = columns.flatMap((column, i) => (kinds[i] === "text" ? [] : [`${column} (${kinds[i]})`]));
  return Object.assign(read, { kinds: told });
}

function rowObject(columns: readonly string[], cells: readonly Cell[], valueOf: Values): JsonObject {
  const members: [string, unknown][] = [];
  const fields: [string, unknown][] = [];
  for (const [i, column] of columns.entries()) {
    const cell = cells[i];
    const value = cell === undefined ? undefined : valueOf(cell, i);
    if (value === undefined || value === null) continue;
    const field = fieldOfColumn(column);
    if (field === null) members.push([column, value]);
    else fields.push([field, value]);
  }
  return Object.fromEntries([...members, ["metadata", Object.fromEntries(fields)]]);
}

interface ParsedCsv {
  /** `null` where it cannot be read, and so nothing can. */
  readonly head: CsvRow | null;
  readonly rows: readonly CsvRow[];
  readonly refused: Refused;
}

/**
 * Rows of cells, which the delimiter parts that the head has most of, but for those that cannot be read: a stray quote takes
 * its line, and no more. Libraries lose the lines behind it, too.
 */
export function parseCsv(text: string): ParsedCsv {
  const lines = text.match(/[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$/gu) ?? [];
  const first = lines.findIndex((line) => line.trim() !== "");
  if (first === -1) return { head: null, rows: [], refused: refuse(NONE_REFUSED, "is empty") };
  const delimiter = delimiterOf(lines[first]!);
  const rows: CsvRow[] = [];
  let refused = NONE_REFUSED;
  for (let at = first; at < lines.length;) {
    const end = endOfRow(lines, at);
    const line = at + 1;
    const row = end === line ? lines[at]! : lines.slice(at, end).join("");
    const cells = cellsOf(row.replace(/(?:\r\n|\r|\n)$/u, ""), delimiter);
    if (cells === null) refused = refuse(refused, `line ${line}: has a quote that does not belong there`);
    else if (row.trim() !== "") rows.push({ line, cells });
    at = cells === null ? line : end;
  }
  const [head] = rows;
  if (head?.line === first + 1) return { head, rows: rows.slice(1), refused };
  return { head: null, rows: [], refused };
}

/** The line behind it: a row goes on while a quote is open. */
function endOfRow(lines: readonly string[], begin: number): number {
  for (let at = begin, isOpen = false; at < lines.length;) {
    if (lines[at]!.split('"').length % 2 === 0) isOpen = !isOpen;
    at++;
    if (!isOpen) return at;
  }
  return lines.length;
}

/** `null` where quotes stand elsewhere than around cells, or alone within one (RFC 4180). */
function cellsOf(row: string, delimiter: string): readonly Cell[] | null {
  const cells: Cell[] = [];
  for (let at = 0; ; at++) {
    const isQuoted = row[at] === '"';
    let end = row.indexOf(isQuoted ? '"' : delimiter, isQuoted ? at + 1 : at);
    if (isQuoted) {
      while (end !== -1 && row[end + 1] === '"') end = row.indexOf('"', end + 2);
      if (end === -1) return null;
      cells.push({ text: row.slice(at + 1, end).replaceAll('""', '"'), isQuoted });
      end++;
    } else {
      if (end === -1) end = row.length;
      const text = row.slice(at, end);
      if (text.includes('"')) return null;
      cells.push({ text, isQuoted });
    }
    if (end >= row.length) return cells;
    if (row[end] !== delimiter) return null;
    at = end;
  }
}

function delimiterOf(head: string): string {
  if (head.startsWith(EXPORT_HEAD.join(","))) return ",";
  const [most = ","] = DELIMITERS.toSorted((a, b) => head.split(b).length - head.split(a).length);
  return most;
}
