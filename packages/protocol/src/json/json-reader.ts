/**
 * Reads a request body without losing what JavaScript's numbers cannot hold. One pass over the bytes refuses what
 * is too deep or too large before anything is built, and looks for number tokens that `JSON.parse` would change.
 * Bodies without one go straight to `JSON.parse`; the others take the lossless path of json-reader-lossless.ts.
 */
import { SheafError, unprocessable } from "../errors.ts";
import { Edits, parseLossless } from "./json-reader-lossless.ts";
import { findRepeatedMember, hasMembers } from "./json-reader-repeats.ts";
import { scanJson } from "./json-reader-scan.ts";
import { findSyntaxFault } from "./json-reader-syntax.ts";
import { VectorReader } from "./json-reader-vectors.ts";
import type { Refuse } from "./json-shape.ts";

export { JsonFloat } from "./json-float.ts";

const LINE_FEED = 0x0a;
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * The value of a UTF-8 JSON text, ready for the parsers of this package.
 *
 * - An integer literal within ±(2^53-1) is a `number` for which `Number.isInteger` holds.
 * - An integer literal outside, but within -2^63..2^64-1, is a `bigint`.
 * - A float literal with a whole value is a `JsonFloat`, and so is an integer literal beyond 64 bits.
 * - Any other float literal is a `number`.
 * - In a body of 64 KiB or more, a long list of integers or of floats may be a typed array (json-reader-numbers.ts); `itemsOf`
 *   gives it as the list that it is in a small one.
 *
 * Objects are plain; a member `__proto__` is ordinary data of its object.
 *
 * @throws SheafError 400 for text that is not JSON (with the position), not UTF-8, deeper than `LIMITS.jsonDepth`,
 * of more values than `LIMITS.jsonNodes`, with more than `LIMITS.jsonMembers` members in one object, or with a number beyond float64; what `refuse` makes, 422 unless it is another,
 * for a member that stands twice in one object (with its path).
 */
export function readJson(bytes: Uint8Array, refuse: Refuse = unprocessable): unknown {
  return read(bytes, new Edits(VectorReader.for(bytes, { vectors: false })), refuse);
}

/**
 * As `readJson`, for a body with dense vectors in it: those that json-reader-vectors.ts finds come as `Float32Array`. A list
 * that is no vector, or a short one, comes as `readJson` gives it.
 */
export function readJsonWithVectors(bytes: Uint8Array, refuse: Refuse = unprocessable): unknown {
  return read(bytes, new Edits(VectorReader.for(bytes, { vectors: true })), refuse);
}

function read(bytes: Uint8Array, edits: Edits, refuse: Refuse): unknown {
  const members = scanJson(bytes, edits);
  const value = parse(bytes, edits);
  if (hasMembers(value, members)) return value;
  throw refuse(findRepeatedMember(bytes) ?? "", "is given twice");
}

function parse(bytes: Uint8Array, edits: Edits): unknown {
  try {
    return edits.none ? JSON.parse(decode(bytes)) : parseLossless(bytes, edits, decode);
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    throw new SheafError("invalid_argument", describeFault(bytes), { cause });
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch (cause) {
    const message = "Failed to parse the request body as JSON: not valid UTF-8";
    throw new SheafError("invalid_argument", message, { cause });
  }
}

function describeFault(bytes: Uint8Array): string {
  const { offset, problem } = findSyntaxFault(bytes);
  let line = 1;
  let lineStart = 0;
  for (
    let end = bytes.indexOf(LINE_FEED);
    end !== -1 && end < offset;
    end = bytes.indexOf(LINE_FEED, end + 1)
  ) {
    line += 1;
    lineStart = end + 1;
  }
  const position = `line ${line} column ${offset - lineStart + 1}`;
  return `Failed to parse the request body as JSON: ${problem} at ${position} (byte ${offset})`;
}
