/** JSON that a person types. */

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

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
