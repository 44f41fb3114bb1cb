import { describe, expect, it } from "vitest";
import { excerpt } from "./excerpt.ts";

const shown = (text: string, ...places: readonly (readonly [number, number])[]): string =>
  excerpt(
    text,
    places.map(([start, end]) => ({ start, end })),
  )
    .map((piece) => (piece.matches ? `[${piece.text}]` : piece.text))
    .join("");

describe("what is shown of a document", () => {
  it("is all of a short one, with its matches", () => {
    expect(shown("ships at sea", [0, 5], [9, 12])).toBe("[ships] at [sea]");
    expect(shown("ships at sea")).toBe("ships at sea");
    expect(shown("")).toBe("");
  });

  it("is the beginning of a long one, or what is around its first match", () => {
    const text = `${"a".repeat(3_000)}ships${"b".repeat(3_000)}`;
    expect(shown(text)).toBe(`${"a".repeat(600)}…`);
    expect(shown(text, [0, 1], [3_000, 3_005])).toBe(`[a]${"a".repeat(599)}…`);
    expect(shown(text, [3_000, 3_005])).toBe(`…${"a".repeat(200)}[ships]${"b".repeat(395)}…`);
  });
});
