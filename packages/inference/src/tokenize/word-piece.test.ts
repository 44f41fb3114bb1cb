import { Tokenizer } from "@huggingface/tokenizers";
import * as fc from "fast-check";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { useBoundedWordPiece } from "./word-piece.ts";

const folder = dirname(createRequire(import.meta.url).resolve("@sheaf/model-minilm/package.json"));
const parsed = (file: string): object => JSON.parse(readFileSync(join(folder, file), "utf8")) as object;
const create = (): Tokenizer => new Tokenizer(parsed("tokenizer.json"), parsed("tokenizer_config.json"));
const library = create();
const bounded = create();
useBoundedWordPiece(bounded);

const letters = fc.array(fc.constantFrom(..."aeionstrghlé中α#z".split(""), "🙂", "\ud83d"), {
  minLength: 1,
  maxLength: 12,
});
const syllables = fc.array(fc.constantFrom("ation", "un", "ing", "able", "er", "s"), { maxLength: 20 });
const words = fc.array(fc.oneof(letters, syllables), { maxLength: 8 });

describe("useBoundedWordPiece", () => {
  it("gives the pieces that the library gives", () => {
    fc.assert(
      fc.property(words, (parts) => {
        const text = parts.map((part) => part.join("")).join(" ");
        expect(bounded.tokenize(text)).toEqual(library.tokenize(text));
      }),
      { numRuns: 300 },
    );
    for (const count of [99, 100, 101]) {
      const word = "z".repeat(count);
      expect(bounded.tokenize(word)).toEqual(library.tokenize(word));
    }
  });

  // The deadline tells seconds from minutes.
  it("does not try lengths that no piece has", { timeout: 30_000 }, () => {
    const text = `${"zxqjkzvbxqj".repeat(9)} `.repeat(8_000);
    expect(bounded.tokenize(text).length).toBe(8_000 * bounded.tokenize(text.slice(0, 100)).length);
  });
});
