/**
 * What `readJson` gave -> plain JSON that is kept and returned, `1.0` as a float and `1` as an integer: typed clients
 * tell them apart. An integer that would lose digits is refused.
 */
import { invalid } from "../errors.ts";
import { JsonFloat } from "../json/json-float.ts";
import { writeFloat64 } from "../json/json-writer.ts";
import { isMembers, isNumberList, itemPath, itemsOf, memberPath } from "../json/json-shape.ts";
import type { Json, JsonObject } from "./ast.ts";

/** @throws SheafError 400 for an integer beyond 2^53-1. */
export function toPlainJson(value: unknown, path: string): Json {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number" || value instanceof JsonFloat) return value;
  if (isNumberList(value)) return toPlainJson(itemsOf(value, path), path);
  if (Array.isArray(value)) return value.map((item, i) => toPlainJson(item, itemPath(path, i)));
  if (isMembers(value)) {
    const members = Object.entries(value).map(([key, item]) => [
      key,
      toPlainJson(item, memberPath(path, key)),
    ]);
    return Object.fromEntries(members) as JsonObject;
  }
  throw invalid(path, "an integer here must lie within -(2^53-1) and 2^53-1");
}

export function isPlainObject(value: Json | undefined): value is JsonObject {
  return isMembers(value);
}

/** The text of plain JSON. */
export function writePlainJson(json: Json): string {
  if (json instanceof JsonFloat) return writeFloat64(json.value);
  if (typeof json !== "object" || json === null) return JSON.stringify(json);
  if (isPlainObject(json)) {
    const members = Object.entries(json).map(
      ([key, value]) => `${JSON.stringify(key)}:${writePlainJson(value)}`,
    );
    return `{${members.join(",")}}`;
  }
  return `[${json.map(writePlainJson).join(",")}]`;
}

/** The value at the end of `keys`, looked up in own members only; `undefined` where one is missing. */
export function valueAt(value: Json | undefined, ...keys: readonly string[]): Json | undefined {
  let found = value;
  for (const key of keys) {
    if (!isPlainObject(found) || !Object.hasOwn(found, key)) return undefined;
    found = found[key];
  }
  return found;
}

/** The object at the end of `keys`; `null` where there is none. */
export function objectAt(value: Json | undefined, ...keys: readonly string[]): JsonObject | null {
  const found = valueAt(value, ...keys);
  return isPlainObject(found) ? found : null;
}

/**
 * `over` laid on `base`: objects member by member, anything else replaced, and so is an embedding function, which is
 * opaque. Order of `base`, then what `over` adds.
 */
export function layer(base: JsonObject, over: JsonObject): JsonObject {
  const members = new Map<string, Json>(Object.entries(base));
  for (const [key, value] of Object.entries(over)) {
    const below = members.get(key);
    const merges = key !== "embedding_function" && isPlainObject(below) && isPlainObject(value);
    members.set(key, merges ? layer(below, value) : value);
  }
  return Object.fromEntries(members);
}
