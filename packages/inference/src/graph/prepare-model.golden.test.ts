/** Every fixture model, every source of its weights, every golden case: alone, in batches, permuted and padded. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type PreparedModel, prepareModelFolder } from "./prepare-model.ts";
import {
  fixtureFolder,
  FixtureSession,
  fixtureTokenizer,
  type Golden,
  type GoldenCase,
  largestDifference,
  readGolden,
} from "./testing/fixture-models.ts";

const TOLERANCE = 1e-5;

const SOURCES: readonly { readonly model: string; readonly weights: string }[] = [
  { model: "tiny-bert-mean", weights: "model.safetensors" },
  { model: "tiny-bert-mean", weights: "onnx/model.onnx" },
  { model: "tiny-xlmr-cls", weights: "model.safetensors" },
  { model: "tiny-xlmr-cls", weights: "onnx/model.onnx" },
  { model: "tiny-qwen3-last", weights: "model.safetensors" },
  { model: "tiny-qwen3-last", weights: "onnx/model.onnx" },
  { model: "tiny-qwen3-last", weights: "onnx_kv/model.onnx" },
  { model: "tiny-qwen3-last/model-bf16", weights: "model.safetensors" },
  { model: "tiny-bert-mlm-splade", weights: "model.safetensors" },
  { model: "tiny-bert-mlm-splade", weights: "onnx/model.onnx" },
  { model: "tiny-distilbert-mlm-splade-doc", weights: "model.safetensors" },
  { model: "tiny-bert-mlm-splade-query", weights: "model.safetensors" },
];

const MODELS = [...new Set(SOURCES.map(({ model }) => model))];

describe.each(MODELS)("tokenizer of %s", (model) => {
  test("gives the golden ids of all texts", async () => {
    const golden = await readGolden(model);
    const tokenizer = await fixtureTokenizer(model);
    const texts = [
      ...golden.cases.map(({ id, prompt_text: text, ids, full_ids: full }) => ({
        id,
        text,
        ids: full ?? ids,
      })),
      ...golden.tokenizer_cases.map(({ text, ids }) => ({ id: text, text, ids })),
    ];
    for (const { id, text, ids } of texts) expect(tokenizer.encode(text).ids, id).toEqual(ids);
  });
});

/** What is wrong with a vector, `null` if nothing is. */
function fault(vector: Float32Array | undefined, expected: GoldenCase | undefined): string | null {
  if (vector === undefined || expected === undefined) return "missing";
  if (expected.sparse === undefined) {
    const difference = largestDifference(vector, expected.embedding ?? []);
    return difference <= TOLERANCE ? null : `${expected.id}: differs by ${difference}`;
  }
  const indices = [...vector.keys()].filter((index) => vector[index] !== 0);
  if (indices.join() !== expected.sparse.indices.join()) return `${expected.id}: indices ${indices.join()}`;
  const values = indices.map((index) => vector[index] ?? NaN);
  const difference = largestDifference(values, expected.sparse.values);
  return difference <= TOLERANCE ? null : `${expected.id}: differs by ${difference}`;
}

describe.each(SOURCES)("$model from $weights", ({ model, weights }) => {
  let workFolder: string;
  let golden: Golden;
  let prepared: PreparedModel;
  let session: FixtureSession;

  beforeAll(async () => {
    workFolder = await mkdtemp(path.join(tmpdir(), "sheaf-golden-"));
    golden = await readGolden(model);
    prepared = await prepareModelFolder(fixtureFolder(model), { head: golden.pooling, workFolder, weights });
    session = await FixtureSession.open(prepared);
  });

  afterAll(async () => {
    await session.close();
    await rm(workFolder, { recursive: true, force: true });
  });

  /** Runs cases as one batch. */
  const faultsOf = async (
    indexes: readonly number[],
    side: "left" | "right" = "right",
  ): Promise<string[]> => {
    const cases = indexes.map((index) => golden.cases[index]);
    const rows = cases.map((expected) => expected?.ids ?? []);
    const vectors = await session.run(rows, side);
    return cases.flatMap((expected, i) => fault(vectors[i], expected) ?? []);
  };

  const everything = (): number[] => [...golden.cases.keys()];

  test("gives the golden vector of every text alone", async () => {
    expect(golden.cases.length).toBeGreaterThan(20);
    expect(prepared.width).toBe(golden.dim);
    for (const index of everything()) expect(await faultsOf([index])).toEqual([]);
  });

  test("gives the same vectors in batches, in any order", async () => {
    for (const indexes of [...golden.batches.map(({ cases }) => cases), everything()]) {
      expect(await faultsOf(indexes)).toEqual([]);
      expect(await faultsOf(indexes.toReversed())).toEqual([]);
      expect(await faultsOf([...indexes.slice(2), ...indexes.slice(0, 2)])).toEqual([]);
    }
  });

  test("does not depend on how far a text is padded", async () => {
    const lengths = golden.cases.map(({ ids }) => ids.length);
    const longest = lengths.indexOf(Math.max(...lengths));
    for (const index of everything()) expect(await faultsOf([index, longest])).toEqual([]);
  });

  test("gives the same vectors with padding on the left, where the last token is pooled", async () => {
    const batches =
      golden.pooling === "last" ? [...golden.batches.map(({ cases }) => cases), everything()] : [];
    for (const indexes of batches) expect(await faultsOf(indexes, "left")).toEqual([]);
    expect(batches.length > 0).toBe(golden.pooling === "last");
  });

  test("labels are the vocabulary's tokens", async () => {
    const tokenizer = await fixtureTokenizer(model);
    const sparse = golden.cases.flatMap((expected) => expected.sparse ?? []);
    expect(sparse).toHaveLength(golden.kind === "sparse" ? golden.cases.length : 0);
    for (const { indices, labels } of sparse) {
      expect(indices.map((index) => tokenizer.id_to_token(index))).toEqual(labels);
    }
  });
});
