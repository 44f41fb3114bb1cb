/** The lane of the real models, on what is here without them: the bundled model, and weights that must be found wrong. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkModel } from "../scripts/models-real/check-model.ts";
import { KNOWN_MODELS } from "../scripts/models-real/known-models.ts";

const MINILM = "sentence-transformers/all-MiniLM-L6-v2";
/** Tiny models with random weights, in the layout of the published ones. */
const TINY: Readonly<Record<string, string>> = {
  [MINILM]: "tiny-bert-mean",
  "BAAI/bge-m3": "tiny-xlmr-cls",
  "Qwen/Qwen3-Embedding-0.6B": "tiny-qwen3-last",
  "prithivida/Splade_PP_en_v1": "tiny-bert-mlm-splade",
  "naver/efficient-splade-VI-BT-large-doc": "tiny-distilbert-mlm-splade-doc",
  "naver/efficient-splade-VI-BT-large-query": "tiny-bert-mlm-splade-query",
};

let cacheFolder: string;
beforeAll(() => {
  cacheFolder = mkdtempSync(join(tmpdir(), "sheaf-models-real-"));
});
afterAll(() => rmSync(cacheFolder, { recursive: true, force: true }));

function known(identifier: string): (typeof KNOWN_MODELS)[number] {
  const model = KNOWN_MODELS.find((candidate) => candidate.identifier === identifier);
  if (model === undefined) throw new Error(identifier);
  return model;
}

describe("models:real", () => {
  it("knows every model that has weights", () => {
    expect(KNOWN_MODELS.map(({ identifier }) => identifier).toSorted()).toEqual(Object.keys(TINY).toSorted());
  });

  it("finds the bundled model right, in every respect", async () => {
    const verdict = await checkModel(known(MINILM), { hub: { cacheFolder } });
    expect(verdict).toMatchObject({ kind: "checked", revision: "1110a243-f16" });
    if (verdict.kind === "absent") throw new Error("it is bundled");
    expect(verdict.findings.filter(({ right }) => !right)).toEqual([]);
    expect(verdict.findings.map(({ seen }) => seen)).toContainEqual(
      expect.stringMatching(/^30 reference vectors within \d\.\de-\d+$/u),
    );
  });

  it.each(Object.keys(TINY).filter((identifier) => identifier !== MINILM))(
    "does not run %s where its weights are absent",
    async (identifier) => {
      expect(await checkModel(known(identifier), { hub: { cacheFolder } })).toEqual({ kind: "absent" });
    },
  );

  it.each(Object.entries(TINY))(
    "finds other weights under the name of %s wrong",
    async (identifier, fixture) => {
      const path = fileURLToPath(
        new URL(`../packages/inference/fixtures/models/${fixture}`, import.meta.url),
      );
      const verdict = await checkModel(known(identifier), { models: { [identifier]: { path } } });
      if (verdict.kind === "absent") throw new Error("it was named");
      const wrong = verdict.findings.filter(({ right }) => !right).map(({ seen }) => seen);
      // What does not depend on the weights is right with random ones too.
      expect(wrong).not.toContainEqual(expect.stringContaining("alone as in a batch"));
      expect(wrong).toContainEqual(expect.stringMatching(/nearer by|answers score/u));
    },
  );

  it("finds a folder wrong that was named and is not there", async () => {
    const options = { models: { "BAAI/bge-m3": { path: join(cacheFolder, "nothing") } } };
    const verdict = await checkModel(known("BAAI/bge-m3"), options);
    expect(verdict).toMatchObject({
      findings: [{ right: false, seen: expect.stringContaining("does not exist") }],
    });
  });
});
