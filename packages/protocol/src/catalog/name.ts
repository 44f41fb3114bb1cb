/**
 * Names of tenants, databases and collections. Names never become paths or patterns anywhere, so the rules below are
 * the clients' rules and not a safety fence, but for two: a name is bounded and is well-formed text (a lone surrogate
 * would be stored as another name than the one that was sent).
 */
import { invalid, unprocessable } from "../errors.ts";
import { LIMITS } from "../limits.ts";

/** What there is from the beginning, and what callers mean who name neither. */
export const DEFAULT_TENANT = "default_tenant";
export const DEFAULT_DATABASE = "default_database";

const WORD = /^[a-zA-Z0-9][a-zA-Z0-9._-]*[a-zA-Z0-9]$/;
const OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
const IPV4 = new RegExp(`^(?:${OCTET}\\.){3}${OCTET}$`);
const CONTROL_OR_LONE_SURROGATE = /[\p{Cc}\p{Cs}]/u;

/** Longest stretch of a refused name that its message repeats. */
const QUOTED_CHARACTERS = 80;

/**
 * Name of a database or a collection: 3 to 512 characters of `[a-zA-Z0-9._-]`, a letter or digit at both ends, no
 * `..`, no IPv4 address. One `+` may divide it in two such names (`region+name`).
 *
 * @throws SheafError 400, 422 when it is no string.
 */
export function parseName(value: unknown, path: string): string {
  if (value === undefined || value === null) throw unprocessable(path, "is required");
  if (typeof value !== "string") throw unprocessable(path, "must be a string");
  if (value.length > LIMITS.nameCharacters) throw malformed(value, path);
  const parts = value.split("+");
  if (parts.length > 2) throw malformed(value, path);
  for (const part of parts) checkPart(part, value, path);
  return value;
}

function checkPart(part: string, name: string, path: string): void {
  if (part.length < LIMITS.nameCharactersMin || !WORD.test(part)) throw malformed(name, path);
  if (part.includes("..")) {
    throw invalid(
      path,
      `Expected a name that does not contains two consecutive periods (..). Got ${quote(name)}`,
    );
  }
  if (IPV4.test(part)) {
    throw invalid(path, `Expected a name that is not a valid ip address. Got ${quote(name)}`);
  }
}

function malformed(name: string, path: string): Error {
  return invalid(
    path,
    `Expected a name containing ${LIMITS.nameCharactersMin}-${LIMITS.nameCharacters} characters from [a-zA-Z0-9._-], ` +
      `starting and ending with a character in [a-zA-Z0-9]. Got: ${quote(name)}`,
  );
}

function quote(name: string): string {
  return name.length > QUOTED_CHARACTERS ? `${name.slice(0, QUOTED_CHARACTERS)}...` : name;
}

/**
 * Name of a tenant: any text of 3 to 128 bytes without control characters.
 *
 * @throws SheafError 400, 422 when it is no string.
 */
export function parseTenantName(value: unknown, path: string): string {
  if (value === undefined || value === null) throw unprocessable(path, "is required");
  if (typeof value !== "string") throw unprocessable(path, "must be a string");
  // UTF-8 takes at least a byte per UTF-16 unit, so a long text is refused before it is encoded.
  const tooLong = value.length > LIMITS.tenantNameBytes;
  const bytes = tooLong ? value.length : new TextEncoder().encode(value).length;
  if (bytes < LIMITS.tenantNameBytesMin || bytes > LIMITS.tenantNameBytes) {
    throw invalid(path, `must be ${LIMITS.tenantNameBytesMin} to ${LIMITS.tenantNameBytes} bytes long`);
  }
  if (CONTROL_OR_LONE_SURROGATE.test(value)) {
    throw invalid(path, "must not contain control characters or half a surrogate pair");
  }
  return value;
}
