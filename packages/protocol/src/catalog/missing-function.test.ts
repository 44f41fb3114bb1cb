import { describe, expect, it } from "vitest";
import type { JsonObject } from "./ast.ts";
import { describeMissingFunction } from "./missing-function.ts";

const HAS = "this server has default, chroma-cloud-qwen, chroma-cloud-splade, chroma_bm25, sheaf";
const known = (name: string, config: JsonObject = {}): JsonObject => ({ type: "known", name, config });

describe("a function that the server cannot embed with", () => {
  it.each<[string, JsonObject | null, RegExp | string]>([
    ["there is none", null, `the collection was made without an embedding function; ${HAS}`],
    ["a client's own", { type: "unknown" }, `the collection was made without an embedding function; ${HAS}`],
    ["a misspelt one", known("sheaff"), `the embedding function "sheaff" is unknown; ${HAS}`],
    ["no name of an object's own", known("toString"), `the embedding function "toString" is unknown; ${HAS}`],
    ["a long name", known("x".repeat(1_000)), /^the embedding function "x{100}" is unknown; /u],
    [
      "a model that nobody knows",
      known("chroma-cloud-qwen", { model: "no/model" }),
      /^of the embedding function "chroma-cloud-qwen": unknown embedding model "no\/model"; known models: /u,
    ],
    ["one of the other kind", known("chroma_bm25"), /"chroma_bm25" makes sparse vectors, not dense ones$/u],
    [
      "one of another dimension",
      known("default"),
      /"default" have another dimension than those of the coll/u,
    ],
  ])("is described: %s", (_name, embeddingFunction, expected) => {
    const described = describeMissingFunction(embeddingFunction, "dense");
    if (typeof expected === "string") expect(described).toBe(expected);
    else expect(described).toMatch(expected);
  });
});
