/** Schemas as the published JavaScript client builds and reads them. */
import {
  ChromaClient,
  FtsIndexConfig,
  IntInvertedIndexConfig,
  Schema,
  SparseVectorIndexConfig,
  StringInvertedIndexConfig,
  VectorIndexConfig,
} from "chromadb";
import { ChromaBm25EmbeddingFunction } from "@chroma-core/chroma-bm25";
import { describe, expect, it } from "vitest";
import { embeddingPlan } from "./embedding-plan.ts";
import { indexPlan } from "./index-plan.ts";
import { createOf } from "./testing/collection.ts";

/** What the client puts into every create body without being asked. */
const CONFIGURATION = { embedding_function: { name: "default", type: "known", config: {} } };

function create(schema: Schema): ReturnType<typeof createOf> {
  return createOf({ schema: schema.serializeToJSON(), configuration: CONFIGURATION });
}

describe("a schema of the client", () => {
  it("that says nothing makes the collection that a bare configuration makes", () => {
    expect(create(new Schema())).toEqual(createOf({ configuration: CONFIGURATION }));
  });

  it("sets the dense index", () => {
    const schema = new Schema().createIndex(
      new VectorIndexConfig({ space: "cosine", hnsw: { ef_search: 50 } }),
    );
    const described = create(schema);
    expect(described.configuration).toMatchObject({
      hnsw: { space: "cosine", ef_search: 50 },
      embedding_function: CONFIGURATION.embedding_function,
    });
    const configuration = { hnsw: { space: "cosine", ef_search: 50 }, ...CONFIGURATION };
    const same = createOf({ configuration });
    expect(described.configuration).toEqual(same.configuration);
    expect(described.schema["keys"]).toEqual(same.schema["keys"]);
  });

  it("makes sparse indexes whose function the server reads", () => {
    const embeddingFunction = new ChromaBm25EmbeddingFunction({ k: 1.4, avgDocLength: 100 });
    const sparse = { embeddingFunction, sourceKey: "#document", bm25: true };
    const schema = new Schema()
      .createIndex(new SparseVectorIndexConfig(sparse), "terms")
      .createIndex(new SparseVectorIndexConfig(), "manual");
    const [terms, manual] = indexPlan(create(schema).schema).sparse;
    expect(terms).toMatchObject({ key: "terms", bm25: true, sourceKey: "#document" });
    expect(embeddingPlan(terms?.embeddingFunction ?? null)).toMatchObject({
      model: "sheaf/bm25",
      bm25: { k: 1.4, b: 0.75, averageDocumentLength: 100, tokenMaxLength: 40 },
    });
    expect(manual).toEqual({
      key: "manual",
      bm25: false,
      sourceKey: null,
      embeddingFunction: { type: "legacy" },
    });
  });

  it("comes back to the client as it was sent", async () => {
    const schema = new Schema()
      .createIndex(new SparseVectorIndexConfig({ bm25: true }), "terms")
      .deleteIndex(new StringInvertedIndexConfig(), "body")
      .deleteIndex(new IntInvertedIndexConfig())
      .deleteIndex(new FtsIndexConfig(), "#document");
    const client = new ChromaClient();
    const reply: object = JSON.parse(JSON.stringify(createOf({ schema: schema.serializeToJSON() }).schema));
    const read = await Schema.deserializeFromJSON({ ...reply }, client);
    expect(read?.keys["body"]?.string?.stringInvertedIndex?.enabled).toBe(false);
    expect(read?.keys["#document"]?.string?.ftsIndex?.enabled).toBe(false);
    expect(read?.defaults.intValue?.intInvertedIndex?.enabled).toBe(false);
    expect(read?.keys["terms"]?.sparseVector?.sparseVectorIndex).toMatchObject({
      enabled: true,
      config: { bm25: true, sourceKey: null },
    });
    expect(read?.keys["#embedding"]?.floatList?.vectorIndex).toMatchObject({
      enabled: true,
      config: { space: "l2", sourceKey: "#document" },
    });
  });
});
