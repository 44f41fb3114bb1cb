import { isObject } from "../parts/json-text.ts";

/** A value as a literal of Python: JSON's texts and numbers are Python's, its words are not. */
export function pythonText(value: unknown): string {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(pythonText).join(", ")}]`;
  if (isObject(value)) {
    const members = Object.entries(value).map(
      ([key, member]) => `${JSON.stringify(key)}: ${pythonText(member)}`,
    );
    return `{${members.join(", ")}}`;
  }
  return JSON.stringify(value);
}
