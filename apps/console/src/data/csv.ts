/**
 * Cells and lines of CSV files, as RFC 4180 has them, that somebody may open in a spreadsheet: what that would run as a formula
 * begins with an apostrophe, at the start of a cell and behind what other spreadsheets part cells by. A text of metadata that
 * looks like a number or a boolean is in quotes; one that looks like a list, which is in quotes anyway, has an apostrophe. So
 * all of it can be read back.
 */
import { csvKind, csvValue } from "./csv-kind.ts";
import { isNumber, stringifyExact } from "./exact-json.ts";
import { MEMBERS } from "./new-record.ts";

export interface Cell {
  readonly text: string;
  readonly isQuoted: boolean;
}

/** Also as letters of full width, which some spreadsheets take for the same. */
const FORMULA = /^(?='*[=+\-@\t\r\n＝＋－＠])|(?<=[;\t])(?='*[=+\-@＝＋－＠])/gu;
const ESCAPED = /^'(?='*[=+\-@\t\r\n＝＋－＠])|(?<=[;\t])'(?='*[=+\-@＝＋－＠])/gu;
const FIELD = "metadata.";

/** What a file begins with that is written here. */
export const EXPORT_HEAD: readonly string[] = ["id", "document", "uri"];

export function csvLine(cells: readonly string[]): string {
  return `${cells.join(",")}\r\n`;
}

/** Of a column of texts. Nothing is an empty cell, and an empty text `""`. */
export function textCell(text: string | null): string {
  return text === null ? "" : cellOf(text, text === "");
}

export function readTextCell({ text, isQuoted }: Cell): string | null {
  return text === "" && !isQuoted ? null : text.replaceAll(ESCAPED, "");
}

/** Of a column of metadata. */
export function valueCell(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (isNumber(value) || typeof value === "boolean") return value.toString();
  if (typeof value !== "string") return cellOf(stringifyExact(value), false);
  return isList(value) ? cellOf(`'${value}`, true) : cellOf(value, csvKind(value) !== "text" || value === "");
}

export function readValueCell({ text, isQuoted }: Cell): unknown {
  const plain = text.replaceAll(ESCAPED, "");
  if (text === "") return isQuoted ? "" : undefined;
  if (plain.startsWith("'") && isList(plain)) return plain.slice(1);
  const kind = csvKind(plain);
  return kind === "list" || (!isQuoted && plain === text) ? csvValue(plain, kind) : plain;
}

/** Also behind apostrophes. */
function isList(text: string): boolean {
  return csvKind(text.replace(/^'+/u, "")) === "list";
}

function cellOf(text: string, isQuoted: boolean): string {
  const safe = text.replaceAll(FORMULA, "'");
  return isQuoted || /["\n\r,]/u.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Names of columns that mean something else are told apart by what they begin with. */
export function columnOf(field: string): string {
  return MEMBERS.includes(field) || field.startsWith(FIELD) ? `${FIELD}${field}` : field;
}

/** The field of metadata that a column is whatever its name means; `null`: its name counts. */
export function fieldOfColumn(column: string): string | null {
  if (column.startsWith(FIELD)) return column.slice(FIELD.length);
  return column === "metadata" ? column : null;
}
