/** API keys. */
import { LIMITS } from "@sheaf/protocol";
import { type JsonSchema, Type } from "../json-schema.ts";
import { arrayOf, closed, count, maybe, orNull, ref, words } from "../schema-parts.ts";

const scope = words(["embed", "read", "write", "admin"]);
const time = Type.String({ format: "date-time" });
const text = Type.String();
/** The parsers refuse other members. */
const CLOSED: JsonSchema = { additionalProperties: false };
const LIMIT_NAMES = ["requests_per_minute", "tokens_per_minute", "concurrent_requests"];

function limits(member: (schema: JsonSchema) => JsonSchema, options: JsonSchema = {}): JsonSchema {
  const entries = LIMIT_NAMES.map((name) => [name, member(count(undefined, Number.MAX_SAFE_INTEGER))]);
  return Type.Object(Object.fromEntries(entries), {
    ...options,
    description: "`null`: those of the server. 0: none.",
  });
}

const KEY = {
  id: text,
  name: text,
  tenant: orNull(text, "The only tenant that the key may touch; `null`: every one."),
  database: orNull(text, "The only database of that tenant; `null`: every one."),
  scopes: arrayOf(scope),
  limits: limits((schema) => orNull(schema)),
  created_at: time,
  expires_at: orNull(time),
  last_used_at: orNull(time, "To within a minute or so."),
  replaced_by: orNull(text, "Id of the key that it was rotated into."),
};

export const KEY_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  KeyBody: Type.Object(
    {
      name: Type.String({ minLength: 1, maxLength: LIMITS.keyNameCharacters }),
      tenant: orNull(ref("TenantName"), "`null`: a key for every tenant."),
      database: maybe(ref("Name"), "Only beside a tenant."),
      scopes: arrayOf(scope, { minItems: 1 }),
      limits: maybe(limits((schema) => maybe(schema), CLOSED)),
      expires_at: maybe(time),
    },
    { ...CLOSED, examples: [{ name: "search page", tenant: "acme", scopes: ["read"] }] },
  ),
  RotateBody: closed({
    overlap_seconds: maybe(count(undefined, LIMITS.keyOverlapSeconds), "How long the old key goes on."),
    expires_at: maybe(time, "End of the new key; that of the old one if it is left out."),
  }),
  Key: Type.Object(KEY),
  IssuedKey: Type.Object({
    ...KEY,
    key: Type.String({ description: "The key itself. No other reply shows it." }),
  }),
};
