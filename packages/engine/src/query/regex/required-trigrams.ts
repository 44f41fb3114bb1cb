/**
 * The trigrams that every match of a regular expression has, as a query of the trigram index: after Russ Cox, "Regular
 * Expression Matching with a Trigram Index". It reads the expression as Rust's own parser understood it, so that
 * flags, classes and case folding are not interpreted twice: `(?i)s` arrives as the class of s, S and the long s.
 *
 * Of each part is known either every text that it matches (`exact`) or how these begin and end, and what a document
 * must have beside. All texts are folded as the index folds them.
 */
import type { Class, Hir, Repetition } from "rregex";
import {
  type TrigramQuery,
  EVERY_DOCUMENT,
  both,
  containing,
  either,
} from "../../segment/trigrams/trigram-query.ts";
import { foldUnit } from "../../segment/trigrams/trigrams.ts";

/** Texts in a set; longer sets become "anything". */
const MAX_TEXTS = 16;
/** Of a class, before they are folded. */
const MAX_MEMBERS = 4 * MAX_TEXTS;
/** Of longer texts the trigrams are kept and the ends, which make trigrams with what stands beside. */
const MAX_TEXT_LENGTH = 64;
const END_UNITS = 2;
/** Copies that a counted repetition is taken for. */
const MAX_COPIES = 4;

interface Part {
  /** `null`: too many to list. */
  readonly exact: readonly string[] | null;
  /** Every matched text begins with one of them; as `suffixes`, of use without `exact` only. */
  readonly prefixes: readonly string[];
  readonly suffixes: readonly string[];
  readonly query: TrigramQuery;
}

const EMPTY: Part = exactly([""]);
const ANYTHING: Part = { exact: null, prefixes: [""], suffixes: [""], query: EVERY_DOCUMENT };

export function requiredTrigrams(expression: Hir): TrigramQuery {
  return inexact(partOf(expression)).query;
}

function partOf({ kind }: Hir): Part {
  switch (kind["@variant"]) {
    case "Empty":
    case "Look":
      return EMPTY;
    case "Literal":
      return exactly([Buffer.from(kind["@values"][0]["@values"][0]).toString("utf8")]);
    case "Class":
      return classOf(kind["@values"][0]);
    case "Capture":
      return partOf(kind["@values"][0].sub);
    case "Repetition":
      return repetitionOf(kind["@values"][0]);
    case "Concat":
      return kind["@values"][0].map(partOf).reduce(concatenation, EMPTY);
    case "Alternation":
      break;
  }
  return alternation(kind["@values"][0].map(partOf));
}

/** The members as long as they are few once they are folded. */
function classOf(members: Class): Part {
  // A class of bytes is rare, and bytes from 128 up are parts of characters.
  if (members["@variant"] !== "Unicode") return ANYTHING;
  const { ranges } = members["@values"][0];
  const count = ranges.reduce((sum, { len }) => sum + len, 0);
  if (count === 0 || count > MAX_MEMBERS || ranges.some(spansSurrogates)) return ANYTHING;
  return exactly(
    ranges.flatMap(({ start, len }) =>
      Array.from({ length: len }, (_, i) => String.fromCodePoint(start.codePointAt(0)! + i)),
    ),
  );
}

/** Between its first and its last are numbers that are no characters. */
function spansSurrogates({ start, end }: { readonly start: string; readonly end: string }): boolean {
  return start < "\ud800" && end > "\udfff" && start.length === 1 && end.length === 1;
}

function repetitionOf({ min, max, sub }: Repetition): Part {
  const part = partOf(sub);
  if (min === 0) return max === 1 ? alternation([part, EMPTY]) : ANYTHING;
  const copies = Math.min(min, MAX_COPIES);
  const least = Array.from({ length: copies }, () => part).reduce(concatenation, EMPTY);
  // What is repeated more often still begins and ends with the copies.
  return copies === max ? least : inexact(least);
}

function concatenation(left: Part, right: Part): Part {
  const joined = left.exact === null || right.exact === null ? null : cross(left.exact, right.exact);
  if (joined !== null) return exactly(joined);
  const [before, after] = [inexact(left), inexact(right)];
  const prefixes = left.exact === null ? null : cross(left.exact, after.prefixes);
  const suffixes = right.exact === null ? null : cross(before.suffixes, right.exact);
  const parts = [];
  if (prefixes === null) parts.push(before.query);
  if (suffixes === null) parts.push(after.query);
  // Else the trigrams across the border are in one of these.
  if (prefixes === null && suffixes === null) {
    parts.push(oneOf(cross(before.suffixes, after.prefixes) ?? [""]));
  }
  return shortened({
    exact: null,
    prefixes: prefixes ?? before.prefixes,
    suffixes: suffixes ?? after.suffixes,
    query: parts.reduce(both, EVERY_DOCUMENT),
  });
}

function alternation(parts: readonly Part[]): Part {
  if (parts.length === 0) return ANYTHING;
  const texts = parts.flatMap(({ exact }) => exact ?? []);
  if (parts.every(({ exact }) => exact !== null) && new Set(texts).size <= MAX_TEXTS) return exactly(texts);
  const all = parts.map(inexact);
  return shortened({
    exact: null,
    prefixes: all.flatMap(({ prefixes }) => prefixes),
    suffixes: all.flatMap(({ suffixes }) => suffixes),
    query: either(all.map(({ query }) => query)),
  });
}

/** Too many or too long texts are known by their ends alone. */
function exactly(texts: readonly string[]): Part {
  const exact = [...new Set(texts.map(folded))];
  const part: Part = { exact, prefixes: exact, suffixes: exact, query: EVERY_DOCUMENT };
  const isListed = exact.length <= MAX_TEXTS && exact.every(({ length }) => length <= MAX_TEXT_LENGTH);
  return isListed ? part : inexact(part);
}

function inexact(part: Part): Part {
  return part.exact === null ? part : shortened(part);
}

/** The trigrams of longer beginnings and ends go into the query. */
function shortened({ prefixes, suffixes, query }: Part): Part {
  const sets = prefixes === suffixes ? [prefixes] : [prefixes, suffixes];
  return {
    exact: null,
    prefixes: ends(prefixes, (text, units) => text.slice(0, units)),
    suffixes: ends(suffixes, (text, units) => text.slice(Math.max(0, text.length - units))),
    query: sets.reduce((sum, texts) => both(sum, oneOf(texts)), query),
  };
}

function ends(texts: readonly string[], cut: (text: string, units: number) => string): readonly string[] {
  for (let units = END_UNITS; units > 0; units--) {
    const set = new Set(texts.map((text) => cut(text, units)));
    if (set.size <= MAX_TEXTS) return [...set];
  }
  return [""];
}

function oneOf(texts: readonly string[]): TrigramQuery {
  return texts.some(({ length }) => length < 3) ? EVERY_DOCUMENT : either(texts.map(containing));
}

/** `null`: too many. */
function cross(left: readonly string[], right: readonly string[]): readonly string[] | null {
  if (left.length * right.length > MAX_TEXTS) return null;
  return [...new Set(left.flatMap((before) => right.map((after) => before + after)))];
}

function folded(text: string): string {
  return String.fromCharCode(...Array.from({ length: text.length }, (_, i) => foldUnit(text.charCodeAt(i))));
}
