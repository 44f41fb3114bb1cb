import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "./ast.ts";
import { parseForkBody, parseUpdateCollection, writeCollection } from "./collection.ts";
import { indexPlan, partitionsOf } from "./index-plan.ts";
import { objectAt, writePlainJson } from "./plain-json.ts";
import { collectionOf, createOf } from "./testing/collection.ts";
import { bodyOf, refusalOf } from "./testing/refusal.ts";

const QWEN = {
  type: "known",
  name: "chroma-cloud-qwen",
  config: { model: "Qwen/Qwen3-Embedding-0.6B", task: null, ratio: 0.5, nested: { a: [1, null, "x"] } },
};
const CLIENT_DEFAULT = { type: "known", name: "default", config: {} };

function vectorSchema(config: object): object {
  const index = (enabled: boolean): object => ({ float_list: { vector_index: { enabled, config } } });
  return { defaults: index(false), keys: { "#embedding": index(true) } };
}

describe("a collection described by nothing", () => {
  it("is written as the golden body, member order included", () => {
    const golden = readFileSync(new URL("default-collection.golden.json", import.meta.url), "utf8");
    expect([...writeCollection(collectionOf({}))].join("")).toBe(JSON.stringify(JSON.parse(golden)));
  });

  it.each([
    {},
    { metadata: null, configuration: null, schema: null, get_or_create: null },
    { configuration: {} },
    { schema: {} },
    { schema: { defaults: {}, keys: {} } },
    { schema: { defaults: null, keys: null } },
    { configuration: { hnsw: null, spann: null, embedding_function: null } },
    { configuration: { hnsw: { space: "l2", ef_search: 100, batch_size: 100 } } },
    { configuration: { hnsw: { space: null } } },
    { configuration: { unheard_of: 1 }, extra: true },
    { schema: vectorSchema({ space: "l2", hnsw: { max_neighbors: 16 } }) },
    { schema: vectorSchema({}), configuration: { hnsw: { ef_construction: 100 } } },
  ])("is the same collection as %j", (body) => {
    expect(createOf(body)).toEqual(createOf({}));
  });

  it("reads get_or_create", () => {
    expect(createOf({ get_or_create: true }).getOrCreate).toBe(true);
    expect(createOf({ get_or_create: false }).getOrCreate).toBe(false);
  });
});

