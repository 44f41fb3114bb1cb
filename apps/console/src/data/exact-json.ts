/**
 * JSON whose numbers keep their digits and their kind. A browser's own parser rounds integers over 2^53 and makes 2 of 2.0,
 * which a server tells apart.
 */
import { LosslessNumber, parse, stringify } from "lossless-json";

export type ExactNumber = number | LosslessNumber;

const LARGEST_INTEGER = 2n ** 63n - 1n;

/** A `number` where that is written just so, else its text as a `LosslessNumber`. */
export function exactNumber(text: string): ExactNumber {
  const value = Number(text);
  return String(value) === text ? value : new LosslessNumber(text);
}

/** @throws SyntaxError also where an object has a member twice. */
export function parseExact(text: string): unknown {
  return parse(text, null, exactNumber);
}

export function stringifyExact(value: unknown): string {
  return stringify(value) ?? "null";
}

export function isNumber(value: unknown): value is ExactNumber {
  return typeof value === "number" || value instanceof LosslessNumber;
}

/** Whether the server, which has integers of 64 bits and floats, stores it; floats are rounded to what they hold. */
export function isStorable(value: ExactNumber): boolean {
  const text = value.toString();
  if (!/^-?\d+$/u.test(text)) return Number.isFinite(Number(text));
  const integer = BigInt(text);
  return integer <= LARGEST_INTEGER && integer >= -LARGEST_INTEGER - 1n;
}
