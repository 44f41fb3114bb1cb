/** `order_by` of a get and of a search without a rank: `[{"price": "desc"}, {"year": "asc"}]`. */
import { type SheafError, invalid, unprocessable } from "../errors.ts";
import { itemPath, itemsOf, listOf, memberPath, membersOf, stringOf } from "../json/json-shape.ts";
import { LIMITS } from "../limits.ts";
import type { OrderBy, OrderKey } from "./ast.ts";

const DIRECTIONS = ["asc", "desc"];

/**
 * `null` for a list without keys.
 *
 * @throws SheafError 422 for wrong JSON types and unknown directions, 400 for bounds and keys that are no metadata fields.
 */
export function parseOrderBy(value: unknown, path: string): OrderBy | null {
  const items = itemsOf(value, path);
  if (items.length > LIMITS.orderKeys) throw invalid(path, `must hold at most ${LIMITS.orderKeys} keys`);
  const keys = items.map((item, i) => parseKey(item, itemPath(path, i)));
  // Again it says nothing.
  const first = keys.filter(({ key }, i) => keys.findIndex((other) => other.key === key) === i);
  return first.length === 0 ? null : Object.freeze({ keys: Object.freeze(first), path });
}

function parseKey(value: unknown, path: string): OrderKey {
  const refuse = (): SheafError => unprocessable(path, 'must be an object such as {"year": "asc"}');
  const entries = Object.entries(membersOf(value, path, refuse));
  const [entry] = entries;
  if (entry === undefined || entries.length > 1) throw invalid(path, "must hold exactly one key");
  const [key, direction] = entry;
  const at = memberPath(path, key);
  if (key === "" || key.startsWith("#")) throw invalid(at, "must be a metadata field");
  const word = stringOf(direction, at);
  if (!DIRECTIONS.includes(word)) throw unprocessable(at, `must be ${listOf(DIRECTIONS)}`);
  return Object.freeze({ key, descending: word === "desc" });
}
