import { cp, link, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type PrepareOptions, prepareModelFolder } from "./prepare-model.ts";
import { fixtureFolder, FixtureSession, largestDifference, readGolden } from "./testing/fixture-models.ts";
import { readRawTensors, toHalf, writeRawTensors } from "./testing/safetensors-writer.ts";

const ROW = [4, 20, 30, 40, 50, 5];
const ROWS = [ROW, [4, 60, 5], [4, 70, 80, 90, 5]];

let root: string;
let folder: string;
let workFolder: string;

beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), "sheaf-prepare-"));
  folder = path.join(root, "model");
  workFolder = path.join(root, "work");
});

afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

async function vectorsOf(
  from: string,
  options: Omit<PrepareOptions, "workFolder">,
  rows: readonly (readonly number[])[] = ROWS,
): Promise<Float32Array[]> {
  const session = await FixtureSession.open(await prepareModelFolder(from, { ...options, workFolder }));
  try {
    return await session.run(rows);
  } finally {
    await session.close();
  }
}

function differences(a: readonly Float32Array[], b: readonly Float32Array[]): number {
  return Math.max(...a.map((vector, i) => largestDifference(vector, b[i] ?? [])));
}

/** The folder as the Hugging Face cache holds it: `snapshots/<commit>/name` links to `blobs/<digest>`. */
async function asCacheSnapshot(model: string): Promise<string> {
  const blobs = path.join(root, "blobs");
  const snapshot = path.join(root, "snapshots", "0123456789");
  await cp(fixtureFolder(model), path.join(root, "plain"), { recursive: true });
  await mkdir(blobs);
  const entries = await readdir(path.join(root, "plain"), { recursive: true, withFileTypes: true });
  for (const [i, entry] of entries.filter((entry) => entry.isFile()).entries()) {
    const plain = path.join(entry.parentPath, entry.name);
    const linked = path.join(snapshot, path.relative(path.join(root, "plain"), plain));
    await link(plain, path.join(blobs, `blob${i}`));
    await mkdir(path.dirname(linked), { recursive: true });
    await symlink(path.relative(path.dirname(linked), path.join(blobs, `blob${i}`)), linked);
  }
  await rm(path.join(root, "plain"), { recursive: true });
  return snapshot;
}

