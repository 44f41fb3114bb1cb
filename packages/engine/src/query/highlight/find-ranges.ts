/**
 * Where documents have what is sought, in UTF-16 units. Of each clause the first matches count, as many as a document
 * may have highlights, found from left to right and none within another one of its clause.
 */
import { LIMITS, mergeRanges, sourceBit } from "@sheaf/protocol";
import type { Regex } from "../regex/regex-module.ts";
import type { SoughtClause } from "./sought-clauses.ts";

/** Matches of a pattern that are looked for, the empty ones too, which show nothing: each look copies the document. */
const TRIES = 16 * LIMITS.highlights;

/** Compiles a pattern that is known to compile. */
export type Compile = (pattern: string) => Regex;

/** By document, ranges as of `mergeRanges`. `documents`: UTF-8. */
export function findRanges(
  documents: readonly Uint8Array[],
  clauses: readonly SoughtClause[],
  compile: Compile,
): readonly Uint32Array[] {
  const found = documents.map((utf8) => ({
    bytes: Buffer.from(utf8.buffer, utf8.byteOffset, utf8.byteLength),
    text: null as string | null,
    ranges: [] as number[],
  }));
  // Clause after clause: many large expressions do not stay compiled side by side.
  for (const { by, text } of clauses) {
    const regex = by === "$regex" ? compile(text) : null;
    for (const document of found) {
      const { bytes, ranges } = document;
      if (regex === null) addTexts((document.text ??= bytes.toString("utf8")), text, ranges);
      else addMatches(bytes, regex, ranges);
    }
  }
  return found.map(({ ranges }) => mergeRanges(ranges, LIMITS.highlights));
}

function addTexts(text: string, sought: string, into: number[]): void {
  let start = text.indexOf(sought);
  for (let count = 0; start !== -1 && count < LIMITS.highlights; count++) {
    const end = start + sought.length;
    into.push(start, end, sourceBit("$contains"));
    start = text.indexOf(sought, end);
  }
}

function addMatches(bytes: Buffer, regex: Regex, into: number[]): void {
  /** The same place in bytes and in UTF-16 units. */
  let place = 0;
  let units = 0;
  const unitsAt = (at: number): number => {
    units += bytes.toString("utf8", place, at).length;
    place = at;
    return units;
  };
  let from = 0;
  let count = 0;
  for (let tries = 0; tries < TRIES && count < LIMITS.highlights && from <= bytes.length; tries++) {
    const match = regex.findAt(bytes, from);
    if (match === null) return;
    const { start, end } = match;
    if (end > start) {
      into.push(unitsAt(start), unitsAt(end), sourceBit("$regex"));
      count++;
    }
    from = end > from ? end : nextCharacter(bytes, from);
  }
}

/** An empty match would be found again and again. */
function nextCharacter(bytes: Buffer, at: number): number {
  let next = at + 1;
  while (next < bytes.length && (bytes[next]! & 0xc0) === 0x80) next++;
  return next;
}
