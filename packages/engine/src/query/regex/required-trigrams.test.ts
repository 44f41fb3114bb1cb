import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type TrigramQuery, EVERY_DOCUMENT } from "../../segment/trigrams/trigram-query.ts";
import { TrigramSignatures } from "../../segment/trigrams/trigram-signatures.ts";
import { trigramsOf } from "../../segment/trigrams/trigrams.ts";
import { RegexInstance } from "./regex-module.ts";
import { requiredTrigrams } from "./required-trigrams.ts";

const instance = new RegexInstance();

function queryOf(pattern: string): TrigramQuery {
  return requiredTrigrams(instance.compile(pattern).syntax());
}

/** By the definition, on the document's own trigrams. */
function allows({ all, any }: TrigramQuery, document: string): boolean {
  const buckets = new Set(trigramsOf(document));
  const satisfies = (query: TrigramQuery): boolean => allows(query, document);
  return all.every((bucket) => buckets.has(bucket)) && any.every((queries) => queries.some(satisfies));
}

/** What the index leaves of one document. */
function keeps(query: TrigramQuery, document: string): boolean {
  const signatures = new TrigramSignatures(32);
  signatures.add(0, document);
  return signatures.having(query)[0] === 1;
}

function sizeOf({ all, any }: TrigramQuery): number {
  return any.flat().reduce((sum, query) => sum + sizeOf(query), all.length);
}

describe("requiredTrigrams", () => {
  it.each([
    ["fast (river|engine) [0-9]*7 ", ["a fast river 17 ", "fast engine 7 "], ["fast rover 7 ", "river fast"]],
    ["(?i)fast river", ["FAST River", "faſt river"], ["fast rover", "last river"]],
    ["(?i:kelvin) scale", ["\u212aelvin scale", "KELVIN scale"], ["celsius scale"]],
    ["one|two", ["one", "two"], ["three", "on"]],
    ["(?:one two)+ three", ["one two three"], ["one two", "one three"]],
    ["(one)?two", ["onetwo", "two"], ["one"]],
    ["ab{2}cd", ["abbcd"], ["abcd", "abbbd"]],
    ["a[bc]de", ["abde", "acde"], ["adde"]],
    ["a(b|)cde", ["abcde", "acde"], ["abde"]],
    ["(ab|cd|ef)(gh|ij).*(kl|mn)op", ["abgh klop", "efij mnop"], ["abgh klo", "abkl"]],
    ["(?x) f o x # spaced", ["fox"], ["f o x"]],
    [String.raw`\x66\u{6f}x`, ["fox"], ["fax"]],
    [String.raw`\bword\b`, ["a word"], ["wor d"]],
    ["stra(ß|ss)en", ["straßen", "STRASSEN"], ["strafen"]],
    ["привет|καλημέρα", ["Привет", "ΚΑΛΗΜΈΡΑ"], ["пока"]],
    ["日本語", ["日本語です"], ["日本画"]],
    ["\u{1f600}\u{1f601}", ["\u{1f600}\u{1f601}"], ["\u{1f600}\u{1f602}"]],
  ])("%s", (pattern, possible, impossible) => {
    const query = queryOf(pattern);
    for (const document of possible) expect([document, allows(query, document)]).toEqual([document, true]);
    for (const document of impossible) expect([document, allows(query, document)]).toEqual([document, false]);
  });

  it.each(["", "a", ".*", "[0-9]+", "ab|c.d", "(abc)?", "(abc)*", "\\w{100}", "(?i)ab", "a||b", "[^\\s\\S]"])(
    "rules out nothing: %s",
    (pattern) => {
      expect(queryOf(pattern)).toStrictEqual(EVERY_DOCUMENT);
    },
  );

  it("never rules out a match", () => {
    const pieces = fc.constantFrom(
      ...[
        "a",
        "b",
        "K",
        "s",
        "é",
        "Σ",
        ".",
        "|",
        "(",
        ")",
        "?",
        "*",
        "+",
        "abc",
        "fox ",
        "(?:",
        "(?i)",
        "(?i:",
      ],
      ...["[ab]", "[^b]", "[k-m]", "{2}", "{0,1}", "{1,3}", "{3,}", "()", "^", "$"],
      ...[String.raw`\.`, String.raw`\w`, String.raw`\b`, String.raw`\d`, "(?-u:a)"],
    );
    const patterns = fc.array(pieces, { maxLength: 12 }).map((list) => list.join(""));
    const letters = [
      "a",
      "b",
      "c",
      "k",
      "K",
      "\u212a",
      "s",
      "S",
      "\u017f",
      "é",
      "É",
      "σ",
      "ς",
      "Σ",
      "fox ",
      "FOX",
    ];
    const documents = fc.array(
      fc.string({ unit: fc.constantFrom(...letters, ".", "1", "\n"), maxLength: 12 }),
      {
        minLength: 12,
      },
    );
    let matched = 0;
    fc.assert(
      fc.property(patterns, documents, (pattern, list) => {
        const fresh = instance.bytes > 32 * 1024 * 1024 ? new RegexInstance() : instance;
        let regex: ReturnType<RegexInstance["compile"]>;
        try {
          regex = fresh.compile(pattern);
        } catch {
          return;
        }
        const query = requiredTrigrams(regex.syntax());
        for (const document of list) {
          if (!regex.isMatch(Buffer.from(document))) continue;
          matched++;
          expect([pattern, document, allows(query, document), keeps(query, document)]).toEqual([
            pattern,
            document,
            true,
            true,
          ]);
        }
      }),
      { numRuns: 800 },
    );
    expect(matched).toBeGreaterThan(400);
  });

  it("stays small, whatever the pattern", () => {
    const words = Array.from({ length: 120 }, (_, i) => `word${i * 7_919}`).join("|");
    for (const pattern of [
      words,
      `(${"(a|b|c|d)".repeat(90)})x`,
      "abcdefgh".repeat(120),
      `(${"[abc]x".repeat(60)})+`,
    ]) {
      expect(sizeOf(queryOf(pattern))).toBeLessThanOrEqual(512);
    }
  });
});
