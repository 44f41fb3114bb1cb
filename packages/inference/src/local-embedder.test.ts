import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import * as fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { LIMITS } from "@sheaf/protocol";
import type { EmbedRequest } from "./embedder.ts";
import { createEmbedder, LocalEmbedder } from "./local-embedder.ts";

const MINILM = "sentence-transformers/all-MiniLM-L6-v2";
const folder = dirname(createRequire(import.meta.url).resolve("@sheaf/model-minilm/package.json"));
const golden = JSON.parse(readFileSync(join(folder, "golden.json"), "utf8")) as {
  readonly tolerance: number;
  readonly cases: readonly { id: string; text: string; num_tokens: number; embedding?: number[] }[];
};
const cases = golden.cases.flatMap(({ embedding, ...rest }) =>
  embedding === undefined ? [] : [{ ...rest, embedding }],
);

const loads: [model: string, milliseconds: number][] = [];
const embedder = createEmbedder({ replicas: 1, onLoad: (...load) => loads.push(load) });

afterAll(async () => {
  await embedder.close();
});

function request(texts: readonly string[], rest: Partial<EmbedRequest> = {}): EmbedRequest {
  return { model: MINILM, texts, instruction: "", truncate: "none", ...rest };
}

function largestDifference(vector: Float32Array | undefined, expected: readonly number[]): number {
  if (vector?.length !== expected.length) return Infinity;
  return Math.max(...expected.map((value, index) => Math.abs(value - (vector[index] ?? Number.NaN))));
}

