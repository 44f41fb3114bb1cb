/**
 * Builders of JSON Schema (2020-12) for the API description. No library: those that there are take more of a start
 * than the rest of the gateway.
 */
import type { JsonSchema } from "../http/route-description.ts";

export type { JsonSchema } from "../http/route-description.ts";
/** Members of an object. */
export type SchemaMembers = Readonly<Record<string, JsonSchema>>;
/** Keywords beside those that a builder sets: `description`, bounds, examples. */
type Keywords = JsonSchema;

/** Members that may be left out: no keyword of their own says so, their object does. */
const leftOut = new WeakSet<JsonSchema>();

export const Type = {
  String: (keywords: Keywords = {}): JsonSchema => ({ type: "string", ...keywords }),
  Number: (keywords: Keywords = {}): JsonSchema => ({ type: "number", ...keywords }),
  Integer: (keywords: Keywords = {}): JsonSchema => ({ type: "integer", ...keywords }),
  Boolean: (keywords: Keywords = {}): JsonSchema => ({ type: "boolean", ...keywords }),
  Null: (): JsonSchema => ({ type: "null" }),
  Literal: (value: string | number | boolean, keywords: Keywords = {}): JsonSchema => ({
    type: typeof value,
    const: value,
    ...keywords,
  }),
  Array: (items: JsonSchema, keywords: Keywords = {}): JsonSchema => ({ type: "array", items, ...keywords }),
  Union: (anyOf: readonly JsonSchema[], keywords: Keywords = {}): JsonSchema => ({ anyOf, ...keywords }),
  Intersect: (allOf: readonly JsonSchema[], keywords: Keywords = {}): JsonSchema => ({ allOf, ...keywords }),
  Ref: ($ref: string): JsonSchema => ({ $ref }),
  Object: objectOf,
  Optional(schema: JsonSchema): JsonSchema {
    const member = { ...schema };
    leftOut.add(member);
    return member;
  },
  /** Keys that match the pattern -> values. */
  Record: (pattern: string, values: JsonSchema, keywords: Keywords = {}): JsonSchema => ({
    type: "object",
    patternProperties: { [pattern]: values },
    ...keywords,
  }),
};

function objectOf(properties: SchemaMembers, keywords: Keywords = {}): JsonSchema {
  const required = Object.entries(properties).flatMap(([name, schema]) =>
    leftOut.has(schema) ? [] : [name],
  );
  return { type: "object", ...(required.length === 0 ? {} : { required }), properties, ...keywords };
}
