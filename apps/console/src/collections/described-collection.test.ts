import { hybridSchema } from "@sheaf/client";
import { describe, expect, it } from "vitest";
import { type Described, createParams } from "./described-collection.ts";

const PLAIN: Described = {
  ...{ name: "notes", embedding: "hybrid", space: "cosine", cut: "none", size: null },
  model: "sentence-transformers/all-MiniLM-L6-v2",
};

describe("a new collection", () => {
  it("is what hybridSchema describes, where it has both kinds of vectors", () => {
    expect(createParams(PLAIN)).toEqual({ name: "notes", schema: hybridSchema() });
    expect(createParams({ ...PLAIN, model: "m", space: "l2", cut: "headings", size: 64 })).toEqual({
      name: "notes",
      schema: hybridSchema({ model: "m", space: "l2", chunking: { by: "headings", size: 64 } }),
    });
  });

  it("has no sparse index where it has dense vectors only", () => {
    const { schema } = createParams({ ...PLAIN, embedding: "dense", cut: "sentences" });
    expect(Object.keys(schema?.keys ?? {})).toEqual(["#embedding"]);
    expect(schema?.chunking).toEqual({ by: "sentences" });
  });

  it("has a metric and nothing to embed with where records bring vectors", () => {
    expect(createParams({ ...PLAIN, embedding: "none", space: "ip", cut: "tokens" })).toEqual({
      name: "notes",
      configuration: { hnsw: { space: "ip" } },
    });
  });
});
