import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type NormalForm, normalizeLinearly } from "./linear-normalization.ts";

const FORMS: readonly NormalForm[] = ["NFC", "NFD", "NFKC", "NFKD"];
/** Of every plane that has any, and the letters that become marks. */
const MARKS = Array.from({ length: 0x20000 }, (_, code) => code)
  .filter((code) => code < 0xd800 || code > 0xdfff)
  .map((code) => String.fromCodePoint(code))
  .filter((character) => /[\p{M}\uff9e\uff9f]/u.test(character));
const mark = fc.constantFrom(...MARKS);
const few = fc.array(mark, { minLength: 1, maxLength: 6 });
/** Long runs of a few kinds or of many, at any base. */
const run = fc.oneof(
  fc.array(mark, { minLength: 60, maxLength: 200 }),
  few.chain((kinds) => fc.array(fc.constantFrom(...kinds), { minLength: 60, maxLength: 200 })),
);
const base = fc.constantFrom("", "a", "é", "\u1ea5", "中", "각", "か", "\ud83d", "ﾊ");

describe("normalizeLinearly", () => {
  it("equals the normal form of any text", () => {
    const part = fc.tuple(base, run).map(([start, marks]) => start + marks.join(""));
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 3 }), (parts) => {
        const text = parts.join("");
        for (const form of FORMS) expect(normalizeLinearly(text, form) === text.normalize(form)).toBe(true);
      }),
    );
  });

  it("finds every run: nothing but a mark is moved", () => {
    const moved: string[] = [];
    for (let code = 0; code < 0x20000; code++) {
      const character = String.fromCodePoint(code);
      if (/[\p{M}\uff9e\uff9f\p{Cs}]/u.test(character)) continue;
      const [first] = character.normalize("NFKD");
      const swapped = `${first as string}\u0334`.normalize("NFD").startsWith("\u0334");
      if (swapped) moved.push(character);
    }
    expect(moved).toEqual([]);
  });

  // The deadline tells seconds from minutes.
  it("does not take the square of a run's length", { timeout: 30_000 }, () => {
    const text = `e${"\u0301\u0316".repeat(150_000)}`;
    expect(normalizeLinearly(text, "NFD")).toBe(`e${"\u0316".repeat(150_000)}${"\u0301".repeat(150_000)}`);
    expect(normalizeLinearly(text, "NFC")).toHaveLength(300_000);
  });
});
