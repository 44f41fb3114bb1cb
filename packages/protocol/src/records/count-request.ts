/** The body of `POST .../count`: how many records a `get` with the same selection would find. */
import { membersOf, refuseUnknown } from "../json/json-shape.ts";
import type { Selector } from "./ast.ts";
import { parseSelector } from "./selector.ts";

const MEMBERS = ["ids", "where", "where_document"];

/**
 * Unknown members are refused, for nothing in the answer would show that a misspelt filter was ignored.
 *
 * @throws SheafError 422 for wrong JSON types, 400 for an invalid filter, bounds and unknown members.
 */
export function parseCountRequest(body: unknown): Selector {
  const members = membersOf(body, "");
  const selector = parseSelector(members);
  refuseUnknown(members, MEMBERS, "");
  return Object.freeze(selector);
}