describe("dense vectors of the bundled model", () => {
  it("equal the reference one by one", async () => {
    expect(cases).toHaveLength(30);
    for (const { id, text, num_tokens, embedding } of cases) {
      const { vectors, numTokens, dimension } = await embedder.dense(request([text]));
      expect(largestDifference(vectors[0], embedding), id).toBeLessThanOrEqual(golden.tolerance);
      expect([numTokens, dimension]).toEqual([num_tokens, 384]);
    }
    expect(loads, "told once").toEqual([[MINILM, expect.any(Number)]]);
  });

  it("equal the reference in any batch and order, and count the same tokens", async () => {
    const choice = fc.array(fc.constantFrom(...cases), { minLength: 1, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(choice, async (chosen) => {
        const { vectors, numTokens, truncatedInputs } = await embedder.dense(
          request(chosen.map(({ text }) => text)),
        );
        const worst = Math.max(
          ...chosen.map(({ embedding }, index) => largestDifference(vectors[index], embedding)),
        );
        expect(vectors).toHaveLength(chosen.length);
        expect(worst).toBeLessThanOrEqual(golden.tolerance);
        expect(numTokens).toBe(chosen.reduce((sum, { num_tokens }) => sum + num_tokens, 0));
        expect(truncatedInputs).toBe(0);
      }),
      { numRuns: 12 },
    );
  });

  it("equal the reference for callers at the same time", async () => {
    const answers = await Promise.all(
      cases.map(async ({ text, embedding }) => {
        const { vectors } = await embedder.dense(request([text]));
        return largestDifference(vectors[0], embedding);
      }),
    );
    expect(Math.max(...answers)).toBeLessThanOrEqual(golden.tolerance);
  });

  it("are none for no texts", async () => {
    expect(await embedder.dense(request([]))).toEqual({
      dimension: 384,
      vectors: [],
      numTokens: 0,
      truncatedInputs: 0,
    });
  });

  it("do not change with an instruction, because the model takes none", async () => {
    const { vectors, numTokens } = await embedder.dense(request(["hello"], { instruction: "find things" }));
    const plain = await embedder.dense(request(["hello"]));
    expect(vectors).toEqual(plain.vectors);
    expect(numTokens).toBe(plain.numTokens);
  });
});

describe("texts over the limit", () => {
  const long = "word ".repeat(298);
  const WAYS_OUT = "split the text, or let it be cut with `truncate`";

  it("are refused with the text, its tokens and the limit", async () => {
    await expect(embedder.dense(request(["a", "b", "c", long]))).rejects.toMatchObject({
      code: "too_large",
      message: `texts[3]: 300 tokens, the limit of ${MINILM} is 256; ${WAYS_OUT}`,
    });
    const describe = (index: number): string => `record "r${index}"`;
    await expect(embedder.dense(request(["a", long], { describe }))).rejects.toThrow(
      'record "r1": 300 tokens',
    );
  });

  it("are all named, the first hundred of them", async () => {
    const longest = "x".repeat(64_001);
    const several = embedder.dense(request([long, "b", longest, `word ${long}`, "c"]));
    await expect(several).rejects.toMatchObject({
      code: "too_large",
      message:
        `texts[0]: 300 tokens, texts[2]: 64001 characters, texts[3]: 301 tokens, the limit of ${MINILM} is 256; ` +
        "split the texts, or let them be cut with `truncate`",
    });
    // More than one piece of the tokenizer's.
    const texts = Array.from({ length: 700 }, (_, i) => (i % 2 === 0 ? "a" : long));
    const error = await embedder.dense(request(texts)).catch((thrown: unknown) => thrown);
    const named = (error as Error).message.match(/texts\[\d+\]/g);
    expect(named).toEqual(Array.from({ length: 100 }, (_, i) => `texts[${2 * i + 1}]`));
  });

  it("are refused by their characters where tokenizing them would be wasted", async () => {
    await expect(embedder.dense(request(["x".repeat(64_001)]))).rejects.toMatchObject({
      code: "too_large",
      message: `texts[0]: 64001 characters, the limit of ${MINILM} is 256 tokens; ${WAYS_OUT}`,
    });
    const { numTokens } = await embedder.dense(request(["x".repeat(64_000)]));
    expect(numTokens).toBe(3);
  });

  it("are refused one token above the limit and taken at it", async () => {
    const overByOne = golden.cases.find(({ id }) => id === "over_by_one");
    const atLimit = golden.cases.find(({ id }) => id === "at_limit");
    await expect(embedder.dense(request([overByOne?.text ?? ""]))).rejects.toMatchObject({
      code: "too_large",
    });
    expect((await embedder.dense(request([atLimit?.text ?? ""]))).numTokens).toBe(256);
  });

  it("are cut on demand, which is counted", async () => {
    const cut = await embedder.dense(request([long, "short", "y ".repeat(60_000)], { truncate: "end" }));
    expect(cut.truncatedInputs).toBe(2);
    expect(cut.numTokens).toBe(256 + 3 + 256);
    const shorter = await embedder.dense(request(["word ".repeat(254)]));
    expect(largestDifference(cut.vectors[0], [...(shorter.vectors[0] ?? [])])).toBeLessThanOrEqual(1e-6);
    const both = [`other ${long}`, `${"x ".repeat(60_000)}${"word ".repeat(254)}`];
    const ends = await embedder.dense(request(both, { truncate: "start" }));
    expect(ends.truncatedInputs).toBe(2);
    for (const vector of ends.vectors)
      expect(largestDifference(vector, [...(shorter.vectors[0] ?? [])])).toBeLessThanOrEqual(1e-6);
  });
});

describe("refusals", () => {
  it("name an unknown model and the known ones before anything else", async () => {
    const unknown = request(["a"], { model: "some/model" });
    for (const call of [embedder.dense(unknown), embedder.sparse(unknown), embedder.identity("some/model")]) {
      await expect(call).rejects.toMatchObject({ code: "invalid_argument", status: 400 });
    }
    expect(() => embedder.model("some/model")).toThrow(
      /unknown embedding model "some\/model".*all-MiniLM-L6-v2/u,
    );
    expect(() => embedder.model("__proto__")).toThrow("unknown embedding model");
  });

  it("are 501 for the wrong kind before 503 for absent weights", async () => {
    const absent = { model: "BAAI/bge-m3" };
    await expect(embedder.sparse(request(["a"], absent))).rejects.toMatchObject({ status: 501 });
    await expect(embedder.dense(request(["a"], absent))).rejects.toMatchObject({
      code: "model_unavailable",
      status: 503,
      message: expect.stringContaining("BAAI/bge-m3"),
    });
    await expect(embedder.dense(request([], absent))).rejects.toMatchObject({ status: 503 });
    await expect(embedder.identity("BAAI/bge-m3")).rejects.toMatchObject({ status: 503 });
    await expect(embedder.dense(request(["a"], { model: "sheaf/bm25" }))).rejects.toMatchObject({
      status: 501,
    });
    await expect(embedder.sparse(request(["a"]))).rejects.toMatchObject({ status: 501 });
  });

  it("are 413 before 429, and an ingest that fills the queue is 429 with Retry-After", async () => {
    const small = createEmbedder({ replicas: 1, queuedTokens: 50, batchTokens: 16 });
    const texts = Array.from({ length: 40 }, (_, index) => `text number ${index}`);
    const first = small.dense(request(texts));
    const second = small.dense(request(texts)).catch((error: unknown) => error);
    await expect(small.dense(request([...texts, "word ".repeat(300)]))).rejects.toMatchObject({
      code: "too_large",
    });
    expect(await second).toMatchObject({ code: "rate_limited", retryAfterSeconds: expect.any(Number) });
    expect((await first).vectors).toHaveLength(40);
    await small.close();
  });

  it("name a configured model that does not exist, and a folder's missing files", async () => {
    expect(() => createEmbedder({ models: { "no/model": { path: "/tmp" } } })).toThrow("no/model");
    const events: string[] = [];
    const broken = createEmbedder({
      models: { "BAAI/bge-m3": { path: join(folder, "1_Pooling") } },
      onEvent: (event) => events.push(event),
    });
    expect(broken.model("BAAI/bge-m3").available).toBe(false);
    await expect(
      broken.dense({ model: "BAAI/bge-m3", texts: ["a"], instruction: "", truncate: "none" }),
    ).rejects.toThrow(/BAAI\/bge-m3.*files of it on the server are missing/u);
    expect(events).toEqual([
      expect.stringMatching(/BAAI\/bge-m3.*no tokenizer\.json, no onnx\/model\.onnx/u),
    ]);
    await broken.close();
  });

  it("follow an abort at once and leave the embedder usable", async () => {
    const controller = new AbortController();
    const texts = Array.from({ length: 500 }, (_, index) => `some text to embed, number ${index}`);
    const call = embedder
      .dense(request(texts), { signal: controller.signal })
      .catch((error: unknown) => error);
    controller.abort();
    expect(await call).toMatchObject({ code: "cancelled" });
    expect((await embedder.dense(request(["next"]))).vectors).toHaveLength(1);
  });
});

describe("sheaf/bm25", () => {
  const bm25 = (texts: readonly string[], rest: Partial<EmbedRequest> = {}): EmbedRequest =>
    request(texts, { model: "sheaf/bm25", ...rest });

  it("gives ids, values, stems and the terms that count", async () => {
    const { vectors, numTokens, truncatedInputs } = await embedder.sparse(bm25(["The cats ran", "", "cats"]));
    expect(vectors.map((vector) => vector.indices.length)).toEqual([2, 0, 1]);
    expect([...(vectors[0]?.tokens ?? [])].sort()).toEqual(["cat", "ran"]);
    expect([numTokens, truncatedInputs]).toEqual([3, 0]);
  });

  it("tells the words that count, in the order of the text", async () => {
    const { tokens } = await embedder.sparse(bm25(["The Cats ran, a cat RAN", "the", "one"], { tokens: 3 }));
    expect(tokens).toEqual([
      { count: 4, pieces: ["cats", "ran", "cat"] },
      { count: 0, pieces: [] },
      { count: 1, pieces: ["one"] },
    ]);
  });

  it("honours its options and refuses useless ones", async () => {
    const { vectors } = await embedder.sparse(bm25(["a cat"], { bm25: { stopwords: ["cat"] } }));
    expect(vectors[0]?.tokens).toEqual(["a"]);
    await expect(embedder.sparse(bm25(["a"], { bm25: { k: -1 } }))).rejects.toThrow("k: must be");
  });

  it("reads the first MiB of a longer text and says so", async () => {
    const text = `start ${"ä ".repeat(LIMITS.textBytes / 3)} end`;
    const { vectors, truncatedInputs } = await embedder.sparse(bm25([text, "end"]));
    expect(vectors[0]?.tokens).toEqual(expect.arrayContaining(["start", "ä"]));
    expect(vectors[0]?.tokens).not.toContain("end");
    expect(truncatedInputs).toBe(1);
  });
});

describe("models and identity", () => {
  it("lists seven models with what they are", () => {
    const models = embedder.models();
    expect(models.map(({ identifier, kind, available }) => [identifier, kind, available])).toEqual([
      ["Qwen/Qwen3-Embedding-0.6B", "dense", false],
      ["BAAI/bge-m3", "dense", false],
      [MINILM, "dense", true],
      ["prithivida/Splade_PP_en_v1", "sparse", false],
      ["naver/efficient-splade-VI-BT-large-doc", "sparse", false],
      ["naver/efficient-splade-VI-BT-large-query", "sparse", false],
      ["sheaf/bm25", "sparse", true],
    ]);
    expect(embedder.model(MINILM)).toMatchObject({ dimension: 384, maxTokens: 256, queryModel: null });
    expect(embedder.model("naver/efficient-splade-VI-BT-large-doc").queryModel).toBe(
      "naver/efficient-splade-VI-BT-large-query",
    );
    expect(embedder.model("sheaf/bm25")).toMatchObject({ dimension: null, maxTokens: null });
  });

  it("identifies the bundled weights by a revision of their own and their digest", async () => {
    const weights = readFileSync(join(folder, "onnx/model.onnx"));
    expect(await embedder.identity(MINILM)).toEqual({
      identifier: MINILM,
      revision: "1110a243-f16",
      digest: `sha256:${createHash("sha256").update(weights).digest("hex")}`,
    });
    expect(await embedder.identity("sheaf/bm25")).toMatchObject({ revision: "1" });
  });

  it("has the files its checksums name", () => {
    const lines = readFileSync(join(folder, "SHA256SUMS"), "utf8").trim().split("\n");
    expect(lines).toHaveLength(10);
    for (const line of lines) {
      const [digest, file = ""] = line.split(/\s+/u);
      expect(
        createHash("sha256")
          .update(readFileSync(join(folder, file)))
          .digest("hex"),
        file,
      ).toBe(digest);
    }
  });
});

describe("close", () => {
  it("ends every process, refuses what waits and what comes", async () => {
    const closing = new LocalEmbedder({ replicas: 2 });
    await closing.dense(request(["load it"]));
    const pids = await closing.replicaPids(MINILM);
    expect(pids).toHaveLength(1);
    const waiting = closing
      .dense(request(Array.from({ length: 300 }, (_, index) => `text ${index}`)))
      .catch((error: unknown) => error);
    await closing.close();
    expect(await waiting).toMatchObject({ code: "unavailable" });
    await expect(closing.dense(request(["a"]))).rejects.toMatchObject({ code: "unavailable" });
    for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  });
});
