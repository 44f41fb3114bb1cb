/**
 * The few forms that schemas here are made of. Schemas describe the wire for readers and generators; the parsers in
 * `@sheaf/protocol` decide, and a test holds one against the other.
 */
import {
  type TArrayOptions,
  type TObject,
  type TOptional,
  type TProperties,
  type TSchema,
  Type,
} from "typebox";

const COMPONENTS = "#/components/schemas/";

/** A named schema of `COMPONENT_SCHEMAS`. */
export function ref(name: string): TSchema {
  return Type.Ref(`${COMPONENTS}${name}`);
}

/** The name that `ref` was given; `null` for any other `$ref`. */
export function componentName(pointer: string): string | null {
  return pointer.startsWith(COMPONENTS) ? pointer.slice(COMPONENTS.length) : null;
}

/** A member that may be left out, where `null` means the same. */
export function maybe(schema: TSchema, description?: string): TOptional {
  return Type.Optional(orNull(schema, description));
}

export function orNull(schema: TSchema, description?: string): TSchema {
  return Type.Union([schema, Type.Null()], description === undefined ? {} : { description });
}

/** An object that takes no other members than these. */
export function closed(properties: TProperties, options: { readonly description?: string } = {}): TObject {
  return Type.Object(properties, { ...options, additionalProperties: false });
}

/** An object of which only the shape of its members is known. */
export function anyObject(description: string): TSchema {
  return Type.Object({}, { description });
}

export function arrayOf(items: TSchema, options: TArrayOptions = {}): TSchema {
  return Type.Array(items, options);
}

export function words(values: readonly string[], description?: string): TSchema {
  return Type.Unsafe({
    type: "string",
    enum: [...values],
    ...(description === undefined ? {} : { description }),
  });
}

/** 0 or more. */
export function count(description?: string, maximum?: number): TSchema {
  return Type.Integer({
    minimum: 0,
    ...(maximum === undefined ? {} : { maximum }),
    ...(description === undefined ? {} : { description }),
  });
}
