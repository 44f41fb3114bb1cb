/** npm `chromadb`, unchanged: what a collection is made of - configurations, schemas, metadata - and how it changes. */
import {
  BoolInvertedIndexConfig,
  type ChromaClient,
  ChromaClientError,
  ChromaServerError,
  ChromaUniqueError,
  Cmek,
  type CreateCollectionConfiguration,
  FloatInvertedIndexConfig,
  FtsIndexConfig,
  IntInvertedIndexConfig,
  Schema,
  SparseVectorIndexConfig,
  StringInvertedIndexConfig,
  VectorIndexConfig,
  type Where,
} from "chromadb";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServedSheaf } from "../e2e/testing/served-sheaf.ts";
import { chromaClient } from "./testing/chroma.ts";

let served: ServedSheaf;
let client: ChromaClient;
let made = 0;

beforeAll(async () => {
  served = await ServedSheaf.start();
  client = chromaClient(served);
});

afterAll(async () => {
  await served.dispose();
});

type IndexConfig = NonNullable<Parameters<Schema["deleteIndex"]>[0]>;

const plain = () => client.createCollection({ name: `plain-${made++}`, embeddingFunction: null });
const withSchema = (schema: Schema) =>
  client.createCollection({ name: `schema-${made++}`, schema, embeddingFunction: null });

describe("configuration", () => {
  it.each<[string, CreateCollectionConfiguration, object]>([
    ["the defaults", {}, { space: "l2", ef_construction: 100, ef_search: 100, max_neighbors: 16 }],
    ["a space", { hnsw: { space: "cosine" } }, { space: "cosine", ef_search: 100 }],
    [
      "every hnsw parameter",
      {
        hnsw: {
          space: "ip",
          ef_construction: 77,
          ef_search: 66,
          max_neighbors: 8,
          resize_factor: 1.5,
          sync_threshold: 500,
          batch_size: 50,
          num_threads: 2,
        },
      },
      {
        space: "ip",
        ef_construction: 77,
        ef_search: 66,
        max_neighbors: 8,
        resize_factor: 1.5,
        sync_threshold: 500,
      },
    ],
  ])("keeps %s", async (_, configuration, hnsw) => {
    const { name, configuration: shown } = await client.createCollection({
      name: `configured-${made++}`,
      configuration,
      embeddingFunction: null,
    });
    expect(shown.hnsw).toMatchObject(hnsw);
    expect((await client.getCollection({ name })).configuration.hnsw).toEqual(shown.hnsw);
  });

  it("keeps spann parameters", async () => {
    const { configuration } = await client.createCollection({
      name: "spann",
      configuration: { spann: { space: "cosine", search_nprobe: 32 } },
      embeddingFunction: null,
    });
    expect(configuration.spann).toMatchObject({ space: "cosine", search_nprobe: 32 });
  });

  it("reads the legacy metadata keys, and keeps them", async () => {
    const metadata = { "hnsw:space": "ip", "hnsw:M": 32 };
    const legacy = await client.createCollection({ name: "legacy", metadata, embeddingFunction: null });
    expect(legacy.configuration.hnsw).toMatchObject({ space: "ip", max_neighbors: 32 });
    expect(legacy.metadata).toEqual(metadata);
  });
});

describe("modify", () => {
  it("renames", async () => {
    const collection = await plain();
    await collection.modify({ name: "renamed" });
    expect((await client.getCollection({ name: "renamed" })).id).toBe(collection.id);
    const other = await plain();
    await expect(other.modify({ name: "renamed" })).rejects.toThrow(ChromaUniqueError);
  });

  it("replaces the metadata whole", async () => {
    const collection = await client.createCollection({
      name: "described",
      metadata: { a: 1, b: 2 },
      embeddingFunction: null,
    });
    await collection.modify({ metadata: { c: 3 } });
    expect((await client.getCollection({ name: "described" })).metadata).toEqual({ c: 3 });
  });

  it("changes what may change of the configuration, and never the space", async () => {
    const collection = await client.createCollection({
      name: "tuned",
      configuration: { hnsw: { space: "cosine" } },
      embeddingFunction: null,
    });
    await collection.modify({ configuration: { hnsw: { ef_search: 42 } } });
    expect((await client.getCollection({ name: "tuned" })).configuration.hnsw).toMatchObject({
      space: "cosine",
      ef_search: 42,
    });
    await expect(collection.modify({ configuration: { hnsw: { space: "l2" } as never } })).rejects.toThrow(
      ChromaClientError,
    );
  });
});

