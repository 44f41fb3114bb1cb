import { describe, expect, it } from "vitest";
import { documentPieces, fromDocumentText, isLongDocument, toDocumentText } from "./document-text.ts";

const LONG = 64 * 1024;

describe("documents", () => {
  it("are text up to a length in UTF-8, and bytes beyond", () => {
    expect(toDocumentText("a".repeat(LONG))).toBe("a".repeat(LONG));
    expect(toDocumentText("ü".repeat(LONG / 2))).toBe("ü".repeat(LONG / 2));
    for (const text of [`${"a".repeat(LONG)}b`, `${"ü".repeat(LONG / 2)}b`, "€".repeat(LONG)]) {
      const document = toDocumentText(text);
      expect(document).toEqual(new TextEncoder().encode(text));
      expect(isLongDocument(document.length)).toBe(true);
      expect(fromDocumentText(document)).toBe(text);
    }
  });

  it.each(["a", "ü", "€", "🙂", "\ufeff", "a🙂€ü"])("are cut between characters: %s", (character) => {
    for (const start of ["", "x", "xx", "xxx"]) {
      const text = start + character.repeat(2 * LONG);
      const pieces = [...documentPieces(new TextEncoder().encode(text))];
      expect(pieces.length).toBeGreaterThan(1);
      expect(pieces.join("") === text).toBe(true);
      expect(pieces.some((piece) => piece.includes("\ufffd"))).toBe(false);
    }
  });
});
