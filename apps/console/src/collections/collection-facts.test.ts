import { hybridSchema } from "@sheaf/client";
import { describe, expect, it } from "vitest";
import { factsOf } from "./collection-facts.ts";

const INFO = {
  ...{ id: "c-1", name: "notes", tenant: "t", database: "d", dimension: 384, metadata: null },
  ...{ configuration: {}, logPosition: 0, version: 0 },
};

describe("the facts of a collection", () => {
  it("are read from a hybrid schema", () => {
    const made = hybridSchema({ space: "ip", chunking: { by: "tokens", size: 1_000, overlap: 20 } });
    const schema = { ...made, keys: { ...made.keys, year: { int: {} } } };
    expect(Object.fromEntries(factsOf({ ...INFO, schema }))).toEqual({
      Id: "c-1",
      Dimension: "384",
      Metric: "ip",
      "Dense vectors": "sentence-transformers/all-MiniLM-L6-v2",
      "Sparse indexes": "bm25 (sheaf/bm25)",
      "Metadata keys": "year",
      "Documents are cut": "by tokens, into 1,000 tokens at most, 20 of them in both",
    });
  });

  it("are read from a configuration, and say what there is not", () => {
    const info = { ...INFO, dimension: null, schema: {}, configuration: { hnsw: { space: "cosine" } } };
    expect(Object.fromEntries(factsOf(info))).toMatchObject({
      Dimension: "that of the first vector",
      Metric: "cosine",
      "Dense vectors": "records bring them",
      "Sparse indexes": "none",
      "Documents are cut": "not at all",
    });
  });
});
