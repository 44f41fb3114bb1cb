/** CSV files as records, a row each. */
import { type CsvError, parse } from "csv-parse/browser/esm/sync";
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
/** Rows that are parsed at a time. */
const BLOCK = 1_000;
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
 * its line, and no more.
 */
export function parseCsv(text: string): ParsedCsv {
  const lines = text.match(/[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$/gu) ?? [];
  const [first] = piecesFrom(lines, 0);
  if (first === undefined) return { head: null, rows: [], refused: refuse(NONE_REFUSED, "is empty") };
  const delimiter = delimiterOf(lines[first.begin]!);
  const rows: CsvRow[] = [];
  let refused = NONE_REFUSED;
  /** Gives the line to go on with. */
  const read = (block: readonly Piece[]): number => {
    try {
      const piece = block.map(({ begin, end }) => lines.slice(begin, end).join(""));
      const found = cellsOf(piece.join(""), delimiter);
      if (found.length !== block.length) throw new Error("has a quote that does not belong there");
      for (const [i, cells] of found.entries()) rows.push({ line: block[i]!.begin + 1, cells });
      return block.at(-1)!.end;
    } catch (error) {
      const { begin } = block[0]!;
      if (block.length === 1) {
        refused = refuse(refused, `line ${begin + 1}: ${reasonOf(error as CsvError)}`);
        return begin + 1;
      }
      const half = block.length >> 1;
      const next = read(block.slice(0, half));
      return next === block[half - 1]!.end ? read(block.slice(half)) : next;
    }
  };
  for (let at = 0; at < lines.length;) {
    const block = piecesFrom(lines, at);
    at = block.length === 0 ? lines.length : read(block);
  }
  const [head] = rows;
  if (head?.line === first.begin + 1) return { head, rows: rows.slice(1), refused };
  return { head: null, rows: [], refused };
}

function delimiterOf(head: string): string {
  if (head.startsWith(EXPORT_HEAD.join(","))) return ",";
  const [most = ","] = DELIMITERS.toSorted((a, b) => head.split(b).length - head.split(a).length);
  return most;
}

/** Lines that hold a row: more than one where a quote is open at the end of the first. */
interface Piece {
  readonly begin: number;
  readonly end: number;
}

function piecesFrom(lines: readonly string[], from: number): readonly Piece[] {
  const pieces: Piece[] = [];
  for (let at = from; at < lines.length && pieces.length < BLOCK;) {
    const begin = at;
    for (let isOpen = false; at < lines.length;) {
      if (lines[at]!.split('"').length % 2 === 0) isOpen = !isOpen;
      at++;
      if (!isOpen) break;
    }
    if (at > begin + 1 || lines[begin]!.trim() !== "") pieces.push({ begin, end: at });
  }
  return pieces;
}

function cellsOf(text: string, delimiter: string): readonly (readonly Cell[])[] {
  const rows: unknown = parse(text, {
    delimiter,
    record_delimiter: ["\r\n", "\n", "\r"],
    relax_column_count: true,
    skip_empty_lines: true,
    cast: (cell, { quoting }): Cell => ({ text: cell, isQuoted: quoting }),
  });
  return rows as readonly (readonly Cell[])[];
}

/** Without the place, which is one in what was parsed at a time. */
function reasonOf({ message }: CsvError): string {
  return message.replace(/ at line \d+/u, "");
}
