import { describe, expect, it } from "vitest";
import type { JsonObject } from "./ast.ts";
import {
  checkEmbeddingFunction,
  collectionStatistics,
  embeddingPlan,
  planForQueries,
} from "./embedding-plan.ts";
import { MODEL_KINDS } from "../embed/models.ts";
import { JsonFloat } from "../json/json-float.ts";
import { refusalOf } from "./testing/refusal.ts";

const BARE = {
  queryModel: null,
  documentInstruction: "",
  queryInstruction: "",
  truncate: false,
  includeTokens: false,
  bm25: null,
};
const QWEN = "Qwen/Qwen3-Embedding-0.6B";
const KNOWN = Object.keys(MODEL_KINDS).join(", ");
const CODE_QUERY = "Given a question about coding, retrieval code or passage that can solve user's question";

function known(name: string, config: JsonObject | null): JsonObject {
  return { type: "known", name, config };
}

describe("embeddingPlan", () => {
  it("knows the default function", () => {
    const model = "sentence-transformers/all-MiniLM-L6-v2";
    expect(embeddingPlan(known("default", {}))).toEqual({ ...BARE, model });
    expect(embeddingPlan(known("default", null))).toEqual({ ...BARE, model });
    expect(embeddingPlan(known("default", { truncate: true }))).toEqual({ ...BARE, model, truncate: true });
  });

  it("reads the dense function of shipped clients, sentences per task included", () => {
    const config = {
      api_key_env_var: "CHROMA_API_KEY",
      model: QWEN,
      task: "nl_to_code",
      instructions: { nl_to_code: { documents: "D", query: "Q" } },
    };
    expect(embeddingPlan(known("chroma-cloud-qwen", config))).toEqual({
      ...BARE,
      model: QWEN,
      documentInstruction: "D",
      queryInstruction: "Q",
    });
  });

  it.each<[JsonObject, string, string]>([
    [{ model: QWEN, task: "nl_to_code" }, "", CODE_QUERY],
    [{ model: QWEN, task: "nl_to_code", instructions: {} }, "", CODE_QUERY],
    [{ model: QWEN, task: "nl_to_code", instructions: { nl_to_code: { query: "Q" } } }, "", "Q"],
    [{ model: QWEN, task: "nl_to_code", instructions: "Mine" }, "", "Mine"],
    [{ model: QWEN, instructions: "Mine" }, "", "Mine"],
    [{ model: QWEN, task: null, instructions: { nl_to_code: { query: "Q" } } }, "", ""],
    [{ model: QWEN, task: "", instructions: {} }, "", ""],
    [{ model: QWEN, task: "unheard_of" }, "", ""],
    [{ model: QWEN, task: "constructor" }, "", ""],
    [{}, "", ""],
  ])("chooses the instructions of %j", (config, documentInstruction, queryInstruction) => {
    const expected = { ...BARE, model: QWEN, documentInstruction, queryInstruction };
    expect(embeddingPlan(known("chroma-cloud-qwen", config))).toEqual(expected);
  });

  it("reads the sparse function of shipped clients", () => {
    const config = { model: "prithivida/Splade_PP_en_v1", api_key_env_var: "K", include_tokens: true };
    const expected = { ...BARE, model: "prithivida/Splade_PP_en_v1" };
    expect(embeddingPlan(known("chroma-cloud-splade", config))).toEqual({ ...expected, includeTokens: true });
    expect(embeddingPlan(known("chroma-cloud-splade", {}))).toEqual(expected);
  });

  it("reads the settings of bm25", () => {
    expect(embeddingPlan(known("chroma_bm25", {}))).toEqual({ ...BARE, model: "sheaf/bm25", bm25: {} });
    const config = {
      k: 1.5,
      b: 0.5,
      avg_doc_length: 100,
      token_max_length: 20,
      stopwords: ["a"],
      include_tokens: true,
    };
    expect(embeddingPlan(known("chroma_bm25", config))?.includeTokens).toBe(true);
    expect(embeddingPlan(known("chroma_bm25", config))?.bm25).toEqual({
      k: 1.5,
      b: 0.5,
      averageDocumentLength: 100,
      tokenMaxLength: 20,
      stopwords: ["a"],
    });
    expect(embeddingPlan(known("chroma_bm25", { stopwords: null, k: null }))?.bm25).toEqual({});
  });

  it("reads our own function", () => {
    const config = { model: "a/b", query_model: "a/q", instructions: "I", truncate: true };
    expect(embeddingPlan(known("sheaf", config))).toEqual({
      ...BARE,
      model: "a/b",
      queryModel: "a/q",
      queryInstruction: "I",
      truncate: true,
    });
    const table = { faq: { documents: "d", query: "q" } };
    expect(embeddingPlan(known("sheaf", { model: "a/b", task: "faq" }), table)).toEqual({
      ...BARE,
      model: "a/b",
      documentInstruction: "d",
      queryInstruction: "q",
    });
  });

  it("reads the settings of our own bm25 once it says whose statistics it has", () => {
    const plan = (config: JsonObject): unknown =>
      embeddingPlan(known("sheaf", { model: "sheaf/bm25", ...config }))?.bm25;
    expect(plan({ statistics: "collection", k: 0.9, token_max_length: 9 })).toEqual({
      k: 0.9,
      tokenMaxLength: 9,
      frequencies: true,
    });
    expect(plan({ statistics: "fixed", b: 0.5, avg_doc_length: 30 })).toEqual({
      b: 0.5,
      averageDocumentLength: 30,
    });
    const queries = planForQueries(
      embeddingPlan(known("sheaf", { model: "sheaf/bm25", statistics: "collection", k: 2 }))!,
    );
    expect(queries.bm25).toEqual({ k: 2, b: 0, frequencies: false });
    expect(planForQueries({ ...queries, bm25: { b: 0.5 } }).bm25).toEqual({ b: 0.5 });
    // Stored by a version that did not read them.
    expect(plan({ k: "2" })).toBeNull();
    expect(plan({ statistics: null, b: 7 })).toBeNull();
  });

  it.each([
    null,
    { type: "legacy" },
    { type: "unknown" },
    { type: "legacy", name: "default", config: {} },
    known("openai", { model: "x" }),
    known("constructor", {}),
    { type: "known" },
  ])("does not know %j", (embeddingFunction) => {
    expect(embeddingPlan(embeddingFunction)).toBeNull();
  });
});

