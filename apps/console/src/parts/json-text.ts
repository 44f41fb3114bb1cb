/** JSON that a person types. */
import { lossIn } from "./scan-json.ts";

export type JsonObject = Readonly<Record<string, unknown>>;
export type Parsed = { readonly value: JsonObject | null } | { readonly problem: string };

/** An object, or `null` for a text of blanks; else what is wrong with it. */
export function parseObject(text: string): Parsed {
  if (text.trim() === "") return { value: null };
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? { value } : { problem: "must be a JSON object" };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}

/** As `parseObject`, and refuses what a browser would not send as it is written. */
export function parseExactly(text: string): Parsed {
  const parsed = parseObject(text);
  const loss = "value" in parsed && parsed.value !== null ? lossIn(text) : null;
  return loss === null ? parsed : { problem: loss };
}

/** Of its own: an object has members that nobody has written, such as `constructor`. */
export function fieldOf(object: JsonObject | null, name: string): unknown {
  return object !== null && Object.hasOwn(object, name) ? object[name] : undefined;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
