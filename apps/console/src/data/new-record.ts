/** A record to store, of the members that a line of a file has. */
import { type JsonObject, isObject } from "../parts/json-text.ts";
import { isNumber, isStorable, stringifyExact } from "./exact-json.ts";

export interface NewRecord {
  readonly id: string;
  readonly document: string | null;
  readonly uri: string | null;
  /** As the file has it: the server checks it. */
  readonly embedding: unknown;
  readonly metadata: JsonObject | null;
  /** Where in its file, `line 3`; empty: all of it. */
  readonly place: string;
}

/** Members that mean something; all others are fields of the metadata. */
export const MEMBERS: readonly string[] = ["id", "document", "text", "uri", "embedding", "metadata"];

/**
 * `text` is another name for `document`, and a field where both are there. Members that mean nothing are fields, beside those
 * of `metadata`.
 *
 * @param fallbackId Of a line without one.
 * @throws Error saying what would be lost.
 */
export function recordOf(value: JsonObject, place: string, fallbackId: string): NewRecord {
  const { id, document, text, uri, embedding, metadata, ...others } = value;
  const isText = typeof text === "string" && (document === undefined || document === null);
  const beside: JsonObject = {
    ...others,
    ...(text !== undefined && !isText && { text }),
    ...(metadata !== undefined && metadata !== null && !isFields(metadata) && { metadata }),
  };
  const fields = isFields(metadata) ? metadata : {};
  const twice = Object.keys(beside).find((key) => Object.hasOwn(fields, key));
  if (twice !== undefined) throw new Error(`${twice}: stands in metadata and beside it`);
  return {
    id: idOf(id) ?? fallbackId,
    document: isText ? text : textOf(document, "document"),
    uri: textOf(uri, "uri"),
    embedding: embedding ?? null,
    metadata: metadataOf({ ...beside, ...fields }),
    place,
  };
}

function idOf(id: unknown): string | null {
  if (isNumber(id)) return id.toString();
  const text = textOf(id, "id");
  return text === "" ? null : text;
}

function textOf(value: unknown, name: string): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== "string") throw new Error(`${name}: must be a text`);
  return value;
}

function isFields(value: unknown): value is JsonObject {
  return isObject(value) && !isNumber(value);
}

/** The server keeps numbers, texts, booleans, lists of them and sparse vectors; other objects go in as JSON. */
function metadataOf(fields: JsonObject): JsonObject | null {
  const entries = Object.entries(fields);
  if (entries.length === 0) return null;
  return Object.fromEntries(
    entries.map(([key, value]) => {
      const items: readonly unknown[] = Array.isArray(value) ? value : [value];
      const lost = items.filter(isNumber).find((item) => !isStorable(item));
      if (lost !== undefined)
        throw new Error(
          `${key}: ${lost.toString()} is more than a number holds; in quotes it is kept as text`,
        );
      const isOther = isFields(value) && value["#type"] !== "sparse_vector";
      return [key, isOther ? stringifyExact(value) : value];
    }),
  );
}