describe("configuration, schema and metadata that mean the same", () => {
  const hnsw = { ef_construction: 128, max_neighbors: 32, ef_search: 64, batch_size: 7, resize_factor: 2 };
  it.each<[string, object, object]>([
    [
      "space",
      { configuration: { hnsw: { space: "cosine" } } },
      { schema: vectorSchema({ space: "cosine" }) },
    ],
    [
      "space in one place of the schema",
      {
        schema: {
          keys: {
            "#embedding": { float_list: { vector_index: { enabled: true, config: { space: "ip" } } } },
          },
        },
      },
      { schema: { defaults: { float_list: { vector_index: { enabled: false, config: { space: "ip" } } } } } },
    ],
    [
      "parameters",
      { configuration: { hnsw: { space: "ip", ...hnsw } } },
      { schema: vectorSchema({ space: "ip", hnsw }) },
    ],
    [
      "spann",
      { configuration: { spann: { space: "cosine", search_nprobe: 10, quantize: "none" } } },
      { schema: vectorSchema({ space: "cosine", spann: { search_nprobe: 10, quantize: "none" } }) },
    ],
    [
      "embedding function",
      { configuration: { hnsw: { space: "cosine" }, embedding_function: QWEN } },
      { schema: vectorSchema({ space: "cosine", embedding_function: QWEN }) },
    ],
    [
      "older spellings",
      {
        schema: {
          defaults: {},
          key_overrides: { x: { "#string": { $string_inverted_index: { enabled: false, config: {} } } } },
        },
      },
      { schema: { defaults: {}, keys: { x: { string: { string_inverted_index: { enabled: false } } } } } },
    ],
    [
      "the client's default function beside a schema",
      {
        schema: vectorSchema({ space: "cosine", embedding_function: { type: "legacy" } }),
        configuration: { embedding_function: CLIENT_DEFAULT },
      },
      { schema: vectorSchema({ space: "cosine", embedding_function: CLIENT_DEFAULT }) },
    ],
    [
      "a default schema beside a configuration",
      {
        schema: vectorSchema({ embedding_function: { type: "legacy" } }),
        configuration: { hnsw: { space: "ip" }, embedding_function: QWEN },
      },
      { configuration: { hnsw: { space: "ip" }, embedding_function: QWEN } },
    ],
  ])("%s", (_, one, other) => {
    expect(JSON.stringify(createOf(one))).toBe(JSON.stringify(createOf(other)));
  });

  it("reads the index from legacy metadata and keeps the metadata", () => {
    const legacy = '"hnsw:space":"cosine","hnsw:construction_ef":128,"hnsw:search_ef":64,"hnsw:M":32';
    const more = '"hnsw:num_threads":4,"hnsw:resize_factor":2,"hnsw:sync_threshold":10,"hnsw:batch_size":5';
    const described = createOf(`{"name":"docs","metadata":{"title":"t",${legacy},${more}}}`);
    const parameters = {
      space: "cosine",
      ef_construction: 128,
      ef_search: 64,
      max_neighbors: 32,
      num_threads: 4,
      resize_factor: 2,
      sync_threshold: 10,
      batch_size: 5,
    };
    expect(described.schema).toEqual(createOf({ configuration: { hnsw: parameters } }).schema);
    expect(described.metadata?.get("hnsw:M")).toBe(32n);
    expect(described.metadata?.get("title")).toBe("t");
  });

  it("lets legacy metadata count where the configuration holds only defaults, and not where it holds more", () => {
    const metadata = { "hnsw:space": "cosine" };
    const spaceOf = (body: object): unknown => createOf(body).configuration["hnsw"];
    expect(spaceOf({ metadata, configuration: { embedding_function: QWEN } })).toMatchObject({
      space: "cosine",
    });
    expect(spaceOf({ metadata, configuration: { hnsw: { space: "l2" } } })).toMatchObject({
      space: "cosine",
    });
    expect(spaceOf({ metadata, configuration: { hnsw: { space: "ip" } } })).toMatchObject({ space: "ip" });
    expect(spaceOf({ metadata, configuration: { hnsw: { ef_search: 1 } } })).toMatchObject({ space: "l2" });
  });
});

