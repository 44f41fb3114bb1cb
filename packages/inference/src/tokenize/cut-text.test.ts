import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { firstBytes, firstCharacters, lastCharacters } from "./cut-text.ts";

const texts = fc.string({ unit: "grapheme", maxLength: 60 });
const counts = fc.integer({ min: 1, max: 80 });

function codePointAt(text: string, position: number): string {
  const codePoint = text.codePointAt(position);
  return codePoint === undefined ? "" : String.fromCodePoint(codePoint);
}

describe("cutting a text", () => {
  it("leaves a text within the bound alone", () => {
    expect(firstCharacters("abc", 3)).toBe("abc");
    expect(lastCharacters("abc", 3)).toBe("abc");
    expect(firstBytes("äb", 3)).toBe("äb");
  });

  it("never begins inside a code point", () => {
    expect(lastCharacters("a👩b", 2)).toBe("b");
    expect(lastCharacters("a👩b", 3)).toBe("👩b");
    expect(lastCharacters("a👩b", 0)).toBe("");
  });

  it("never ends inside a code point", () => {
    expect(firstCharacters("a👩b", 2)).toBe("a");
    expect(firstCharacters("a👩b", 3)).toBe("a👩");
    expect(firstBytes("aä€👩", 9)).toBe("aä€");
    expect(firstBytes("aä€👩", 2)).toBe("a");
  });

  it("keeps the longest start within the bound", () => {
    fc.assert(
      fc.property(texts, counts, (text, count) => {
        const byCharacters = firstCharacters(text, count);
        const byBytes = firstBytes(text, count);
        expect(text.startsWith(byCharacters) && byCharacters.length <= count).toBe(true);
        expect(text.startsWith(byBytes) && Buffer.byteLength(byBytes) <= count).toBe(true);
        // Throws for half a surrogate pair.
        expect(decodeURIComponent(encodeURIComponent(byCharacters + byBytes))).toBe(byCharacters + byBytes);
        const nextCharacter = codePointAt(text, byCharacters.length);
        const nextByte = codePointAt(text, byBytes.length);
        expect(byCharacters === text || byCharacters.length + nextCharacter.length > count).toBe(true);
        expect(byBytes === text || Buffer.byteLength(byBytes + nextByte) > count).toBe(true);
      }),
    );
  });
});