describe("collectionStatistics", () => {
  it("are those of our own bm25 that says so, whatever else was stored", () => {
    const statistics = (name: string, config: JsonObject): unknown =>
      collectionStatistics(known(name, { model: "sheaf/bm25", ...config }));
    const collection = { statistics: "collection" };
    expect(statistics("sheaf", collection)).toEqual({ k: 1.2, b: 0.75 });
    expect(statistics("sheaf", { ...collection, k: new JsonFloat(2), b: 0 })).toEqual({ k: 2, b: 0 });
    for (const config of [{}, { statistics: "fixed" }, { statistics: 1 }, { ...collection, model: "a/b" }])
      expect(statistics("sheaf", config)).toBeNull();
    expect(statistics("chroma_bm25", collection)).toBeNull();
    expect(collectionStatistics(null)).toBeNull();
  });
});

describe("checkEmbeddingFunction", () => {
  it.each<[string, JsonObject, string]>([
    ["sheaf", {}, "ef.config.model: must name a model"],
    ["sheaf", { model: "" }, "ef.config.model: must name a model"],
    ["sheaf", { model: 1 }, "ef.config.model: must be a string"],
    ["sheaf", { model: "a/b", truncate: "yes" }, "ef.config.truncate: must be true or false"],
    ["sheaf", { model: "a/b", query_model: [] }, "ef.config.query_model: must be a string"],
    ["sheaf", { model: "a/b", task: 1 }, "ef.config.task: must be a string"],
    ["sheaf", { model: "a/b" }, `ef.config.model: unknown embedding model "a/b"; known models: ${KNOWN}`],
    [
      "sheaf",
      { model: "sheaf/bm25" },
      "ef.config.model: sheaf/bm25 makes sparse vectors, the index holds dense ones",
    ],
    [
      "sheaf",
      { model: QWEN, query_model: "constructor" },
      `ef.config.query_model: unknown embedding model "constructor"; known models: ${KNOWN}`,
    ],
    ["chroma-cloud-qwen", { model: [] }, "ef.config.model: must be a string"],
    ["chroma-cloud-qwen", { instructions: 5 }, "ef.config.instructions: must be a string or an object"],
    [
      "chroma-cloud-qwen",
      { task: "t", instructions: { t: "x" } },
      "ef.config.instructions.t: must be an object of documents and query",
    ],
    [
      "chroma-cloud-qwen",
      { task: "t", instructions: { t: { query: 1 } } },
      "ef.config.instructions.t.query: must be a string",
    ],
    ["chroma-cloud-splade", { model: false }, "ef.config.model: must be a string"],
    [
      "sheaf",
      { model: "sheaf/bm25", statistics: "mine" },
      "ef.config.statistics: must be `collection` or `fixed`",
    ],
    ["sheaf", { model: "sheaf/bm25", statistics: true }, "ef.config.statistics: must be a string"],
    [
      "sheaf",
      { model: QWEN, statistics: "fixed" },
      `ef.config.statistics: is a setting of sheaf/bm25, not of ${QWEN}`,
    ],
    [
      "sheaf",
      { model: "sheaf/bm25", statistics: "collection", k: 1_001 },
      "ef.config.k: must not be above 1000",
    ],
    [
      "sheaf",
      { model: "sheaf/bm25", statistics: "collection", avg_doc_length: 9 },
      "ef.config.avg_doc_length: goes with the statistics `fixed`; these are `collection`",
    ],
    ["sheaf", { model: "sheaf/bm25", statistics: "fixed", b: 2 }, "ef.config.b: must lie within 0 and 1"],
    ["chroma_bm25", { k: "1" }, "ef.config.k: must be a number"],
    ["chroma_bm25", { k: -1 }, "ef.config.k: must not be negative"],
    ["chroma_bm25", { b: 1.5 }, "ef.config.b: must lie within 0 and 1"],
    ["chroma_bm25", { avg_doc_length: 0 }, "ef.config.avg_doc_length: must be positive"],
    ["chroma_bm25", { token_max_length: 0 }, "ef.config.token_max_length: must be at least 1"],
    ["chroma_bm25", { stopwords: "a" }, "ef.config.stopwords: must be an array of strings"],
    ["chroma_bm25", { stopwords: ["a", 1] }, "ef.config.stopwords[1]: must be a string"],
  ])("refuses %s with %j", (name, config, refusal) => {
    expect(refusalOf(() => checkEmbeddingFunction(known(name, config), "dense", "ef"))).toBe(
      `400 ${refusal}`,
    );
  });

  it("passes what the server does not know", () => {
    for (const embeddingFunction of [
      { type: "legacy" },
      known("openai", { k: "1" }),
      known("chroma-cloud-qwen", { model: "a/b" }),
    ]) {
      expect(() => checkEmbeddingFunction(embeddingFunction, "dense", "ef")).not.toThrow();
    }
  });
});
