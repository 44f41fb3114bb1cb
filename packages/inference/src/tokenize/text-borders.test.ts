import { ChromaBm25EmbeddingFunction } from "@chroma-core/chroma-bm25";
import * as fc from "fast-check";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { Bm25Encoder, type TermCounts } from "../bm25/bm25-encoder.ts";
import { ModelTokenizer } from "./model-tokenizer.ts";
import { type BorderFinder, borderOfWords } from "./text-borders.ts";

const fixtures = fileURLToPath(new URL("../../fixtures/models", import.meta.url));
const minilm = dirname(createRequire(import.meta.url).resolve("@sheaf/model-minilm/package.json"));
const read = (folder: string): ModelTokenizer =>
  ModelTokenizer.read({
    tokenizerJson: join(folder, "tokenizer.json"),
    tokenizerConfigJson: join(folder, "tokenizer_config.json"),
  });

/** What may matter at a border: white space of all kinds, marks, capitals of one context, pieces of special tokens. */
const PARTS = [
  ..." \t\n\r\v\f\0\u00a0\u0085\u1680\u2002\u2028\u3000\ufeff\u200b\u00ad".split(""),
  ..."!?.,:'^`·’-_$+<|>[]()\u037e\u0387。、…".split(""),
  ..."aIzΣσςΑİé中한각か1²½".split(""),
  ..."\u0301\u0316\u0345\u3099\u20dd\u0903".split(""),
  ..."\ud83d\ude42".split(""),
  ...[
    "🙂",
    "word",
    "It's",
    " a",
    "ΟΔΟΣ",
    "[MASK]",
    "[SEP",
    "<|im_end|>",
    "<|im_",
    "running",
    "  ",
    "\r\n",
    "豈",
  ],
];
const part = fc.oneof(fc.constantFrom(...PARTS), fc.constantFrom(" word", " a", " Z", "b"));
const texts = fc.array(part, { maxLength: 60 }).map((parts) => parts.join(""));
const length = fc.integer({ min: 1, max: 40 });

/** As the pool reads a long text. */
function partsOf(text: string, partLength: number, findBorder: BorderFinder): string[] {
  const parts: string[] = [];
  let start = 0;
  let asked = partLength;
  while (start + asked < text.length) {
    const consumed = findBorder(text.slice(start, start + asked));
    if (consumed > 0) parts.push(text.slice(start, start + consumed));
    start += consumed;
    asked = consumed === 0 ? asked * 2 : partLength;
  }
  return [...parts, text.slice(start)];
}

describe("borders of a text", () => {
  it.each([
    ["MiniLM", minilm],
    ["BERT", join(fixtures, "tiny-bert-mean")],
    ["SPLADE", join(fixtures, "tiny-bert-mlm-splade")],
    ["Qwen", join(fixtures, "tiny-qwen3-last")],
  ])("cut where no token of %s changes", (_, folder) => {
    const tokenizer = read(folder);
    let cut = 0;
    fc.assert(
      fc.property(texts, length, (text, partLength) => {
        const parts = partsOf(text, partLength, tokenizer.findBorder);
        cut += parts.length - 1;
        expect(parts.flatMap((part) => tokenizer.idsOf(part))).toEqual(tokenizer.idsOf(text));
      }),
      // A sigma that is final by the letter before its part.
      { numRuns: 1_000, examples: [[" a:Σ", 1]] },
    );
    expect(cut).toBeGreaterThan(50);
  });

  it("are none where a tokenizer's rules do not show them", () => {
    const tokenizer = read(join(fixtures, "tiny-xlmr-cls"));
    expect(tokenizer.findBorder("two words, and more")).toBe(0);
  });

  it("cut where no term of BM25 changes", async () => {
    const encoder = new Bm25Encoder();
    const chroma = new ChromaBm25EmbeddingFunction();
    await fc.assert(
      fc.asyncProperty(texts, length, async (text, partLength) => {
        const parts = partsOf(text, partLength, borderOfWords);
        const counted: TermCounts[] = parts.map((part) => encoder.count(part));
        expect(encoder.weigh(counted)).toEqual(encoder.encode(text));
        const [expected] = await chroma.generate([text]);
        expect([...encoder.weigh(counted).vector.indices]).toEqual(expected?.indices);
      }),
      { numRuns: 500 },
    );
  });
});
