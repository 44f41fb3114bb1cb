/** The body of `POST .../get`. */
import { unprocessable } from "../errors.ts";
import { type Members, listOf, membersOf, optional } from "../json/json-shape.ts";
import { parseHighlight } from "../search/highlight.ts";
import { parseOrderBy } from "../search/order-by.ts";
import type { GetRequest } from "./ast.ts";
import { parseInclude, parseOptionalCount, parseSelector } from "./selector.ts";

const DEFAULT_INCLUDE = ["documents", "metadatas"];
/** Of embeddings, by the names that OpenAI's embedding API has for them. */
const ENCODINGS = ["float", "base64"];

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
    ...(parseEncoding(members) === "base64" && { encoding: "base64" as const }),
  });
}

function parseEncoding(members: Members): unknown {
  const encoding = optional(members, "encoding_format");
  if (encoding !== undefined && !ENCODINGS.includes(encoding as string))
    throw unprocessable("encoding_format", `must be ${listOf(ENCODINGS)}`);
  return encoding;
}
