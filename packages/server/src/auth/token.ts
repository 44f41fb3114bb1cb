/**
 * Where a token stands in a request: `x-service-token`, then `x-chroma-token`, then `Authorization: Bearer`. The first
 * header that is there decides; a wrong one is not rescued by a right one after it.
 */
import type { IncomingHttpHeaders } from "node:http";

const BEARER = /^bearer +(\S.*?) *$/i;

/** `null`: the request carries no token. */
export function readToken(headers: IncomingHttpHeaders): string | null {
  const named = headerValue(headers, "x-service-token") ?? headerValue(headers, "x-chroma-token");
  if (named !== null) return named;
  return BEARER.exec(headers.authorization ?? "")?.[1] ?? null;
}

/** One header's value; a missing and an empty one are both `null`. */
export function headerValue(headers: IncomingHttpHeaders, name: string): string | null {
  const value = headers[name];
  const text = Array.isArray(value) ? value.join(", ") : value;
  return text === undefined || text === "" ? null : text;
}
