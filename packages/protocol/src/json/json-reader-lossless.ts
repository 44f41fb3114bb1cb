/**
 * Parses a body in which some number tokens would not survive `JSON.parse`: those tokens are rewritten into marked
 * strings (`3.0` -> `"<DEL>3.0"`), `JSON.parse` reads the result at native speed, and one walk turns marked strings
 * into `JsonFloat` and `bigint`. A caller's own string that begins with the mark gets a second one in front and
 * loses it again in the walk, so no text a caller can send is mistaken for a number. Vectors that were read from the
 * bytes are put in by the same walk (`[0.1, …]` -> `"<DEL>[0"`), which spares `JSON.parse` most of the text.
 */
import { JsonFloat } from "./json-float.ts";
import { MARK, type ScanListener, scanJson } from "./json-reader-scan.ts";
import type { VectorReader } from "./json-reader-vectors.ts";

const QUOTE = 0x22;
/** An opening bracket, after the mark. */
const VECTOR = 0x5b;
/** The longest integer literal that can lie within -2^63..2^64-1, sign included. */
const INTEGER_CHARACTERS = 20;
const INT64_MIN = -(2n ** 63n);
const UINT64_MAX = 2n ** 64n - 1n;
/** A stretch shorter than this is copied faster byte by byte than by a call. */
const SHORT_COPY_BYTES = 64;
/** Distinct numbers that share one object; a body of a million `0.0` then holds one. */
const SHARED_NUMBERS = 1024;

type Numbers = Map<string, JsonFloat | bigint>;

/** What a text needs before `JSON.parse`, as the scan of it finds; pass it to `scanJson`. */
export class Edits implements ScanListener {
  readonly vectors: VectorReader | null;
  marks = 0;
  /** By which the edited text is longer; negative where it is shorter. */
  extraBytes = 0;

  constructor(vectors: VectorReader | null) {
    this.vectors = vectors;
  }

  readonly onMark = (start: number, end: number): void => {
    // The mark, and quotes around a number.
    this.extraBytes += start === end ? 1 : 3;
    this.marks += 1;
  };

  readonly onVector = (start: number, end: number): void => {
    this.extraBytes += vectorToken((this.vectors?.vectors.length ?? 0) - 1).length - (end - start);
  };

  /** Whether `JSON.parse` would give the value of the text as it is. */
  get none(): boolean {
    return this.marks === 0 && (this.vectors === null || this.vectors.vectors.length === 0);
  }
}

/**
 * As `readJson`, of bytes that `scanJson` has passed with these `edits`.
 *
 * @param decode Strict UTF-8; only what is left of the bytes is decoded, and vectors are ASCII.
 * @throws SyntaxError if the text is not JSON; its position is that of the rewritten text.
 */
export function parseLossless(
  bytes: Uint8Array,
  edits: Edits,
  decode: (bytes: Uint8Array) => string,
): unknown {
  const marked: unknown = JSON.parse(decode(rewrite(bytes, edits)));
  return restore(marked, { numbers: new Map(), vectors: edits.vectors?.vectors ?? [] });
}

/** What stands for a vector: no number begins with a bracket. */
function vectorToken(index: number): string {
  return `"${String.fromCharCode(MARK, VECTOR)}${index}"`;
}

function rewrite(bytes: Uint8Array, edits: Edits): Uint8Array {
  const copy = new Copy(bytes, new Uint8Array(bytes.length + edits.extraBytes));
  const { vectors, marks } = edits;
  // Where the vectors lie is known; all marks could be more than there is room to remember.
  if (marks === 0 && vectors !== null)
    vectors.starts.forEach((start, index) => copy.vector(start, vectors.ends[index]! + 1));
  else {
    vectors?.rewind();
    scanJson(bytes, {
      vectors,
      onMark: (start, end) => copy.mark(start, end),
      onVector: (start, end) => copy.vector(start, end),
    });
  }
  copy.until(bytes.length);
  return copy.out;
}

/** The text with its edits, written from front to back. */
class Copy {
  readonly out: Uint8Array;
  readonly #bytes: Uint8Array;
  #from = 0;
  #to = 0;
  #vectors = 0;

  constructor(bytes: Uint8Array, out: Uint8Array) {
    this.#bytes = bytes;
    this.out = out;
  }

  until(end: number): void {
    const from = this.#from;
    const to = this.#to;
    if (end - from < SHORT_COPY_BYTES) {
      for (let at = from; at < end; at += 1) this.out[to + at - from] = this.#bytes[at]!;
    } else {
      this.out.set(this.#bytes.subarray(from, end), to);
    }
    this.#to = to + end - from;
    this.#from = end;
  }

  mark(start: number, end: number): void {
    this.until(start);
    if (start !== end) this.out[this.#to++] = QUOTE;
    this.out[this.#to++] = MARK;
    if (start === end) return;
    this.until(end);
    this.out[this.#to++] = QUOTE;
  }

  vector(start: number, end: number): void {
    this.until(start);
    const token = vectorToken(this.#vectors++);
    for (let i = 0; i < token.length; i += 1) this.out[this.#to++] = token.charCodeAt(i);
    this.#from = end;
  }
}

interface Originals {
  /** Filled as they are met. */
  readonly numbers: Numbers;
  readonly vectors: readonly ArrayBufferView[];
}

/** Replaces in place; the tree is ours and at most `LIMITS.jsonDepth` deep. */
function restore(value: unknown, originals: Originals): unknown {
  if (typeof value === "string") return isMarked(value) ? unmark(value, originals) : value;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items: unknown[] = value;
    for (let index = 0; index < items.length; index += 1) {
      const item = items[index];
      if (typeof item === "string" || typeof item === "object") items[index] = restore(item, originals);
    }
    return items;
  }
  const members = value as Record<string, unknown>;
  const keys = Object.keys(members);
  for (const key of keys) members[key] = restore(members[key], originals);
  if (!keys.some(isMarked)) return members;
  return Object.fromEntries(Object.entries(members).map(([key, member]) => [unmarkKey(key), member]));
}

function isMarked(text: string): boolean {
  return text.charCodeAt(0) === MARK;
}

function unmark(text: string, { numbers, vectors }: Originals): unknown {
  if (text.charCodeAt(1) === VECTOR) return vectors[Number(text.slice(2))];
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
