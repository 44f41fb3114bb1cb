import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { ModelTokenizer } from "./model-tokenizer.ts";

const folder = dirname(createRequire(import.meta.url).resolve("@sheaf/model-minilm/package.json"));

interface Golden {
  readonly max_tokens: number;
  readonly cases: readonly { id: string; text: string; num_tokens: number; ids: number[] | null }[];
  readonly tokenizer_cases: readonly { text: string; ids: number[] }[];
}

const golden = JSON.parse(readFileSync(join(folder, "golden.json"), "utf8")) as Golden;
const tokenizer = ModelTokenizer.read({
  tokenizerJson: join(folder, "tokenizer.json"),
  tokenizerConfigJson: join(folder, "tokenizer_config.json"),
});

describe("ModelTokenizer", () => {
  it("gives the reference's ids and counts on every golden text of MiniLM", () => {
    expect(golden.cases.length).toBe(31);
    for (const { id, text, num_tokens, ids } of golden.cases) {
      const encoded = tokenizer.encode(text, golden.max_tokens);
      expect(encoded.fullCount, id).toBe(num_tokens);
      if (ids !== null) expect([...encoded.ids], id).toEqual(ids);
    }
  });

  it("gives the reference's ids on 60 texts of mixed scripts, whatever their length", () => {
    expect(golden.tokenizer_cases.length).toBe(60);
    for (const { text, ids } of golden.tokenizer_cases) {
      expect([...tokenizer.encode(text, 100_000).ids], text).toEqual(ids);
    }
  });

  it("ignores the truncation and padding in tokenizer.json", () => {
    expect(tokenizer.encode("one two", 256).ids).toHaveLength(4);
    expect(tokenizer.encode("word ".repeat(200), 256).ids).toHaveLength(202);
  });

  it("keeps the special tokens when it cuts, and counts the whole text", () => {
    const encoded = tokenizer.encode("word ".repeat(300), 256);
    expect(encoded.fullCount).toBe(302);
    expect(encoded.ids).toHaveLength(256);
    expect(encoded.ids[0]).toBe(101);
    expect(encoded.ids[255]).toBe(102);
    expect(encoded.ids[254]).toBe(encoded.ids[1]);
  });

  it("cuts the start on demand, but for a lead", () => {
    const idOf = (word: string): number | undefined => tokenizer.encode(word, 10).ids[1];
    const text = `first ${"word ".repeat(300)}last`;
    const cut = tokenizer.encode(text, 256, "");
    expect([cut.fullCount, cut.ids.length, cut.ids[0], cut.ids[255]]).toEqual([304, 256, 101, 102]);
    expect([cut.ids[1], cut.ids[254]]).toEqual([idOf("word"), idOf("last")]);
    const led = tokenizer.encode(text, 256, "first");
    expect([led.ids.length, led.ids[1], led.ids[2], led.ids[254]]).toEqual([
      256,
      idOf("first"),
      idOf("word"),
      idOf("last"),
    ]);
    expect(tokenizer.encode(text, 4, text).ids).toEqual(tokenizer.encode(text, 4).ids);
  });

  it("knows the piece behind each id", () => {
    const vocabulary = tokenizer.vocabulary();
    expect(vocabulary).toHaveLength(30_522);
    expect(vocabulary[101]).toBe("[CLS]");
    expect(vocabulary[7592]).toBe("hello");
  });

  it("names a file it cannot read", () => {
    expect(() =>
      ModelTokenizer.read({ tokenizerJson: "/none/tokenizer.json", tokenizerConfigJson: null }),
    ).toThrow("/none/tokenizer.json");
  });
});