describe("schema", () => {
  it("keeps several sparse indexes beside the dense one", async () => {
    const { name } = await withSchema(
      new Schema()
        .createIndex(new VectorIndexConfig({ space: "cosine" }))
        .createIndex(new SparseVectorIndexConfig({ bm25: true }), "words")
        .createIndex(new SparseVectorIndexConfig({}), "tags"),
    );
    const { schema } = await client.getCollection({ name });
    expect(schema?.keys["#embedding"]?.floatList?.vectorIndex?.config.space).toBe("cosine");
    expect(schema?.keys["words"]?.sparseVector?.sparseVectorIndex).toMatchObject({
      enabled: true,
      config: { bm25: true },
    });
    expect(schema?.keys["tags"]?.sparseVector?.sparseVectorIndex?.enabled).toBe(true);
  });

  it.each<[string, IndexConfig, Where, Where, string[]]>([
    ["strings", new StringInvertedIndexConfig(), { k: "x" }, { k: 1 }, []],
    ["integers", new IntInvertedIndexConfig(), { k: 1 }, { k: "x" }, ["a"]],
    ["floats", new FloatInvertedIndexConfig(), { k: 1.5 }, { k: "x" }, ["a"]],
    ["booleans", new BoolInvertedIndexConfig(), { k: true }, { k: "x" }, ["a"]],
  ])(
    "deleteIndex of %s refuses filters of that type and no other",
    async (...[, config, refused, allowed, ids]) => {
      const collection = await withSchema(new Schema().deleteIndex(config, "k"));
      await collection.add({ ids: ["a"], embeddings: [[1]], metadatas: [{ k: "x" }] });
      await expect(collection.get({ where: refused })).rejects.toThrow(/indexing is disabled/u);
      expect((await collection.get({ where: allowed })).ids).toEqual(ids);
    },
  );

  it.each<[string, () => Schema]>([
    ["full text by default", () => new Schema().createIndex(new FtsIndexConfig())],
    ["a vector index on another key", () => new Schema().createIndex(new VectorIndexConfig(), "other")],
    ["a sparse index on every key", () => new Schema().createIndex(new SparseVectorIndexConfig({}))],
  ])("the client itself refuses %s", (_, build) => {
    expect(build).toThrow(/./u);
  });

  it("keys managed by the customer are refused, not ignored", async () => {
    const cmek = Cmek.gcp("projects/p/locations/l/keyRings/r/cryptoKeys/k");
    await expect(withSchema(new Schema().setCmek(cmek))).rejects.toThrow(ChromaServerError);
  });

  it("shows keys that records have brought", async () => {
    const collection = await plain();
    await collection.add({
      ids: ["a"],
      embeddings: [[1]],
      metadatas: [{ fresh: 1, label: "x", ok: true, f: 0.5 }],
    });
    const { schema } = await client.getCollection({ name: collection.name });
    expect(schema?.keys["fresh"]?.intValue?.intInvertedIndex?.enabled).toBe(true);
    expect(schema?.keys["f"]?.floatValue?.floatInvertedIndex?.enabled).toBe(true);
    expect(schema?.keys["label"]?.string?.stringInvertedIndex?.enabled).toBe(true);
    expect(schema?.keys["ok"]?.boolean?.boolInvertedIndex?.enabled).toBe(true);
  });
});
