/** The body of `POST .../delete`. */
import { invalid } from "../errors.ts";
import { membersOf } from "../json/json-shape.ts";
import type { DeleteRequest } from "./ast.ts";
import { parseOptionalCount, parseSelector } from "./selector.ts";

/**
 * A body that selects by nothing deletes nothing, as clients expect: it becomes an empty list of ids, so that a
 * request that leaves this parser never stands for the whole collection.
 *
 * @throws SheafError 422 for wrong JSON types, 400 for an invalid filter, for `ids: []` alone, and for a limit
 * without a filter.
 */
export function parseDeleteRequest(body: unknown): DeleteRequest {
  const members = membersOf(body, "");
  const { ids, where } = parseSelector(members);
  const limit = parseOptionalCount(members, "limit");
  if (where === null && limit !== null) {
    throw invalid("limit", "limit can only be specified when a where clause is provided");
  }
  if (where === null && ids?.length === 0) throw invalid("ids", "Either ids or where must be specified");
  return Object.freeze({ ids: ids ?? (where === null ? [] : null), where, limit });
}
