import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { findModelFolder, modelUnavailable } from "./model-folder.ts";
import { modelEntry } from "./model-registry.ts";
import { weightsDigest } from "./weights-digest.ts";

const COMMIT = "c25a394dd583836952667c12f008335071b3f43d";
const root = mkdtempSync(join(tmpdir(), "sheaf-model-folder-"));

afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

function folder(files: Readonly<Record<string, unknown>>, name = "model"): string {
  const path = join(root, name);
  mkdirSync(join(path, "onnx"), { recursive: true });
  for (const [file, content] of Object.entries(files)) {
    writeFileSync(join(path, file), typeof content === "string" ? content : JSON.stringify(content));
  }
  return path;
}

const complete = { "config.json": { hidden_size: 8 }, "tokenizer.json": {}, "onnx/model.onnx": "weights" };

describe("findModelFolder", () => {
  const qwen = modelEntry("Qwen/Qwen3-Embedding-0.6B");

  it("takes the commit of a cache folder as revision, else the configured one or `local`", () => {
    const path = folder(complete, COMMIT);
    expect(findModelFolder(qwen, { path })).toMatchObject({ path, revision: COMMIT, dimension: 8 });
    expect(findModelFolder(qwen, { path, revision: "mine" })).toMatchObject({ revision: "mine" });
    expect(findModelFolder(qwen, { path: folder(complete) })).toMatchObject({ revision: "local" });
  });

  it("finds the limit in the files, the trained one first, and never exceeds the registry's", () => {
    const limit = (files: Readonly<Record<string, unknown>>, name: string): unknown =>
      findModelFolder(qwen, { path: folder({ ...complete, ...files }, name) });
    expect(limit({}, "none")).toMatchObject({ maxTokens: 32_768 });
    expect(limit({ "tokenizer_config.json": { model_max_length: 1e30 } }, "endless")).toMatchObject({
      maxTokens: 32_768,
    });
    expect(limit({ "tokenizer_config.json": { model_max_length: 512 } }, "stated")).toMatchObject({
      maxTokens: 512,
    });
    expect(limit({ "config.json": { max_position_embeddings: 64 } }, "rows")).toMatchObject({
      maxTokens: 64,
    });
    expect(
      limit(
        {
          "tokenizer_config.json": { model_max_length: 512 },
          "sentence_bert_config.json": { max_seq_length: 256 },
        },
        "trained",
      ),
    ).toMatchObject({ maxTokens: 256 });
  });

  it("says what is missing", () => {
    expect(findModelFolder(qwen, undefined)).toEqual({
      missing: "fetch its weights with `sheaf models pull Qwen/Qwen3-Embedding-0.6B`",
      command: "fetch its weights with `sheaf models pull Qwen/Qwen3-Embedding-0.6B`",
    });
    expect(findModelFolder(qwen, { path: join(root, "none") })).toMatchObject({
      missing: expect.stringContaining("does not exist"),
    });
    const { "onnx/model.onnx": _, ...withoutWeights } = complete;
    expect(findModelFolder(qwen, { path: folder(withoutWeights, "empty") })).toMatchObject({
      missing: expect.stringContaining("has no onnx/model.onnx or model.onnx or model.safetensors"),
    });
    expect(modelUnavailable("a/model", "it is gone")).toMatchObject({
      status: 503,
      message: "the model a/model is not available: it is gone",
    });
  });

  it("names a configuration file it cannot read", () => {
    const path = folder({ ...complete, "config.json": "{" }, "damaged");
    expect(findModelFolder(qwen, { path })).toMatchObject({
      missing: expect.stringContaining("config.json: not valid JSON"),
    });
  });
});

describe("weightsDigest", () => {
  it("is a file's own SHA-256, and over several independent of their order", async () => {
    const path = folder({ a: "first", b: "second" }, "weights");
    const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
    const files = [join(path, "a"), join(path, "b")];
    expect(await weightsDigest(files.slice(0, 1))).toBe(`sha256:${sha256("first")}`);
    const both = sha256([`${sha256("first")}  a\n`, `${sha256("second")}  b\n`].sort().join(""));
    expect(await weightsDigest(files)).toBe(`sha256:${both}`);
    expect(await weightsDigest(files.reverse())).toBe(`sha256:${both}`);
  });
});