describe("what a description keeps", () => {
  it("keeps spann as it was asked for, with its space", () => {
    const { configuration, schema } = createOf({
      configuration: { spann: { space: "cosine", ef_search: 50 } },
    });
    expect(configuration).toEqual({
      hnsw: null,
      spann: {
        search_nprobe: 64,
        write_nprobe: 32,
        space: "cosine",
        ef_construction: 200,
        ef_search: 50,
        max_neighbors: 64,
        reassign_neighbor_count: 64,
        split_threshold: 50,
        merge_threshold: 25,
      },
      embedding_function: null,
    });
    expect(indexPlan(schema).space).toBe("cosine");
  });

  it("returns an embedding function verbatim", () => {
    const { configuration, schema } = createOf({ configuration: { embedding_function: QWEN } });
    expect(configuration["embedding_function"]).toEqual(QWEN);
    expect(indexPlan(schema).embeddingFunction).toEqual(QWEN);
    const floats = '{"type":"known","name":"x","config":{"a":256.0,"b":1e2}}';
    const kept = createOf(`{"name":"docs","configuration":{"embedding_function":${floats}}}`).configuration;
    expect(writePlainJson(kept["embedding_function"] ?? null)).toBe(
      '{"type":"known","name":"x","config":{"a":256.0,"b":100.0}}',
    );
  });

  it.each(["2.0", "2", "2e0"])("shows a factor of %s as a float, which it is to every client", (text) => {
    const { configuration, schema } = createOf(
      `{"name":"docs","configuration":{"hnsw":{"resize_factor":${text}}}}`,
    );
    for (const shown of [configuration, schema]) {
      expect(writePlainJson(shown)).toContain('"resize_factor":2.0');
      expect(writePlainJson(shown)).not.toContain('"resize_factor":2,');
    }
  });

  it("keeps a sparse function in the defaults whole", () => {
    const config = { embedding_function: { type: "known", name: "x", config: { a: 1 } } };
    const asked = { enabled: false, config };
    const { schema } = createOf({ schema: { defaults: { sparse_vector: { sparse_vector_index: asked } } } });
    expect(objectAt(schema, "defaults", "sparse_vector", "sparse_vector_index", "config")).toEqual({
      ...config,
      bm25: false,
    });
  });

  it("keeps several sparse indexes, each with its settings", () => {
    const bm25 = { type: "known", name: "chroma_bm25", config: { k: 1.5 } };
    const sparse = (config: object): object => ({
      sparse_vector: { sparse_vector_index: { enabled: true, config } },
    });
    const { schema } = createOf({
      schema: {
        keys: {
          terms: sparse({ embedding_function: bm25, source_key: "#document", bm25: true }),
          splade: sparse({ algorithm: "max_score" }),
          title_terms: sparse({ embedding_function: { type: "legacy" }, source_key: "title" }),
        },
      },
    });
    expect(indexPlan(schema).sparse).toEqual([
      { key: "terms", bm25: true, sourceKey: "#document", embeddingFunction: bm25 },
      { key: "splade", bm25: false, sourceKey: null, embeddingFunction: null },
      { key: "title_terms", bm25: false, sourceKey: "title", embeddingFunction: { type: "legacy" } },
    ]);
    expect(schema["keys"]).toMatchObject({ splade: sparse({ algorithm: "max_score" }) });
  });

  it("writes into the schema whose statistics a new bm25 index has", () => {
    const sparse = (name: string, config: object): object => ({
      sparse_vector: {
        sparse_vector_index: {
          enabled: true,
          config: { embedding_function: { type: "known", name, config }, source_key: "#document" },
        },
      },
    });
    const own = { model: "sheaf/bm25" };
    const { schema } = createOf({
      schema: {
        keys: {
          default: sparse("sheaf", { ...own, k: 0.9 }),
          null: sparse("sheaf", { ...own, statistics: null }),
          fixed: sparse("sheaf", { ...own, statistics: "fixed" }),
          chroma: sparse("chroma_bm25", {}),
        },
      },
    });
    expect(schema["keys"]).toMatchObject({
      default: sparse("sheaf", { ...own, k: 0.9, statistics: "collection" }),
      null: sparse("sheaf", { ...own, statistics: "collection" }),
      fixed: sparse("sheaf", { ...own, statistics: "fixed" }),
      chroma: sparse("chroma_bm25", {}),
    });
    expect(indexPlan(schema).sparse.map(({ key, statistics }) => [key, statistics])).toEqual([
      ["default", { k: 0.9, b: 0.75 }],
      ["null", { k: 1.2, b: 0.75 }],
      ["fixed", undefined],
      ["chroma", undefined],
    ]);
    const stored = { keys: { before: sparse("sheaf", own) } } as JsonObject;
    expect(indexPlan(stored).sparse).toMatchObject([{ key: "before", bm25: false }]);
    expect(indexPlan(stored).sparse[0]).not.toHaveProperty("statistics");
  });

  it("keeps in how many partitions it is, also over updates, and says nothing of one", () => {
    const divided = collectionOf({ schema: { partitions: 4 } });
    expect(divided.schema).toMatchObject({ partitions: 4 });
    expect(partitionsOf(divided.schema)).toBe(4);
    const changed = parseUpdateCollection(bodyOf({ new_configuration: { hnsw: { ef_search: 7 } } }), divided);
    expect(partitionsOf(changed.schema ?? {})).toBe(4);
    expect(createOf({ schema: { partitions: 1 } })).toEqual(createOf({}));
  });

  it("keeps arrays and number kinds of metadata", () => {
    const collection = collectionOf(
      '{"name":"docs","metadata":{"a":[1,2],"f":3.0,"i":9007199254740993,"s":["x"]}}',
    );
    expect([...writeCollection(collection)].join("")).toContain(
      '"metadata":{"a":[1,2],"f":3.0,"i":9007199254740993,"s":["x"]}',
    );
  });

  it("treats keys that JavaScript objects inherit as ordinary keys", () => {
    const key = '{"string":{"string_inverted_index":{"enabled":false,"config":{}}}}';
    const body = `{"name":"docs","schema":{"keys":{"__proto__":${key},"constructor":${key}}}}`;
    const keys = createOf(body).schema["keys"] as JsonObject;
    expect(Object.keys(keys)).toEqual(["#document", "#embedding", "__proto__", "constructor"]);
    expect(JSON.stringify(keys)).toContain(`"__proto__":${key}`);
  });
});

