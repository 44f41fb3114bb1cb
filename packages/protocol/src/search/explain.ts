/** `explain` of a search: `true`, or `{"ids": [...]}` for records whose absence from the page is explained as well. */
import { invalid, unprocessable } from "../errors.ts";
import {
  itemPath,
  itemsOf,
  memberPath,
  membersOf,
  refuseUnknown,
  required,
  stringOf,
} from "../json/json-shape.ts";
import { LIMITS } from "../limits.ts";
import type { Explain } from "./ast.ts";

const MEMBERS = ["ids"];

/** How many ids the searches of one call have named so far. */
export interface ExplainedIds {
  count: number;
}

/**
 * `null`: it is not asked for.
 *
 * @throws SheafError 422 for wrong JSON types and missing `ids`, 400 for too many ids and unknown members.
 */
export function parseExplain(value: unknown, path: string, named: ExplainedIds): Explain | null {
  if (value === undefined || value === false) return null;
  if (value === true) return Object.freeze({ ids: null, path });
  const members = membersOf(value, path, (at) =>
    unprocessable(at, 'must be true, false or an object such as {"ids": ["a"]}'),
  );
  refuseUnknown(members, MEMBERS, path);
  const at = memberPath(path, "ids");
  const items = itemsOf(required(members, "ids", path), at);
  named.count += items.length;
  if (named.count > LIMITS.explainedIds) {
    throw invalid(at, `the searches of a call name at most ${LIMITS.explainedIds} ids`);
  }
  const ids = items.map((id, index) => stringOf(id, itemPath(at, index)));
  return Object.freeze({ ids: Object.freeze([...new Set(ids)]), path });
}
