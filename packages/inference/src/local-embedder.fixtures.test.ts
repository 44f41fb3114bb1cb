/** The tiny stand-ins of all six models through the whole path: tokenizer worker, scheduler, replica, pooling, labels. */
import { readFile } from "node:fs/promises";
import * as fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import type { EmbedRequest } from "./embedder.ts";
import { fixtureFolder, largestDifference } from "./graph/testing/fixture-models.ts";
import { createEmbedder } from "./local-embedder.ts";

const MODELS = {
  "sentence-transformers/all-MiniLM-L6-v2": "tiny-bert-mean",
  "BAAI/bge-m3": "tiny-xlmr-cls",
  "Qwen/Qwen3-Embedding-0.6B": "tiny-qwen3-last",
  "prithivida/Splade_PP_en_v1": "tiny-bert-mlm-splade",
  "naver/efficient-splade-VI-BT-large-doc": "tiny-distilbert-mlm-splade-doc",
  "naver/efficient-splade-VI-BT-large-query": "tiny-bert-mlm-splade-query",
} as const;
const TOLERANCE = 1e-5;

interface Case {
  readonly id: string;
  readonly text: string;
  readonly instruction: string;
  readonly num_tokens: number;
  readonly full_num_tokens: number;
  readonly truncated: boolean;
  readonly embedding?: readonly number[];
  readonly sparse?: {
    readonly indices: readonly number[];
    readonly values: readonly number[];
    readonly labels: readonly string[];
  };
}

const embedder = createEmbedder({
  replicas: 1,
  models: Object.fromEntries(
    Object.entries(MODELS).map(([identifier, fixture]) => [identifier, { path: fixtureFolder(fixture) }]),
  ),
});

afterAll(async () => {
  await embedder.close();
});

async function casesOf(fixture: string): Promise<readonly Case[]> {
  const file = await readFile(`${fixtureFolder(fixture)}/golden.json`, "utf8");
  const { cases } = JSON.parse(file) as {
    readonly cases: readonly (Omit<Case, "instruction"> & { readonly instruction: string | null })[];
  };
  return cases.map((one) => ({ ...one, instruction: one.instruction ?? "" }));
}

function request(model: string, texts: readonly string[], rest: Partial<EmbedRequest> = {}): EmbedRequest {
  return { model, texts, instruction: "", truncate: "end", ...rest };
}

/** Texts of one task sentence in one call, as callers send them. */
function byInstruction(cases: readonly Case[]): (readonly Case[])[] {
  return [...new Set(cases.map(({ instruction }) => instruction))].map((instruction) =>
    cases.filter((one) => one.instruction === instruction),
  );
}

describe.each(Object.entries(MODELS).slice(0, 3))("%s, dense", (model, fixture) => {
  it("gives the reference's vectors and counts, a whole file in one call", async () => {
    for (const cases of byInstruction(await casesOf(fixture))) {
      const answer = await embedder.dense(
        request(
          model,
          cases.map(({ text }) => text),
          { instruction: cases[0]?.instruction ?? "" },
        ),
      );
      cases.forEach(({ id, embedding = [] }, index) => {
        expect(largestDifference(answer.vectors[index] ?? [], embedding), id).toBeLessThanOrEqual(TOLERANCE);
      });
      expect(answer.numTokens).toBe(cases.reduce((sum, { num_tokens }) => sum + num_tokens, 0));
      expect(answer.truncatedInputs).toBe(cases.filter(({ truncated }) => truncated).length);
      expect(answer.dimension).toBe(embedder.model(model).dimension);
    }
  });

  it("refuses what is over the limit by one token, naming both numbers", async () => {
    const cases = await casesOf(fixture);
    const limit = embedder.model(model).maxTokens;
    for (const { text, truncated, full_num_tokens, instruction } of cases) {
      const call = embedder.dense(request(model, [text], { instruction, truncate: "none" }));
      const outcome = await call.then(
        ({ numTokens }) => `${numTokens} tokens`,
        (error: unknown) => (error instanceof Error ? error.message : String(error)),
      );
      const refusal = `texts[0]: ${full_num_tokens} tokens, the limit of ${model} is ${limit};`;
      expect(outcome.slice(0, refusal.length)).toBe(truncated ? refusal : `${full_num_tokens} tokens`);
    }
  });

  it("gives a text the same vector whatever shares its batch", async () => {
    const cases = (await casesOf(fixture)).filter(({ instruction }) => instruction === "");
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...cases), { minLength: 1, maxLength: 30 }),
        async (chosen) => {
          const { vectors } = await embedder.dense(
            request(
              model,
              chosen.map(({ text }) => text),
            ),
          );
          const worst = chosen.map(({ embedding = [] }, index) =>
            largestDifference(vectors[index] ?? [], embedding),
          );
          expect(Math.max(...worst)).toBeLessThanOrEqual(TOLERANCE);
        },
      ),
      { numRuns: 10 },
    );
  });
});

describe.each(Object.entries(MODELS).slice(3))("%s, sparse", (model, fixture) => {
  it("refuses what is over the limit where it may not be cut", async () => {
    const cases = await casesOf(fixture);
    expect(cases.some(({ truncated }) => truncated)).toBe(true);
    for (const { text, truncated } of cases) {
      const call = embedder.sparse(request(model, [text], { truncate: "none" }));
      if (truncated) await expect(call).rejects.toMatchObject({ code: "invalid_argument", status: 400 });
      else expect((await call).truncatedInputs).toBe(0);
    }
  });

  it("gives the reference's indices, values, labels and counts, cutting what is too long", async () => {
    const cases = await casesOf(fixture);
    const answer = await embedder.sparse(
      request(
        model,
        cases.map(({ text }) => text),
      ),
    );
    cases.forEach(({ id, sparse }, index) => {
      const vector = answer.vectors[index];
      expect([...(vector?.indices ?? [])], id).toEqual(sparse?.indices);
      expect(vector?.tokens, id).toEqual(sparse?.labels);
      expect(largestDifference(vector?.values ?? [], sparse?.values ?? []), id).toBeLessThanOrEqual(
        TOLERANCE,
      );
    });
    expect(answer.numTokens).toBe(cases.reduce((sum, { num_tokens }) => sum + num_tokens, 0));
    expect(answer.truncatedInputs).toBe(cases.filter(({ truncated }) => truncated).length);
    expect(answer.truncatedInputs).toBeGreaterThan(0);
  });

  it("has no dense vectors", async () => {
    await expect(embedder.dense(request(model, ["a"]))).rejects.toMatchObject({ status: 501 });
  });
});

describe("model folders", () => {
  it("give limits and dimensions of their own", () => {
    const found = embedder
      .models()
      .map(({ dimension, maxTokens, available }) => [dimension, maxTokens, available]);
    expect(found).toEqual([
      [48, 128, true],
      [48, 64, true],
      [32, 24, true],
      [null, 64, true],
      [null, 48, true],
      [null, 48, true],
      [null, null, true],
    ]);
  });

  it("have an identity of revision and digest, also over several files", async () => {
    const identities = await Promise.all(Object.keys(MODELS).map((model) => embedder.identity(model)));
    expect(new Set(identities.map(({ digest }) => digest)).size).toBe(6);
    expect(identities.every(({ digest }) => /^sha256:[0-9a-f]{64}$/u.test(digest))).toBe(true);
    expect(identities.every(({ revision }) => revision === "local")).toBe(true);
  });
});
