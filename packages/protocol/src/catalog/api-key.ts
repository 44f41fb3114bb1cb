/**
 * API keys on the wire: the bodies that make and rotate one, and the reply that describes one. The key itself is in
 * the reply to those two and nowhere else. Times are RFC 3339 on the wire and milliseconds since 1970 inside.
 */
import { invalid, unprocessable } from "../errors.ts";
import { integerOf, isMembers, itemPath, itemsOf, listOf } from "../json/json-shape.ts";
import { LIMITS } from "../limits.ts";
import { BodyReader } from "./body-reader.ts";
import { parseName, parseTenantName } from "./name.ts";

/** What a key may do; wire scopes, one word each. */
export type KeyScope = "embed" | "read" | "write" | "admin";

export const KEY_SCOPES: readonly KeyScope[] = Object.freeze(["embed", "read", "write", "admin"]);

/** Bounds of one key that differ from the server's; `null`: the server's, 0: none. */
export interface KeyLimits {
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
  readonly concurrentRequests: number | null;
}

/** Everything about a key but the key. */
export interface ApiKey {
  readonly id: string;
  readonly name: string;
  /** The only tenant it may touch; `null`: all. */
  readonly tenant: string | null;
  /** The only database of that tenant; `null`: all. */
  readonly database: string | null;
  readonly scopes: readonly KeyScope[];
  readonly limits: KeyLimits;
  readonly created: number;
  /** From then on it is refused; `null`: never. */
  readonly expires: number | null;
  /** Within a minute or so; `null`: never used. */
  readonly lastUsed: number | null;
  /** Id of the key that it was rotated into. */
  readonly replacedBy: string | null;
}

export type CreateKey = Pick<ApiKey, "name" | "tenant" | "database" | "scopes" | "limits" | "expires">;

export interface RotateKey {
  /** How long the old key goes on; `null`: as long as the server is set to. */
  readonly overlapSeconds: number | null;
  /** End of the new key; `undefined`: that of the old one. */
  readonly expires: number | undefined;
}

const CREATE_MEMBERS = ["name", "tenant", "database", "scopes", "limits", "expires_at"];
const ROTATE_MEMBERS = ["overlap_seconds", "expires_at"];
const LIMIT_MEMBERS = ["requests_per_minute", "tokens_per_minute", "concurrent_requests"];

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/i;
const CONTROL_OR_LONE_SURROGATE = /[\p{Cc}\p{Cs}]/u;

/**
 * `tenant` must be there: a key for every tenant says so with `null`. Unknown members are refused, because a misspelt
 * `database` or `expires_at` would make a key that may do more than was asked for.
 *
 * @param now Milliseconds since 1970; a key may not end before it begins.
 * @throws SheafError 400 for a value out of bounds, 422 for a wrong type, a missing member or an unknown one.
 */
export function parseCreateKey(body: unknown, now: number): CreateKey {
  const reader = new BodyReader(body, "");
  reader.refuseUnknown(CREATE_MEMBERS);
  const tenant = parseTenant(body, reader);
  const database = reader.has("database") ? parseName(reader.get("database"), "database") : null;
  if (database !== null && tenant === null) {
    throw invalid("database", "a key for every tenant cannot be bound to one database");
  }
  return Object.freeze({
    name: parseKeyName(reader.requiredString("name")),
    tenant,
    database,
    scopes: parseScopes(reader.required("scopes")),
    limits: parseLimits(reader.object("limits")),
    expires: parseTime(reader, "expires_at", now) ?? null,
  });
}

/** @throws SheafError 400 for a value out of bounds, 422 for a wrong type or an unknown member. */
export function parseRotateKey(body: unknown, now: number): RotateKey {
  const reader = new BodyReader(body, "");
  reader.refuseUnknown(ROTATE_MEMBERS);
  return Object.freeze({
    overlapSeconds: parseCount(reader, "overlap_seconds", LIMITS.keyOverlapSeconds),
    expires: parseTime(reader, "expires_at", now),
  });
}

/** @param secret The key itself, in the one reply that shows it. */
export function writeApiKey(key: ApiKey, secret?: string): string {
  return JSON.stringify({
    id: key.id,
    ...(secret === undefined ? {} : { key: secret }),
    name: key.name,
    tenant: key.tenant,
    database: key.database,
    scopes: key.scopes,
    limits: {
      requests_per_minute: key.limits.requestsPerMinute,
      tokens_per_minute: key.limits.tokensPerMinute,
      concurrent_requests: key.limits.concurrentRequests,
    },
    created_at: writeTime(key.created),
    expires_at: writeTime(key.expires),
    last_used_at: writeTime(key.lastUsed),
    replaced_by: key.replacedBy,
  });
}

function parseTenant(body: unknown, reader: BodyReader): string | null {
  if (reader.has("tenant")) return parseTenantName(reader.get("tenant"), "tenant");
  if (isMembers(body) && Object.hasOwn(body, "tenant")) return null;
  throw unprocessable("tenant", "is required: the name of a tenant, or null for every tenant");
}

function parseKeyName(name: string): string {
  if (name.length === 0 || name.length > LIMITS.keyNameCharacters) {
    throw invalid("name", `must be 1 to ${LIMITS.keyNameCharacters} characters long`);
  }
  if (CONTROL_OR_LONE_SURROGATE.test(name)) throw invalid("name", "must not contain control characters");
  return name;
}

function parseScopes(value: unknown): readonly KeyScope[] {
  const scopes = itemsOf(value, "scopes").map((item, index) => {
    const scope = KEY_SCOPES.find((known) => known === item);
    if (scope === undefined) throw unprocessable(itemPath("scopes", index), `must be ${listOf(KEY_SCOPES)}`);
    return scope;
  });
  if (scopes.length === 0) throw invalid("scopes", "must hold at least one scope");
  return KEY_SCOPES.filter((scope) => scopes.includes(scope));
}

function parseLimits(reader: BodyReader | null): KeyLimits {
  reader?.refuseUnknown(LIMIT_MEMBERS);
  const read = (name: string): number | null =>
    reader === null ? null : parseCount(reader, name, Number.MAX_SAFE_INTEGER);
  return Object.freeze({
    requestsPerMinute: read("requests_per_minute"),
    tokensPerMinute: read("tokens_per_minute"),
    concurrentRequests: read("concurrent_requests"),
  });
}

function parseCount(reader: BodyReader, name: string, most: number): number | null {
  if (!reader.has(name)) return null;
  const path = reader.pathOf(name);
  const count = integerOf(reader.get(name), path);
  if (count < 0 || count > most) throw invalid(path, `must be 0 to ${most}`);
  return count;
}

function parseTime(reader: BodyReader, name: string, now: number): number | undefined {
  const text = reader.string(name);
  if (text === null) return undefined;
  const time = TIMESTAMP.test(text) ? Date.parse(text) : NaN;
  if (Number.isNaN(time)) throw invalid(name, "must be a time such as 2030-01-31T12:00:00Z");
  if (time <= now) throw invalid(name, "must be in the future");
  return time;
}

function writeTime(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}
