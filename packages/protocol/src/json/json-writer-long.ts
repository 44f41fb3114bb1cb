/**
 * JSON of what may be many MiB, in pieces that are each written within some milliseconds: documents, and metadata with
 * long strings or arrays.
 */
import { writeMetadata, writeMetadataValue } from "./json-writer.ts";
import { type Metadata, type MetadataValue, isSparseVector } from "../metadata.ts";
import { isIntegerArray } from "../integer-array.ts";
import { type DocumentText, documentPieces } from "../records/document-text.ts";

const PIECE_CHARACTERS = 256 * 1024;
const PIECE_NUMBERS = 16 * 1024;
/** About what one key, and one number of an array, take. */
const KEY_CHARACTERS = 32;
const NUMBER_CHARACTERS = 8;

/** About as many as its JSON has. */
export function metadataCharacters(metadata: Metadata): number {
  let characters = 0;
  for (const value of metadata.values()) characters += KEY_CHARACTERS + valueCharacters(value);
  return characters;
}

function valueCharacters(value: MetadataValue): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object") return 0;
  if (isSparseVector(value)) return 3 * NUMBER_CHARACTERS * value.indices.length;
  if (isIntegerArray(value) || value instanceof Float64Array) return NUMBER_CHARACTERS * value.length;
  let characters = 0;
  for (const member of value) characters += typeof member === "string" ? member.length : NUMBER_CHARACTERS;
  return characters;
}

/** A text, or `null`. */
export function* writeLongString(text: DocumentText | null): Generator<string> {
  if (text !== null && typeof text !== "string") {
    yield '"';
    for (const piece of documentPieces(text)) yield JSON.stringify(piece).slice(1, -1);
    yield '"';
    return;
  }
  if (text === null || text.length <= PIECE_CHARACTERS) {
    yield JSON.stringify(text);
    return;
  }
  let quote = '"';
  for (let from = 0; from < text.length;) {
    const end = pieceEnd(text, from);
    yield quote + JSON.stringify(text.slice(from, end)).slice(1, -1);
    quote = "";
    from = end;
  }
  yield '"';
}

/** As `writeMetadata`. */
export function* writeLongMetadata(
  metadata: Metadata | null,
  keep: (key: string) => boolean,
): Generator<string> {
  if (metadata === null || metadataCharacters(metadata) <= PIECE_CHARACTERS) {
    yield writeMetadata(metadata, keep);
    return;
  }
  let before = "{";
  for (const [key, value] of metadata) {
    if (!keep(key)) continue;
    yield `${before}${JSON.stringify(key)}:`;
    yield* longValue(value);
    before = ",";
  }
  yield before === "{" ? "null" : "}";
}

function* longValue(value: MetadataValue): Generator<string> {
  if (typeof value === "string") yield* writeLongString(value);
  else if (typeof value !== "object" || isSparseVector(value)) yield writeMetadataValue(value);
  else if (value.length <= PIECE_NUMBERS) yield writeMetadataValue(value);
  else {
    let bracket = "[";
    for (let from = 0; from < value.length; from += PIECE_NUMBERS) {
      const part = value.slice(from, from + PIECE_NUMBERS);
      yield bracket + writeMetadataValue(part).slice(1, -1);
      bracket = ",";
    }
    yield "]";
  }
}

/** Never between the halves of a character: each would be escaped by itself. */
export function pieceEnd(text: string, from: number): number {
  const end = from + PIECE_CHARACTERS;
  if (end >= text.length) return text.length;
  const last = text.charCodeAt(end - 1);
  return last >= 0xd800 && last <= 0xdbff ? end + 1 : end;
}
