/**
 * The checks every parser of a body is made of: `unknown` in, a typed value out, or an error that begins with the
 * JSON path. A wrong JSON type or a missing member is 422; a value outside its bounds is 400. A member that is
 * `null` counts as absent everywhere, because clients send explicit nulls for what they leave out.
 */
import { invalid, unprocessable, type SheafError } from "../errors.ts";
import { type IntegerArray, isIntegerArray } from "../integer-array.ts";
import { JsonFloat } from "./json-float.ts";

/** Members of a JSON object. Only names that a parser knows are read from it. */
export type Members = Readonly<Record<string, unknown>>;

/** `invalid` or `unprocessable`: where the same text is refused with a status that depends on its place. */
export type Refuse = (path: string, problem: string) => SheafError;

/** Longest key shown in a path; keys are the caller's and can be a megabyte long. */
const SHOWN_KEY_CHARACTERS = 80;

/** `path.key`. */
export function memberPath(path: string, key: string): string {
  return path === "" ? shownKey(key) : `${path}.${shownKey(key)}`;
}

/** A key for a message: callers choose how long it is. */
export function shownKey(key: string): string {
  return key.length > SHOWN_KEY_CHARACTERS ? `${key.slice(0, SHOWN_KEY_CHARACTERS)}…` : key;
}

/** `path[index]`. */
export function itemPath(path: string, index: number): string {
  return `${path}[${index}]`;
}

export function isMembers(value: unknown): value is Members {
  return (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof JsonFloat) &&
    !ArrayBuffer.isView(value)
  );
}

export function membersOf(value: unknown, path: string, refuse: Refuse = unprocessable): Members {
  if (!isMembers(value)) throw refuse(path, "must be an object");
  return value;
}

export function itemsOf(value: unknown, path: string, refuse: Refuse = unprocessable): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (isNumberList(value)) return itemsOfNumbers(value);
  throw refuse(path, "must be an array");
}

/** A long list of numbers as `readJson` gives it where the body is large. */
export function isNumberList(value: unknown): value is IntegerArray | Float64Array {
  return isIntegerArray(value) || value instanceof Float64Array;
}

/** What the list would be in a small body. */
function itemsOfNumbers(list: IntegerArray | Float64Array): readonly (number | bigint | JsonFloat)[] {
  if (list instanceof Float64Array) {
    return Array.from(list, (float) => (Number.isInteger(float) ? new JsonFloat(float) : float));
  }
  if (!(list instanceof BigInt64Array)) return [...list];
  return Array.from(list, (integer) => {
    const plain = Number(integer);
    return Number.isSafeInteger(plain) ? plain : integer;
  });
}

export function stringOf(value: unknown, path: string, refuse: Refuse = unprocessable): string {
  if (typeof value !== "string") throw refuse(path, "must be a string");
  return value;
}

export function booleanOf(value: unknown, path: string): boolean {
  if (typeof value !== "boolean") throw unprocessable(path, "must be a boolean");
  return value;
}

/** The member, with `null` and absent both `undefined`. */
export function optional(members: Members, key: string): unknown {
  return members[key] ?? undefined;
}

/** The member; 422 if it is absent or `null`. */
/**
 * Throws at a member that is often meant for another; `instead` says for which. Others that are unknown are left alone, for
 * clients send members that this server has no use for.
 */
export function refuseMistaken(members: Members, instead: Readonly<Record<string, string>>): void {
  for (const [key, hint] of Object.entries(instead)) {
    if (Object.hasOwn(members, key) && optional(members, key) !== undefined)
      throw unprocessable(key, `is unknown here; ${hint}`);
  }
}

export function required(members: Members, key: string, path: string): unknown {
  const value = optional(members, key);
  if (value === undefined) throw unprocessable(memberPath(path, key), "is required");
  return value;
}

/** 400 for a member that is not one of `known`: in a search a misspelt member must not be ignored. */
export function refuseUnknown(members: Members, known: readonly string[], path: string): void {
  for (const key of Object.keys(members)) {
    if (!known.includes(key)) throw invalid(memberPath(path, key), `is unknown, expected ${listOf(known)}`);
  }
}

/** Whether `readJson` made it from a number token. */
export function isNumber(value: unknown): value is number | bigint | JsonFloat {
  return typeof value === "number" || typeof value === "bigint" || value instanceof JsonFloat;
}

export function toNumber(value: number | bigint | JsonFloat): number {
  return value instanceof JsonFloat ? value.value : Number(value);
}

/** The number as f32; 422 if it is none, 400 if it is beyond f32. */
export function float32Of(value: unknown, path: string): number {
  if (!isNumber(value)) throw unprocessable(path, "must be a number");
  const rounded = Math.fround(toNumber(value));
  if (!Number.isFinite(rounded)) throw invalid(path, "must be finite as a 32-bit float");
  return rounded;
}

/** The number as f64; 422 if it is none, 400 if it is beyond f64. */
export function float64Of(value: unknown, path: string): number {
  if (!isNumber(value)) throw unprocessable(path, "must be a number");
  const number = toNumber(value);
  if (!Number.isFinite(number)) throw invalid(path, "must be finite");
  return number;
}

/** An integer literal, of either sign; 422 for anything else. Beyond ±(2^53-1) it is only near its value. */
export function integerOf(value: unknown, path: string, expected = "must be an integer"): number {
  if (typeof value === "bigint") return Number(value);
  if (typeof value !== "number" || !Number.isInteger(value)) throw unprocessable(path, expected);
  return value;
}

/** 0 or more; 422 below, as for a value of the wrong type. */
export function countOf(value: unknown, path: string): number {
  const expected = "must be a non-negative integer";
  const count = integerOf(value, path, expected);
  if (count < 0) throw unprocessable(path, expected);
  return Math.min(count, Number.MAX_SAFE_INTEGER);
}

/** 1 or more; 400 below. */
export function positiveOf(value: unknown, path: string): number {
  const expected = "must be a positive integer";
  const count = integerOf(value, path, expected);
  if (count < 1) throw invalid(path, expected);
  return count;
}

/** "`a`, `b` or `c`". */
export function listOf(words: readonly string[]): string {
  const quoted = words.map((word) => `\`${word}\``);
  const last = quoted.pop();
  return quoted.length === 0 ? `${last}` : `${quoted.join(", ")} or ${last}`;
}

/** Whether the text takes more than `limit` bytes as UTF-8. */
export function exceedsBytes(text: string, limit: number): boolean {
  if (text.length * 3 <= limit) return false;
  return text.length > limit || utf8Length(text) > limit;
}

/** Bytes of the text as UTF-8; half a surrogate pair counts as the three bytes it is replaced by. */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) continue;
    bytes += unit < 0x800 ? 1 : 2;
    // Both halves of a pair are units of their own, but the four bytes are counted once.
    if (unit >= 0xd800 && unit < 0xdc00 && isLowSurrogate(text, index + 1)) index += 1;
  }
  return bytes;
}

function isLowSurrogate(text: string, index: number): boolean {
  const unit = text.charCodeAt(index);
  return unit >= 0xdc00 && unit <= 0xdfff;
}
