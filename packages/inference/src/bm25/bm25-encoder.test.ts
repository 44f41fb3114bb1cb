import { ChromaBm25EmbeddingFunction, DEFAULT_CHROMA_BM25_STOPWORDS } from "@chroma-core/chroma-bm25";
import { LIMITS } from "@sheaf/protocol";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Bm25Options } from "../embedder.ts";
import { Bm25Encoder } from "./bm25-encoder.ts";
import { ENGLISH_STOPWORDS } from "./stopwords.ts";

const fragments = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...ENGLISH_STOPWORDS, "Don't", "THE", "It's") },
  {
    weight: 8,
    arbitrary: fc.constantFrom(
      ...[
        "running",
        "runner",
        "ran",
        "skies",
        "dying",
        "generously",
        "Relational",
        "cats",
        "caresses",
        "news",
      ],
      ...[
        "happily",
        "hopping",
        "vietnamization",
        "sensibility",
        "proceed",
        "yes",
        "yellow",
        "boyish",
        "syzygy",
      ],
    ),
  },
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      ...[
        "straße",
        "STRASSE",
        "İstanbul",
        "ΣΊΣΥΦΟΣ",
        "naïve",
        "cafe\u0301",
        "Привет",
        "поезда",
        "東京都",
        "한국어",
      ],
      ...["العربية", "हिन्दी", "ไทย", "עברית", "ǅ", "ﬁne", "x²", "½", "Ⅷ", "٣٤", "snake_case", "__", "a_b"],
    ),
  },
  {
    weight: 4,
    arbitrary: fc.constantFrom("👩‍🚀", "🇩🇪", "❤️", "e-mail@host.tld", "C++", "3.14", "-1e9", "…", "“quote”"),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom("\u00a0", "\u2028", "\ufeff", "\u200b", "\t\n", "\u0000", "\ud800", "\u0085"),
  },
  { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 12 }) },
  { weight: 2, arbitrary: fc.stringMatching(/^[a-z]{35,45}$/u) },
  { weight: 2, arbitrary: fc.string({ unit: "grapheme", maxLength: 12 }) },
);
const texts = fc.array(fc.tuple(fragments, fc.constantFrom(" ", " ", " ", ", ", ".", "-", "\n", "")), {
  maxLength: 40,
});
const joined = texts.map((pairs) => pairs.flat().join(""));

interface Comparison {
  readonly indices: readonly number[];
  readonly expectedIndices: readonly number[];
  readonly labels: number;
  readonly largestDifference: number;
}

async function compareWithReference(text: string, options: Bm25Options): Promise<Comparison> {
  const reference = new ChromaBm25EmbeddingFunction({
    ...(options.k === undefined ? {} : { k: options.k }),
    ...(options.b === undefined ? {} : { b: options.b }),
    ...(options.averageDocumentLength === undefined ? {} : { avgDocLength: options.averageDocumentLength }),
    ...(options.tokenMaxLength === undefined ? {} : { tokenMaxLength: options.tokenMaxLength }),
    ...(options.stopwords === undefined ? {} : { stopwords: [...options.stopwords] }),
  });
  const [expected = { indices: [], values: [] }] = await reference.generate([text]);
  const { vector } = new Bm25Encoder(options).encode(text);
  const differences = expected.values.map((value, at) => Math.abs((vector.values[at] ?? Number.NaN) - value));
  return {
    indices: [...vector.indices],
    expectedIndices: expected.indices,
    labels: vector.tokens?.length ?? 0,
    largestDifference: Math.max(0, ...differences),
  };
}

