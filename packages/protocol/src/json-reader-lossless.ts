/**
 * Parses a body in which some number tokens would not survive `JSON.parse`: those tokens are rewritten into marked
 * strings (`3.0` -> `"<DEL>3.0"`), `JSON.parse` reads the result at native speed, and one walk turns marked strings
 * into `JsonFloat` and `bigint`. A caller's own string that begins with the mark gets a second one in front and
 * loses it again in the walk, so no text a caller can send is mistaken for a number.
 */
import { JsonFloat } from "./json-float.ts";
import { MARK, scanJson } from "./json-reader-scan.ts";

const QUOTE = 0x22;
/** The longest integer literal that can lie within -2^63..2^64-1, sign included. */
const INTEGER_CHARACTERS = 20;
const INT64_MIN = -(2n ** 63n);
const UINT64_MAX = 2n ** 64n - 1n;
/** A stretch shorter than this is copied faster byte by byte than by a call. */
const SHORT_COPY_BYTES = 64;
/** Distinct numbers that share one object; a body of a million `0.0` then holds one. */
const SHARED_NUMBERS = 1024;

type Numbers = Map<string, JsonFloat | bigint>;

/**
 * As `readJson`, of bytes that `scanJson` has passed with `extraBytes` as `markBytes` counts them, and that are valid
 * UTF-8.
 *
 * @throws SyntaxError if the text is not JSON; its position is that of the rewritten text.
 */
export function parseLossless(bytes: Uint8Array, extraBytes: number): unknown {
  const marked: unknown = JSON.parse(new TextDecoder().decode(rewrite(bytes, extraBytes)));
  return restore(marked, new Map());
}

/** Bytes that marking `[start, end)` adds: the mark, and quotes around a number. */
export function markBytes(start: number, end: number): number {
  return start === end ? 1 : 3;
}

function rewrite(bytes: Uint8Array, extraBytes: number): Uint8Array {
  const out = new Uint8Array(bytes.length + extraBytes);
  let from = 0;
  let to = 0;
  const copyUntil = (end: number): void => {
    if (end - from < SHORT_COPY_BYTES) {
      while (from < end) out[to++] = bytes[from++]!;
      return;
    }
    out.set(bytes.subarray(from, end), to);
    to += end - from;
    from = end;
  };
  scanJson(bytes, (start, end) => {
    copyUntil(start);
    if (start !== end) out[to++] = QUOTE;
    out[to++] = MARK;
    if (start === end) return;
    copyUntil(end);
    out[to++] = QUOTE;
  });
  copyUntil(bytes.length);
  return out;
}

/** Replaces in place; the tree is ours and at most `LIMITS.jsonDepth` deep. */
function restore(value: unknown, numbers: Numbers): unknown {
  if (typeof value === "string") return isMarked(value) ? unmark(value, numbers) : value;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items: unknown[] = value;
    for (let index = 0; index < items.length; index += 1) {
      const item = items[index];
      if (typeof item === "string" || typeof item === "object") items[index] = restore(item, numbers);
    }
    return items;
  }
  const members = value as Record<string, unknown>;
  const keys = Object.keys(members);
  for (const key of keys) members[key] = restore(members[key], numbers);
  if (!keys.some(isMarked)) return members;
  return Object.fromEntries(Object.entries(members).map(([key, member]) => [unmarkKey(key), member]));
}

function isMarked(text: string): boolean {
  return text.charCodeAt(0) === MARK;
}

function unmark(text: string, numbers: Numbers): unknown {
  const known = numbers.get(text);
  if (known !== undefined) return known;
  const token = text.slice(1);
  if (isMarked(token)) return token;
  const number = numberOf(token);
  if (numbers.size < SHARED_NUMBERS) numbers.set(text, number);
  return number;
}

function unmarkKey(key: string): string {
  if (!isMarked(key)) return key;
  const rest = key.slice(1);
  if (!isMarked(rest)) throw new SyntaxError("a member name is a number");
  return rest;
}

function numberOf(token: string): JsonFloat | bigint {
  if (!/[.eE]/.test(token) && token.length <= INTEGER_CHARACTERS) {
    const integer = BigInt(token);
    if (integer >= INT64_MIN && integer <= UINT64_MAX) return integer;
  }
  return new JsonFloat(Number(token));
}
