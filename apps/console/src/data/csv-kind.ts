/** What a cell of a CSV file holds: a text, a number, a boolean, or a list of one of these in JSON. */
import { exactNumber, isNumber, isStorable, parseExact } from "./exact-json.ts";

export type CsvKind = "text" | "number" | "boolean" | "list";

const DECIMAL = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/u;
/** As many of any number come back from a float of 64 bits. */
const FLOAT_DIGITS = 15;

export function csvKind(text: string): CsvKind {
  if (text === "true" || text === "false") return "boolean";
  if (keepsDigits(text)) return "number";
  return text.startsWith("[") && text.endsWith("]") && listOf(text) !== null ? "list" : "text";
}

/** Of a text of that kind. */
export function csvValue(text: string, kind: CsvKind): unknown {
  if (kind === "boolean") return text === "true";
  if (kind === "number") return exactNumber(text);
  return kind === "list" ? listOf(text) : text;
}

/** Neither a code such as 007 nor more digits than are stored. */
function keepsDigits(text: string): boolean {
  const value = Number(text);
  if (!Number.isFinite(value)) return false;
  const shortest = DECIMAL.test(text) ? text.replace(/\.0*$|(\.\d*?)0+$/u, "$1") : text;
  const isShortest = String(value) === shortest;
  if (!text.includes(".")) return (isShortest || DECIMAL.test(text)) && isStorable(exactNumber(text));
  const digits = text.replace(/^-?[0.]*|\./gu, "").length;
  return isShortest || (DECIMAL.test(text) && digits <= FLOAT_DIGITS);
}

function listOf(text: string): readonly unknown[] | null {
  try {
    const list = parseExact(text);
    if (!Array.isArray(list) || list.length === 0) return null;
    const kinds = new Set(list.map((item) => (isNumber(item) ? "number" : typeof item)));
    return kinds.size === 1 && !kinds.has("object") ? list : null;
  } catch {
    return null;
  }
}
