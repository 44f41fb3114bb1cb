import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { Bm25Encoder } from "../bm25/bm25-encoder.ts";
import { ModelTokenizer, type TokenizerFiles } from "./model-tokenizer.ts";
import { type EncodeRequest, TextWorkerPool } from "./text-worker-pool.ts";

const folder = dirname(createRequire(import.meta.url).resolve("@sheaf/model-minilm/package.json"));
const files: TokenizerFiles = {
  tokenizerJson: join(folder, "tokenizer.json"),
  tokenizerConfigJson: join(folder, "tokenizer_config.json"),
};
const reference = ModelTokenizer.read(files);
const unexpected: string[] = [];
const pool = new TextWorkerPool({ workers: 2, onUnexpected: (detail) => unexpected.push(detail) });

afterAll(async () => {
  await pool.close();
});

function request(texts: readonly string[], options: Partial<EncodeRequest> = {}): EncodeRequest {
  return {
    tokenizer: files,
    texts,
    maxTokens: 256,
    truncate: "none",
    lead: "",
    refuse: (long) => new Error(long.map(({ index, count }) => `text ${index} has ${count} tokens`).join()),
    ...options,
  };
}

const many = Array.from({ length: 700 }, (_, index) => `text ${index} ${"word ".repeat(index % 90)}`);

describe("TextWorkerPool", () => {
  it("gives each text the ids the tokenizer gives it, in order, over many pieces", async () => {
    const { ids, cut } = await pool.encode(request(many));
    expect(cut).toEqual([]);
    expect(ids.map((row) => [...row])).toEqual(many.map((text) => [...reference.encode(text, 256).ids]));
  });

  it("answers no texts with nothing", async () => {
    expect(await pool.encode(request([]))).toEqual({ ids: [], cut: [] });
    expect(await pool.bm25([], {})).toEqual({ vectors: [], counts: [] });
  });

  it("names the first text over the limit by its place in the call", async () => {
    const texts = [...many, "word ".repeat(300), "word ".repeat(400)];
    await expect(pool.encode(request(texts))).rejects.toThrow("text 700 has 302 tokens");
  });

  it("cuts where it is asked to and says which texts", async () => {
    const texts = ["short", "word ".repeat(300), "short too", "word ".repeat(255)];
    const { ids, cut } = await pool.encode(request(texts, { truncate: "end" }));
    expect(cut).toEqual([1, 3]);
    expect(ids.map((row) => row.length)).toEqual([3, 256, 4, 256]);
  });

  it("computes BM25 as the encoder does", async () => {
    const options = { k: 2, stopwords: ["word"] };
    const encoder = new Bm25Encoder(options);
    const expected = many.map((text) => encoder.encode(text));
    const { vectors, counts } = await pool.bm25(many, options);
    expect(vectors).toEqual(expected.map(({ vector }) => vector));
    expect(counts).toEqual(expected.map(({ numTokens }) => numTokens));
  });

  it("gives a long text, read in parts, what it gives the whole", async () => {
    const long = [
      "word ".repeat(9_000),
      `e${"\u0301\u0316".repeat(20_000)} and a word ${"!?".repeat(8_000)}`,
      "a".repeat(40_000),
      `${"ΟΔΟΣ.".repeat(5_000)}${"中".repeat(9_000)}`,
      many.join(" "),
    ];
    for (const truncate of ["end", "start"] as const) {
      const texts = ["short", ...long, "short too"];
      const { ids, cut } = await pool.encode(request(texts, { truncate, lead: "word" }));
      const lead = truncate === "start" ? "word" : null;
      const expected = texts.map((text) => reference.encode(text, 256, lead));
      expect(ids).toEqual(expected.map((text) => text.ids));
      expect(cut).toEqual(texts.flatMap((_, i) => ((expected[i]?.fullCount ?? 0) > 256 ? [i] : [])));
    }
    const whole = await pool.encode(request(long, { maxTokens: 100_000 }));
    expect(whole.ids).toEqual(long.map((text) => reference.encode(text, 100_000).ids));
    await expect(pool.encode(request(["short", long[0] as string]))).rejects.toThrow(
      "text 1 has 9002 tokens",
    );
    const encoder = new Bm25Encoder();
    expect((await pool.bm25(long, {})).vectors).toEqual(long.map((text) => encoder.encode(text).vector));
  });

  it("finds terms in long texts where the encoder finds them in the whole", async () => {
    const texts = [...many.slice(0, 40), `${"ΟΔΟΣ. ".repeat(5_000)}harbours`, many.join(" harbour ")];
    const encoder = new Bm25Encoder();
    const terms = encoder.encode("οδος harbour 17 text").vector.indices;
    for (const limit of [3, 20_000]) {
      const expected = texts.map((text) => encoder.find(text, new Set(terms), limit));
      const found = await pool.findTerms(texts, { terms, limit, options: {} });
      expect(found.map((places) => [...places])).toEqual(expected);
    }
  });

  it("lets others have their turn between the parts of a long text", async () => {
    const single = new TextWorkerPool({ workers: 1, onUnexpected: () => {} });
    let words = "";
    for (let count = 0; words.length < 300_000; count++) words += `${count.toString(36)}ational `;
    const ended: string[] = [];
    const long = single.bm25([words], {}, { owner: "a" }).then(() => ended.push("long"));
    for (let call = 0; call < 5; call++) {
      await single.encode(request([`short ${call}`]), { owner: "b" });
      ended.push("short");
    }
    await long;
    await single.close();
    expect(ended).toEqual([...Array.from({ length: 5 }, () => "short"), "long"]);
  });

  it("gives the vocabulary", async () => {
    expect(await pool.vocabulary(files)).toHaveLength(30_522);
  });

  it("ends an aborted call at once, before or during it", async () => {
    await expect(pool.encode(request(many), { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: "cancelled",
    });
    const controller = new AbortController();
    const call = pool
      .encode(request([...many, ...many, ...many]), { signal: controller.signal })
      .catch((error: unknown) => error);
    controller.abort();
    expect(await call).toMatchObject({ code: "cancelled" });
    expect((await pool.encode(request(["still works"]))).ids).toHaveLength(1);
  });

  it("says which tokenizer file is unreadable", async () => {
    const tokenizer = { tokenizerJson: join(folder, "none.json"), tokenizerConfigJson: null };
    await expect(pool.encode(request(["a"], { tokenizer }))).rejects.toMatchObject({
      code: "model_unavailable",
    });
    expect(unexpected).toEqual([]);
  });

  it("refuses once it is closed", async () => {
    const closed = new TextWorkerPool({ workers: 1, onUnexpected: () => {} });
    const call = closed.encode(request(many)).catch((error: unknown) => error);
    await closed.close();
    expect(await call).toMatchObject({ code: "unavailable" });
    await expect(closed.encode(request(["a"]))).rejects.toMatchObject({ code: "unavailable" });
  });
});
