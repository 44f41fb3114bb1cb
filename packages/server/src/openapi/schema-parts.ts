/**
 * The few forms that schemas here are made of. Schemas describe the wire for readers and generators; the parsers in
 * `@sheaf/protocol` decide, and a test holds one against the other.
 */
import { type JsonSchema, type SchemaMembers, Type } from "./json-schema.ts";

const COMPONENTS = "#/components/schemas/";

/** A named schema of `COMPONENT_SCHEMAS`. */
export function ref(name: string): JsonSchema {
  return Type.Ref(`${COMPONENTS}${name}`);
}

/** The name that `ref` was given; `null` for any other `$ref`. */
export function componentName(pointer: string): string | null {
  return pointer.startsWith(COMPONENTS) ? pointer.slice(COMPONENTS.length) : null;
}

/** A member that may be left out, where `null` means the same. */
export function maybe(schema: JsonSchema, description?: string): JsonSchema {
  return Type.Optional(orNull(schema, description));
}

export function orNull(schema: JsonSchema, description?: string): JsonSchema {
  return Type.Union([schema, Type.Null()], description === undefined ? {} : { description });
}

/** An object that takes no other members than these. */
export function closed(
  properties: SchemaMembers,
  options: { readonly description?: string } = {},
): JsonSchema {
  return Type.Object(properties, { ...options, additionalProperties: false });
}

/** An object of which only the shape of its members is known. */
export function anyObject(description: string): JsonSchema {
  return Type.Object({}, { description });
}

export function arrayOf(items: JsonSchema, options: JsonSchema = {}): JsonSchema {
  return Type.Array(items, options);
}

export function words(values: readonly string[], description?: string): JsonSchema {
  return Type.String({ enum: values, ...(description === undefined ? {} : { description }) });
}

/** 0 or more. */
export function count(description?: string, maximum?: number): JsonSchema {
  return Type.Integer({
    minimum: 0,
    ...(maximum === undefined ? {} : { maximum }),
    ...(description === undefined ? {} : { description }),
  });
}
