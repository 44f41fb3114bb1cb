/**
 * The part of a document that is shown with its highlights: about the most of them that lie close together, the first of
 * those where several places have as many; the beginning of a document without any.
 */
import type { Snippet } from "@sheaf/protocol";

/** A border of words is looked for as far as this from where the length would cut; in a longer word, the cut stays there. */
const WORD_UNITS = 32;

/** In UTF-16 units of the document. */
export interface Window {
  readonly start: number;
  readonly end: number;
}

/** What a snippet of so many units is to show. `ranges`: as of `mergeRanges`. */
export function shownRanges(ranges: Uint32Array, length: number): Window {
  let best: Window = { start: 0, end: 0 };
  let most = 0;
  for (let first = 0, last = 0; first < ranges.length; first += 3) {
    const start = ranges[first]!;
    last = Math.max(last, first);
    while (last + 3 < ranges.length && ranges[last + 4]! - start <= length) last += 3;
    const count = (last - first) / 3 + 1;
    if (count > most) {
      most = count;
      best = { start, end: Math.min(ranges[last + 1]!, start + length) };
    }
  }
  return best;
}

/**
 * @param text The document, or what of it lies around `shown`: `length` units on both sides, as far as there are so many.
 * @param start Where `text` begins in the document.
 */
export function snippetOf(
  text: string,
  { start, shown, ranges, length }: { start: number; shown: Window; ranges: Uint32Array; length: number },
): Snippet {
  const from = shown.start - start;
  const to = shown.end - start;
  const room = length - (to - from);
  const left = Math.max(0, Math.min(from - Math.floor(room / 2), text.length - length));
  const begin = wordStart(text, left, from);
  const end = wordEnd(text, Math.min(text.length, begin + length), Math.max(to, begin));
  return {
    text: text.slice(begin, end),
    start: start + begin,
    ranges: rangesIn(ranges, start + begin, start + end),
  };
}

/** From `at` on, the first place up to `most` where a word begins. */
function wordStart(text: string, at: number, most: number): number {
  for (let place = at; place <= Math.min(most, at + WORD_UNITS); place++)
    if (place === 0 || (isSpace(text, place - 1) && !isSpace(text, place))) return place;
  const isOver = most <= at + WORD_UNITS;
  return isOver ? most : wholeCharacter(text, at, 1);
}

/** Up to `at`, the last place from `least` on where a word ends. */
function wordEnd(text: string, at: number, least: number): number {
  for (let place = at; place >= Math.max(least, at - WORD_UNITS); place--)
    if ((place === text.length || isSpace(text, place)) && !isSpace(text, place - 1)) return place;
  const isOver = least >= at - WORD_UNITS && least > 0;
  return wholeCharacter(text, isOver ? least : at, -1);
}

/** The same place, or the one before or behind it where it lies in a pair of surrogates. */
function wholeCharacter(text: string, at: number, step: 1 | -1): number {
  return (text.codePointAt(at - 1) ?? 0) > 0xffff ? at + step : at;
}

function isSpace(text: string, at: number): boolean {
  return /\s/u.test(text.charAt(at));
}

/** The ranges that lie between two places, cut to them and relative to the first. */
function rangesIn(ranges: Uint32Array, start: number, end: number): Uint32Array {
  const inside: number[] = [];
  for (let i = 0; i < ranges.length; i += 3) {
    const from = Math.max(ranges[i]!, start);
    const to = Math.min(ranges[i + 1]!, end);
    if (from < to) inside.push(from - start, to - start, ranges[i + 2]!);
  }
  return Uint32Array.from(inside);
}
