/** The body of `POST .../get`. */
import { membersOf, optional } from "../json/json-shape.ts";
import { parseHighlight } from "../search/highlight.ts";
import { parseOrderBy } from "../search/order-by.ts";
import type { GetRequest } from "./ast.ts";
import { parseInclude, parseOptionalCount, parseSelector } from "./selector.ts";

const DEFAULT_INCLUDE = ["documents", "metadatas"];

/**
 * Without a limit every record of the selection is meant; the reply is then sent in pieces.
 *
 * @throws SheafError 422 for wrong JSON types, 400 for an invalid filter and bounds.
 */
export function parseGetRequest(body: unknown): GetRequest {
  const members = membersOf(body, "");
  const { ids, where } = parseSelector(members);
  const order = optional(members, "order_by");
  const orderBy = order === undefined ? null : parseOrderBy(order, "order_by");
  const highlight = parseHighlight(optional(members, "highlight"), "highlight");
  return Object.freeze({
    ids,
    where,
    limit: parseOptionalCount(members, "limit"),
    offset: parseOptionalCount(members, "offset") ?? 0,
    include: parseInclude(members, DEFAULT_INCLUDE),
    ...(orderBy !== null && { orderBy }),
    ...(highlight !== null && { highlight }),
  });
}
