/**
 * The error replies of an operation. Most follow from what kind of route it is (does it take a key, a body, a name in
 * its path); a route lists only those that are its own.
 */
import { type ErrorCode, SheafError } from "@sheaf/protocol";
import type { Route } from "../http/route.ts";
import { ref } from "./schema-parts.ts";

/** What a caller learns from each code. */
const MEANINGS: Readonly<Record<ErrorCode, string>> = {
  invalid_argument: "A header, name or value is missing or out of its bounds, or the body is no JSON.",
  unauthenticated: "The API key is missing or not valid.",
  permission_denied: "The API key may not do this, or not here.",
  not_found: "There is no such thing.",
  method_not_allowed: "The path does not take this method.",
  already_exists: "It exists already.",
  protected: "The default tenant and database can be deleted only with `--allow-reset on`.",
  model_mismatch: "The collection was embedded with other weights.",
  conditional_conflict: "A record that was read has changed since.",
  gone: "This version of the interface is gone.",
  failed_precondition: "The state does not allow it.",
  stale_read: "The read token is too old.",
  too_large: "The body is over the size limit, or a text is over the limit of its model.",
  unsupported_media_type: "The body is not `application/json`, or has a `Content-Encoding` other than gzip.",
  unprocessable: "A value has the wrong JSON type, a field is missing, or a quota is exceeded.",
  rate_limited: "Too many requests, or the queue of the model is full; `Retry-After` says when to try again.",
  cancelled: "The caller has gone.",
  internal: "A fault of the server; the message names the request.",
  collection_unavailable: "The collection is quarantined.",
  unimplemented: "The model, or the role of this server, does not support the operation.",
  transactions_not_supported: "Conditional transactions are not supported here.",
  unavailable: "The server, or a part of it, is starting or stopping; `Retry-After` says when to try again.",
  model_unavailable: "The weights of the model are not there.",
  timeout: "The request took longer than a request may.",
  storage_full: "The disk is full; reads go on.",
  database_full: "The disk of the database is full; reads go on.",
};

type Responses = Record<string, unknown>;

/** Status -> response, lowest first. */
export function errorResponses(route: Route): Responses {
  const byStatus = new Map<number, string[]>();
  for (const code of new Set([...usualErrors(route), ...(route.description?.errors ?? [])])) {
    const { status } = new SheafError(code, "");
    byStatus.set(status, [...(byStatus.get(status) ?? []), MEANINGS[code]]);
  }
  const schema = ref(route.surface === "embed" ? "EmbedError" : "Error");
  const responses = [...byStatus].map(([status, meanings]): [string, unknown] => [
    String(status),
    { description: meanings.join(" "), content: { "application/json": { schema } } },
  ]);
  return Object.fromEntries(responses);
}

function usualErrors(route: Route): readonly ErrorCode[] {
  const codes: ErrorCode[] = ["internal"];
  const { description, path, scope } = route;
  if (scope === "public") return codes;
  codes.push("unauthenticated", "permission_denied", "rate_limited", "unavailable", "timeout");
  if (path.includes(":")) codes.push("not_found");
  if (path.includes(":") || description?.query !== undefined) codes.push("invalid_argument");
  // The engine serves every route that names a tenant; a server that only embeds has none.
  if (route.tenant !== "none") codes.push("unimplemented");
  if (route.method !== "GET") codes.push("invalid_argument", ...bodyErrors(route));
  return codes;
}

/** Of a request with a body, also where the route has no use for one: it is received before the route is asked. */
function bodyErrors(route: Route): readonly ErrorCode[] {
  const tooLarge: ErrorCode = route.tooLargeStatus === 400 ? "invalid_argument" : "too_large";
  const codes: ErrorCode[] = [tooLarge, "unsupported_media_type"];
  // The embedding contract knows no 422: it is 400 there.
  if (route.surface !== "embed" && route.description?.body !== undefined) codes.push("unprocessable");
  return codes;
}