describe("Bm25Encoder", () => {
  it("has the reference's stop words", () => {
    expect(ENGLISH_STOPWORDS).toEqual(DEFAULT_CHROMA_BM25_STOPWORDS);
  });

  it("gives the reference's ids and values for 2,000 generated texts", async () => {
    await fc.assert(
      fc.asyncProperty(joined, async (text) => {
        const { indices, expectedIndices, labels, largestDifference } = await compareWithReference(text, {});
        expect(indices).toEqual(expectedIndices);
        expect(labels).toBe(indices.length);
        expect(largestDifference).toBeLessThanOrEqual(1e-6);
      }),
      { numRuns: 2_000 },
    );
  });

  it("honours its options as the reference does", async () => {
    const options = fc.record(
      {
        k: fc.double({ min: 0, max: 4, noNaN: true }),
        b: fc.double({ min: 0, max: 1, noNaN: true }),
        averageDocumentLength: fc.integer({ min: 1, max: 1_000 }),
        tokenMaxLength: fc.integer({ min: 1, max: 60 }),
        stopwords: fc.array(fc.constantFrom("running", "The", "東京都", "ΣΊΣΥΦΟΣ", "cats"), { maxLength: 4 }),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(joined, options, async (text, chosen) => {
        const { indices, expectedIndices, largestDifference } = await compareWithReference(text, chosen);
        expect(indices).toEqual(expectedIndices);
        expect(largestDifference).toBeLessThanOrEqual(1e-6);
      }),
      { numRuns: 500 },
    );
  });

  it("labels each index with its stem and counts the terms that count", () => {
    const { vector, numTokens } = new Bm25Encoder().encode("The cats are running, the cat ran!");
    expect([...(vector.tokens ?? [])].sort()).toEqual(["cat", "ran", "run"]);
    expect(numTokens).toBe(4);
  });

  it("gives how often each term occurs where that is asked for, of a text in parts too", () => {
    const encoder = new Bm25Encoder({ frequencies: true, k: 5, averageDocumentLength: 1 });
    const { vector, numTokens } = encoder.encode("The cats are running, the cat ran!");
    const frequencies = new Map(vector.tokens?.map((token, i) => [token, vector.values[i]]));
    expect(frequencies).toEqual(
      new Map([
        ["cat", 2],
        ["run", 1],
        ["ran", 1],
      ]),
    );
    expect(numTokens).toBe(4);
    const parts = ["The cats are running, ", "the cat ran!"].map((part) => encoder.count(part));
    expect(encoder.weigh(parts)).toEqual({ vector, numTokens });
  });

  it("gives an empty vector for a text without terms", () => {
    for (const text of ["", "   ", "the and of", "!!! ???", "x".repeat(41)]) {
      const { vector, numTokens } = new Bm25Encoder().encode(text);
      expect(vector.indices).toHaveLength(0);
      expect(numTokens).toBe(0);
    }
  });

  it("keeps the largest entries of a text with too many terms", () => {
    const words = Array.from({ length: LIMITS.sparseNonZeros + 500 }, (_, index) => `w${index}`);
    const { vector } = new Bm25Encoder().encode(`${words.join(" ")} w7 w7 w9`);
    expect(vector.indices).toHaveLength(LIMITS.sparseNonZeros);
    expect([...vector.indices]).toEqual([...vector.indices].sort((a, b) => a - b));
    expect(vector.tokens).toEqual(expect.arrayContaining(["w7", "w9"]));
  });

  it("refuses options no weight can be computed with", () => {
    expect(() => new Bm25Encoder({ k: Number.NaN })).toThrow("k: must be");
    expect(() => new Bm25Encoder({ b: 2 })).toThrow("b: must be");
    expect(() => new Bm25Encoder({ averageDocumentLength: 0 })).toThrow("avg_doc_length: must be");
    expect(() => new Bm25Encoder({ tokenMaxLength: 0.5 })).toThrow("token_max_length: must be");
  });
});

describe("find", () => {
  const idsOf = (query: string): ReadonlySet<number> =>
    new Set(new Bm25Encoder().encode(query).vector.indices);

  it("says where the words of a text are whose stems are sought", () => {
    const text = "Ships wait; the SHIP's crew is waiting (shipping).";
    const places = new Bm25Encoder().find(text, idsOf("a waiting ship"), 64);
    const words = Array.from({ length: places.length / 2 }, (_, i) =>
      text.slice(places[2 * i], places[2 * i + 1]),
    );
    expect(words).toEqual(["Ships", "wait", "SHIP", "waiting", "shipping"]);
  });

  it("stops at the limit, and leaves out what an encoder with these options leaves out", () => {
    const text = "tide tide tide";
    expect(new Bm25Encoder().find(text, idsOf("tide"), 2)).toEqual([0, 4, 5, 9]);
    expect(new Bm25Encoder({ stopwords: ["tide"] }).find(text, idsOf("tide"), 9)).toEqual([]);
    expect(new Bm25Encoder({ tokenMaxLength: 3 }).find(text, idsOf("tide"), 9)).toEqual([]);
  });

  it("finds every term of a text as often as it is counted, whatever the characters", () => {
    const unit = fc.constantFrom(
      ...Array.from("ab Σσςİ\ufeff\u2003.'-_1😀é\u0301\ud800中ßŒ"),
      "the ",
      "running ",
      "\n",
    );
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 60 }), (text) => {
        const encoder = new Bm25Encoder({ tokenMaxLength: 12 });
        const { ids, counts } = encoder.count(text);
        for (const [i, id] of ids.entries()) {
          const places = encoder.find(text, new Set([id]), 100);
          expect(places).toHaveLength(2 * counts[i]!);
          for (let at = 0; at < places.length; at += 2) {
            // Alone it is the same word, but for the form that a sigma has at the end.
            const word = text.slice(places[at], places[at + 1]);
            if (!word.includes("Σ")) expect([...encoder.count(word).ids]).toEqual([id]);
          }
        }
      }),
      { numRuns: 500 },
    );
  });
});