describe("sources", () => {
  test("prefers an ONNX file and falls back to safetensors", async () => {
    await cp(fixtureFolder("tiny-bert-mean"), folder, { recursive: true });
    const onnx = await prepareModelFolder(folder, { head: "mean", workFolder });
    expect(onnx.sourceFiles).toEqual([path.join(folder, "onnx/model.onnx")]);
    await rm(path.join(folder, "onnx"), { recursive: true });
    const safetensors = await prepareModelFolder(folder, { head: "mean", workFolder });
    expect(safetensors.sourceFiles).toEqual([path.join(folder, "model.safetensors")]);
    expect(safetensors).toMatchObject({ width: 32, padId: 0, output: "sheaf_pooled" });
    expect(safetensors.inputs.map(({ kind }) => kind)).toEqual(["input_ids", "attention_mask"]);
  });

  test("a finished ONNX file is used where it lies", async () => {
    const model = fixtureFolder("tiny-xlmr-cls");
    const prepared = await prepareModelFolder(model, { head: "cls", workFolder });
    expect(prepared).toMatchObject({
      modelPath: path.join(model, "onnx/model.onnx"),
      output: "sentence_embedding",
      width: 48,
      padId: 1,
    });
    await expect(readdir(workFolder)).rejects.toThrow("ENOENT");
  });

  test.each([
    ["tiny-xlmr-cls", "onnx/model.onnx", "cls"],
    ["tiny-xlmr-cls", "model.safetensors", "cls"],
    ["tiny-bert-mean", "onnx/model.onnx", "mean"],
  ] as const)("%s from %s works through the links of a download cache", async (model, weights, head) => {
    const snapshot = await asCacheSnapshot(model);
    const plain = await vectorsOf(fixtureFolder(model), { head, weights });
    expect(differences(await vectorsOf(snapshot, { head, weights }), plain)).toBe(0);
  });

  test("weights are linked, not copied", async () => {
    await cp(fixtureFolder("tiny-qwen3-last"), folder, { recursive: true });
    const { modelPath } = await prepareModelFolder(folder, {
      head: "last",
      workFolder,
      weights: "model.safetensors",
    });
    const linked = await stat(path.join(path.dirname(modelPath), "model.safetensors"));
    expect(linked.ino).toBe((await stat(path.join(folder, "model.safetensors"))).ino);
    expect((await stat(modelPath)).size).toBeLessThan(60_000);
  });

  test("shards give the same as one file", async () => {
    await cp(fixtureFolder("tiny-qwen3-last"), folder, { recursive: true });
    const whole = await vectorsOf(folder, { head: "last", weights: "model.safetensors" });
    const weightMap: Record<string, string> = {};
    const shards = [new Map(), new Map()] as const;
    for (const [name, tensor] of await readRawTensors(path.join(folder, "model.safetensors"))) {
      const shard = name.startsWith("layers.1") ? 1 : 0;
      weightMap[name] = `model-0000${shard + 1}-of-00002.safetensors`;
      shards[shard].set(name, tensor);
    }
    for (const [i, shard] of shards.entries()) {
      await writeRawTensors(path.join(folder, `model-0000${i + 1}-of-00002.safetensors`), shard);
    }
    await rm(path.join(folder, "model.safetensors"));
    await rm(path.join(folder, "onnx"), { recursive: true });
    await writeFile(
      path.join(folder, "model.safetensors.index.json"),
      JSON.stringify({ weight_map: weightMap }),
    );
    expect(differences(await vectorsOf(folder, { head: "last" }), whole)).toBe(0);
  });

  test("half-precision weights give nearly the same, with names prefixed as a language model's", async () => {
    await cp(fixtureFolder("tiny-qwen3-last"), folder, { recursive: true });
    const file = path.join(folder, "model.safetensors");
    const whole = await vectorsOf(folder, { head: "last", weights: "model.safetensors" });
    const raw = await readRawTensors(file);
    await rm(file);
    await writeRawTensors(file, new Map([...raw].map(([name, tensor]) => [`model.${name}`, toHalf(tensor)])));
    const half = await vectorsOf(folder, { head: "last", weights: "model.safetensors" });
    expect(differences(half, whole)).toBeLessThan(5e-3);
    expect(differences(half, whole)).toBeGreaterThan(0);
  });

  test("a stored output matrix wins over the tied one", async () => {
    await cp(fixtureFolder("tiny-bert-mlm-splade-query"), folder, { recursive: true });
    const file = path.join(folder, "model.safetensors");
    const tied = await vectorsOf(folder, { head: "splade" });
    const raw = await readRawTensors(file);
    const embeddings = raw.get("bert.embeddings.word_embeddings.weight");
    if (embeddings === undefined) throw new Error("the fixture has no word embeddings");
    await rm(file);
    await writeRawTensors(file, new Map([...raw, ["cls.predictions.decoder.weight", embeddings]]));
    expect(differences(await vectorsOf(folder, { head: "splade" }), tied)).toBe(0);
    const zeros = { ...embeddings, data: Buffer.alloc(embeddings.data.length) };
    await rm(file);
    await writeRawTensors(file, new Map([...raw, ["cls.predictions.decoder.weight", zeros]]));
    expect(differences(await vectorsOf(folder, { head: "splade" }), tied)).toBeGreaterThan(0.1);
  });
});

describe("activations", () => {
  test("the tangent form of gelu is close to the exact one, relu is not", async () => {
    const model = "tiny-bert-mlm-splade-query";
    const file = path.join(folder, "config.json");
    await cp(fixtureFolder(model), folder, { recursive: true });
    const config = JSON.parse(await readFile(file, "utf8")) as Record<string, unknown>;
    const exact = await vectorsOf(folder, { head: "splade" });
    await writeFile(file, JSON.stringify({ ...config, hidden_act: "gelu_new" }));
    const tangent = differences(await vectorsOf(folder, { head: "splade" }), exact);
    await writeFile(file, JSON.stringify({ ...config, hidden_act: "relu" }));
    const relu = differences(await vectorsOf(folder, { head: "splade" }), exact);
    expect(tangent).toBeGreaterThan(0);
    expect(tangent).toBeLessThan(0.02);
    expect(relu).toBeGreaterThan(0.1);
  });
});

describe("heads", () => {
  test.each(["mean", "cls", "last"] as const)("%s is the same grafted and built", async (head) => {
    const model = fixtureFolder("tiny-bert-mean");
    const grafted = await vectorsOf(model, { head, weights: "onnx/model.onnx" });
    const built = await vectorsOf(model, { head, weights: "model.safetensors" });
    expect(differences(grafted, built)).toBeLessThan(1e-6);
    for (const vector of built) expect(Math.hypot(...vector)).toBeCloseTo(1, 5);
  });
});