describe("parseUpdateCollection", () => {
  const hnsw = collectionOf({ configuration: { hnsw: { space: "cosine", ef_search: 50 } } });
  const update = (body: object, current = hnsw): object => parseUpdateCollection(bodyOf(body), current);

  it.each([
    {},
    { new_name: null, new_metadata: null, new_configuration: null },
    { new_configuration: {} },
    { new_configuration: { hnsw: null, spann: null, embedding_function: null } },
    { new_configuration: { spann: { search_nprobe: 5 } } },
  ])("asks for nothing with %j", (body) => {
    expect(update(body)).toEqual({});
  });

  it("renames and replaces metadata", () => {
    expect(update({ new_name: "other", new_metadata: { a: "b" } })).toEqual({
      name: "other",
      metadata: new Map([["a", "b"]]),
    });
  });

  it("changes what may change and leaves the rest", () => {
    const changed = parseUpdateCollection(
      bodyOf({ new_configuration: { hnsw: { ef_search: 7, num_threads: 3 }, embedding_function: QWEN } }),
      hnsw,
    );
    const asked = { space: "cosine", ef_search: 7, num_threads: 3 };
    const same = createOf({ configuration: { hnsw: asked, embedding_function: QWEN } });
    expect(changed.configuration).toEqual(same.configuration);
    expect(changed.schema).toEqual(same.schema);
  });

  it("changes spann where the collection has it, and ignores hnsw there", () => {
    const spann = collectionOf({ configuration: { spann: { space: "ip" } } });
    const changed = parseUpdateCollection(bodyOf({ new_configuration: { spann: { ef_search: 9 } } }), spann);
    expect(changed.configuration).toMatchObject({ hnsw: null, spann: { space: "ip", ef_search: 9 } });
    expect(update({ new_configuration: { hnsw: { ef_search: 9 } } }, spann)).toEqual({});
  });

  it("keeps the keys of the schema", () => {
    const schema = { keys: { x: { string: { string_inverted_index: { enabled: false } } } } };
    const changed = parseUpdateCollection(
      bodyOf({ new_configuration: { embedding_function: QWEN } }),
      collectionOf({ schema }),
    );
    expect(Object.keys(changed.schema?.["keys"] ?? {})).toEqual(["#document", "#embedding", "x"]);
  });
});

describe("parseForkBody", () => {
  it("reads the new name", () => {
    expect(parseForkBody(bodyOf({ new_name: "copy" }))).toEqual({ newName: "copy" });
    expect(refusalOf(() => parseForkBody({}))).toBe("422 new_name: is required");
  });
});
