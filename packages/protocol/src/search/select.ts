/** `select`: what a search returns of each record besides its id. Absent and `null`: nothing. */
import { type SheafError, invalid, unprocessable } from "../errors.ts";
import {
  itemPath,
  itemsOf,
  listOf,
  memberPath,
  membersOf,
  optional,
  refuseUnknown,
  stringOf,
} from "../json/json-shape.ts";
import { LIMITS } from "../limits.ts";
import type { Select } from "./ast.ts";

/** In the order of a reply's echo. `#id` is there for clients that ask for it; ids are always returned. */
const BUILT_INS = ["#id", "#document", "#embedding", "#metadata", "#score"];

const notKeys = (path: string): SheafError =>
  unprocessable(path, 'must be an object such as {"keys": ["#document", "#score"]}');

/** @throws SheafError 422 for wrong types, 400 for an unknown `#name`, unknown members and too many keys. */
export function parseSelect(value: unknown, path: string): Select {
  const members = value === undefined ? {} : membersOf(value, path, notKeys);
  refuseUnknown(members, ["keys"], path);
  const at = memberPath(path, "keys");
  const keys = itemsOf(optional(members, "keys") ?? [], at);
  if (keys.length > LIMITS.selectKeys) throw invalid(at, `must hold at most ${LIMITS.selectKeys} keys`);
  const asked = new Set(keys.map((key, index) => parseKey(key, itemPath(at, index))));
  const fields = [...asked].filter((key) => !key.startsWith("#")).sort();
  return Object.freeze({
    document: asked.has("#document"),
    embedding: asked.has("#embedding"),
    metadata: asked.has("#metadata"),
    score: asked.has("#score"),
    fields: Object.freeze(fields),
    keys: Object.freeze([...BUILT_INS.filter((key) => asked.has(key)), ...fields]),
  });
}

function parseKey(value: unknown, path: string): string {
  const key = stringOf(value, path);
  if (key === "" || (key.startsWith("#") && !BUILT_INS.includes(key))) {
    throw invalid(path, `must be ${listOf(BUILT_INS)}, or a metadata field`);
  }
  return key;
}
