/** Cross-origin headers for the origins the operator named; without any, browsers of other origins stay out. */

const ALLOWED_METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
const EXPOSED_HEADERS = [
  ...[
    "x-request-id",
    "chroma-trace-id",
    "x-truncated-inputs",
    "x-sheaf-next",
    "deprecation",
    "www-authenticate",
    "retry-after",
  ],
  ...["ratelimit", "ratelimit-policy", "ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"],
].join(", ");
const PREFLIGHT_SECONDS = "600";

/** `*` in `allowed` admits every origin. Credentials are never allowed: keys travel in headers. */
export function corsHeaders(
  origin: string | undefined,
  allowed: readonly string[],
  requestedHeaders: string | undefined,
): Record<string, string> {
  if (allowed.length === 0) return {};
  const any = allowed.includes("*");
  if (origin === undefined || !(any || allowed.includes(origin))) return { vary: "origin" };
  return {
    "access-control-allow-origin": any ? "*" : origin,
    "access-control-allow-methods": ALLOWED_METHODS,
    ...(requestedHeaders === undefined ? {} : { "access-control-allow-headers": requestedHeaders }),
    "access-control-expose-headers": EXPOSED_HEADERS,
    "access-control-max-age": PREFLIGHT_SECONDS,
    vary: "origin",
  };
}
