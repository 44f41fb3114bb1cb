import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mergeRanges } from "@sheaf/protocol";
import { shownRanges, snippetOf } from "./snippet.ts";

function snippet(text: string, places: readonly (readonly [number, number])[], length: number) {
  const ranges = mergeRanges(
    places.flatMap(([start, end]) => [start, end, 1]),
    64,
  );
  return snippetOf(text, { start: 0, shown: shownRanges(ranges, length), ranges, length });
}

/** Where `words` stand in a text. */
function placesOf(text: string, ...words: readonly string[]): (readonly [number, number])[] {
  return words.map((word) => [text.indexOf(word), text.indexOf(word) + word.length]);
}

const TEXT = "Ships wait for the tide. A tide table says when the tide turns, and ships leave with the ebb.";

describe("snippetOf", () => {
  it("shows the place with the most highlights, and words around it", () => {
    const places = placesOf(TEXT, "Ships", "turns", "leave");
    expect(snippet(TEXT, places, 48)).toEqual({
      text: "the tide turns, and ships leave with the ebb.",
      start: 48,
      ranges: Uint32Array.of(9, 14, 1, 26, 31, 1),
    });
    // The first of those that have as many.
    expect(snippet(TEXT, places, 16)).toEqual({
      text: "Ships wait for",
      start: 0,
      ranges: Uint32Array.of(0, 5, 1),
    });
  });

  it("is the beginning of a document without highlights, and all of a short one", () => {
    expect(snippet(TEXT, [], 20)).toMatchObject({ text: "Ships wait for the", start: 0 });
    expect(snippet("tide", placesOf("tide", "tide"), 20)).toMatchObject({ text: "tide", start: 0 });
    expect(snippet("", [], 20)).toMatchObject({ text: "", start: 0 });
  });

  it("cuts a highlight that is longer than itself", () => {
    expect(snippet(TEXT, [[6, 60]], 8)).toEqual({
      text: TEXT.slice(6, 14),
      start: 6,
      ranges: Uint32Array.of(0, 8, 1),
    });
  });

  it("is never too long, has whole characters, and knows where its highlights are", () => {
    const unit = fc.constantFrom("a", "b", " ", "\n", "😀", "\u4e2d", "word ");
    const place = fc.tuple(fc.nat(200), fc.nat(12));
    fc.assert(
      fc.property(
        fc.string({ unit, maxLength: 200 }),
        fc.array(place, { maxLength: 8 }),
        fc.integer({ min: 1, max: 60 }),
        (text, drawn, length) => {
          const atCharacter = (at: number): number => (/^[\udc00-\udfff]/.test(text.slice(at)) ? at + 1 : at);
          const places = drawn
            .map(([start, size]) => [atCharacter(start), atCharacter(start + size)] as const)
            .filter(([, end]) => end <= text.length);
          const { text: shown, start, ranges } = snippet(text, places, length);
          expect(shown.length).toBeLessThanOrEqual(length);
          expect(text.slice(start, start + shown.length)).toBe(shown);
          expect(Buffer.from(shown).toString()).toBe(shown);
          const isMarked = (at: number): boolean => places.some(([from, to]) => at >= from && at < to);
          const marked = new Set<number>();
          for (let i = 0; i < ranges.length; i += 3)
            for (let at = ranges[i]!; at < ranges[i + 1]!; at++) marked.add(at);
          for (let at = 0; at < shown.length; at++) expect(marked.has(at)).toBe(isMarked(start + at));
          if (places.some(([from, to]) => from < to) && length > 1) expect(marked.size).toBeGreaterThan(0);
        },
      ),
      { numRuns: 500 },
    );
  });

  it("cuts between words where there are any", () => {
    const words = Array.from({ length: 60 }, (_, i) => `word${i}`);
    const text = words.join(" ");
    fc.assert(
      fc.property(fc.constantFrom(...words), fc.integer({ min: 12, max: 150 }), (word, length) => {
        const at = text.search(new RegExp(`${word}\\b`));
        const { text: shown, ranges } = snippet(text, [[at, at + word.length]], length);
        for (const part of shown.split(" ")) expect(words).toContain(part);
        expect(shown.slice(ranges[0], ranges[1])).toBe(word);
      }),
    );
  });
});