describe("the work folder", () => {
  test("that cannot be written is named", async () => {
    await writeFile(workFolder, "a file in its place");
    const prepared = prepareModelFolder(fixtureFolder("tiny-bert-mean"), { head: "mean", workFolder });
    await expect(prepared).rejects.toMatchObject({
      code: "model_unavailable",
      message: expect.stringContaining(workFolder) as string,
    });
  });

  test("is used again, and anew when weights change", async () => {
    await cp(fixtureFolder("tiny-bert-mean"), folder, { recursive: true });
    const first = await prepareModelFolder(folder, { head: "mean", workFolder });
    const again = await prepareModelFolder(folder, { head: "mean", workFolder });
    expect(again).toEqual(first);
    expect(await readdir(workFolder)).toHaveLength(1);
    const file = path.join(folder, "onnx/model.onnx");
    const bytes = await readFile(file);
    await rm(file);
    await writeFile(file, bytes);
    const changed = await prepareModelFolder(folder, { head: "mean", workFolder });
    expect(changed.modelPath).not.toBe(first.modelPath);
  });

  test("may be filled by several at once and keeps no leftovers", async () => {
    await cp(fixtureFolder("tiny-bert-mean"), folder, { recursive: true });
    const all = await Promise.all(
      Array.from({ length: 8 }, () =>
        prepareModelFolder(folder, { head: "mean", workFolder, weights: "model.safetensors" }),
      ),
    );
    expect(new Set(all.map(({ modelPath }) => modelPath)).size).toBe(1);
    expect(await readdir(workFolder)).toHaveLength(1);
    const golden = await readGolden("tiny-bert-mean");
    const [expected] = golden.cases;
    const [vector] = await vectorsOf(folder, { head: "mean", weights: "model.safetensors" }, [
      expected?.ids ?? [],
    ]);
    expect(largestDifference(vector ?? [], expected?.embedding ?? [])).toBeLessThanOrEqual(1e-5);
  });
});

describe("what is missing or not supported is named", () => {
  const refusal = async (head: PrepareOptions["head"]): Promise<unknown> =>
    prepareModelFolder(folder, { head, workFolder }).catch((error: unknown) => error);

  const configure = async (model: string, change: Record<string, unknown>): Promise<void> => {
    await cp(fixtureFolder(model), folder, { recursive: true });
    await rm(path.join(folder, "onnx"), { recursive: true, force: true });
    const file = path.join(folder, "config.json");
    const config = JSON.parse(await readFile(file, "utf8")) as Record<string, unknown>;
    await writeFile(file, JSON.stringify({ ...config, ...change }));
  };

  test("no folder, no weights, no config", async () => {
    expect(await refusal("mean")).toMatchObject({ code: "model_unavailable", status: 503 });
    await mkdir(folder);
    await writeFile(path.join(folder, "model.safetensors"), "");
    expect(await refusal("mean")).toMatchObject({
      message: expect.stringContaining("config.json") as string,
    });
  });

  test("external data that is absent", async () => {
    await cp(fixtureFolder("tiny-xlmr-cls"), folder, { recursive: true });
    await rm(path.join(folder, "onnx/model.onnx_data"));
    expect(await refusal("cls")).toMatchObject({
      code: "model_unavailable",
      message: expect.stringContaining("model.onnx_data: is missing") as string,
    });
  });

  test.each([
    ["tiny-bert-mean", { model_type: "deberta" }, 'model_type "deberta" is not supported'],
    ["tiny-bert-mean", { hidden_act: "swish" }, 'hidden_act "swish" is not supported'],
    ["tiny-bert-mean", { position_embedding_type: "relative_key" }, "position_embedding_type"],
    [
      "tiny-bert-mean",
      { num_hidden_layers: 3 },
      "tensor encoder.layer.2.attention.self.query.weight is missing",
    ],
    ["tiny-bert-mean", { intermediate_size: 65 }, "has shape [64,32], config.json asks for [65,32]"],
    ["tiny-bert-mean", { num_attention_heads: 5 }, "hidden_size is no multiple of num_attention_heads"],
    ["tiny-bert-mean", { layer_norm_eps: "small" }, "layer_norm_eps is not a positive number"],
    ["tiny-xlmr-cls", { pad_token_id: null }, "pad_token_id is missing"],
    ["tiny-qwen3-last", { rope_scaling: { rope_type: "yarn" } }, "rope_scaling"],
    ["tiny-qwen3-last", { use_sliding_window: true }, "use_sliding_window true is not supported"],
    ["tiny-qwen3-last", { head_dim: 15 }, "head_dim is odd"],
  ])("%s with %o", async (model, change, problem) => {
    await configure(model, change);
    expect(await refusal("mean")).toMatchObject({
      code: "model_unavailable",
      message: expect.stringContaining(problem) as string,
    });
  });

  test("a sparse head over a model without a vocabulary output", async () => {
    await configure("tiny-bert-mean", {});
    expect(await refusal("splade")).toMatchObject({
      message: expect.stringContaining("tensor cls.predictions.transform.dense.weight is missing") as string,
    });
  });
});
