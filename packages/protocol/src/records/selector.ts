/** Members that get, query, delete and write bodies share. */
import { invalid, unprocessable } from "../errors.ts";
import {
  countOf,
  itemPath,
  itemsOf,
  listOf,
  memberPath,
  optional,
  refuseMistaken,
  stringOf,
  type Members,
} from "../json/json-shape.ts";
import { LIMITS } from "../limits.ts";
import { combineWhere, parseWhere, parseWhereDocument } from "../search/where.ts";
import type { Include, Selector } from "./ast.ts";

const INCLUDE_KEYS = ["documents", "embeddings", "metadatas", "uris", "distances"];

const MISTAKEN = { filter: "a filter goes into `where`" };

/** `ids`, `where` and `where_document`. An empty list of ids selects nothing. */
export function parseSelector(members: Members): Selector {
  refuseMistaken(members, MISTAKEN);
  const where = optional(members, "where");
  const whereDocument = optional(members, "where_document");
  return {
    ids: parseIds(optional(members, "ids")),
    where: combineWhere(
      where === undefined ? null : parseWhere(where, "where"),
      whereDocument === undefined ? null : parseWhereDocument(whereDocument, "where_document"),
    ),
  };
}

function parseIds(value: unknown): readonly string[] | null {
  if (value === undefined) return null;
  const ids = itemsOf(value, "ids").map((id, index) => stringOf(id, itemPath("ids", index)));
  if (ids.length > LIMITS.whereValues) throw invalid("ids", `must hold at most ${LIMITS.whereValues} ids`);
  return ids;
}

/** What a reply holds; `defaults` where the body does not say. The reply echoes the list as it was sent. */
export function parseInclude(members: Members, defaults: readonly string[]): Include {
  const value = optional(members, "include");
  const keys = value === undefined ? defaults : itemsOf(value, "include").map(parseIncludeKey);
  return Object.freeze({
    documents: keys.includes("documents"),
    embeddings: keys.includes("embeddings"),
    metadatas: keys.includes("metadatas"),
    uris: keys.includes("uris"),
    distances: keys.includes("distances"),
    keys: Object.freeze([...keys]),
  });
}

function parseIncludeKey(value: unknown, index: number): string {
  const path = itemPath("include", index);
  const key = stringOf(value, path);
  if (!INCLUDE_KEYS.includes(key)) throw unprocessable(path, `must be ${listOf(INCLUDE_KEYS)}`);
  return key;
}

/** A count that may be left out. */
export function parseOptionalCount(members: Members, key: string): number | null {
  const value = optional(members, key);
  return value === undefined ? null : countOf(value, memberPath("", key));
}
