/** Parameters of the query string: `limit`, `offset` and `after` of lists, `read_level` of counts. A bad one is 400. */
import { invalid } from "../errors.ts";
import { listOf } from "../json/json-shape.ts";
import type { ReadLevel } from "../search/ast.ts";

export interface PageParameters {
  /** `null`: all. */
  readonly limit: number | null;
  readonly offset: number;
  /** Where the page before ended, as that said; `limit` and `offset` count behind it. */
  readonly after?: string;
}

const LARGEST = 2 ** 32 - 1;
/** Bytes of the longest place in a list, in hexadecimal. */
const PLACE = /^(?:[0-9a-f]{2}){1,2048}$/;
const READ_LEVELS: readonly ReadLevel[] = ["index_and_wal", "index_only", "index_and_bounded_wal"];

/** @throws SheafError 400 for what is no decimal number of 32 bits, no place in a list, or is given twice. */
export function parsePage(query: Readonly<Record<string, unknown>>): PageParameters {
  const after = query["after"];
  return Object.freeze({
    limit: parseCount(query["limit"], "limit"),
    offset: parseCount(query["offset"], "offset") ?? 0,
    ...(after !== undefined && { after: parsePlace(after, "after") }),
  });
}

function parsePlace(value: unknown, name: string): string {
  if (typeof value !== "string" || !PLACE.test(value))
    throw invalid(name, "must be what the header x-sheaf-next of the page before says");
  return value;
}

function parseCount(value: unknown, name: string): number | null {
  if (value === undefined) return null;
  const count = typeof value === "string" && /^[0-9]{1,10}$/.test(value) ? Number(value) : NaN;
  if (!(count <= LARGEST)) throw invalid(name, `must be an integer from 0 to ${LARGEST}`);
  return count;
}

/** @throws SheafError 400 for any other word. */
export function parseReadLevel(value: unknown): ReadLevel {
  if (value === undefined) return "index_and_wal";
  const level = READ_LEVELS.find((known) => known === value);
  if (level === undefined) throw invalid("read_level", `must be ${listOf(READ_LEVELS)}`);
  return level;
}
