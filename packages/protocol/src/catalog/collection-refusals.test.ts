import { describe, expect, it } from "vitest";
import { LIMITS } from "../limits.ts";
import { parseUpdateCollection } from "./collection.ts";
import { collectionOf, createOf } from "./testing/collection.ts";
import { bodyOf, refusalOf } from "./testing/refusal.ts";

type Row = readonly [body: object, refusal: string];

const ON = { enabled: true, config: {} };
const QWEN = { type: "known", name: "chroma-cloud-qwen", config: {} };
const BM25 = { type: "known", name: "chroma_bm25", config: {} };

function configuration(value: unknown): object {
  return { configuration: value };
}

function key(name: string, valueTypes: unknown): object {
  return { schema: { keys: { [name]: valueTypes } } };
}

function vector(config: unknown): object {
  return key("#embedding", { float_list: { vector_index: { enabled: true, config } } });
}

function sparse(config: unknown): object {
  return key("s", { sparse_vector: { sparse_vector_index: { enabled: true, config } } });
}

const VECTOR = "schema.keys.#embedding.float_list.vector_index";
const SPARSE = "schema.keys.s.sparse_vector.sparse_vector_index";

const CREATE: readonly Row[] = [
  [{ name: "x" }, "400 name: Expected a name containing 3-512 characters"],
  [{ name: null }, "422 name: is required"],
  [{ name: 5 }, "422 name: must be a string"],
  [{ get_or_create: "yes" }, "422 get_or_create: must be true or false"],
  [{ metadata: {} }, "400 metadata: Metadata cannot be empty"],
  [{ metadata: [] }, "422 metadata: must be an object"],
  [{ metadata: { a: null } }, "422 metadata.a: must not be null"],
  [{ metadata: { "#x": 1 } }, "400 metadata.#x: Metadata key cannot start with '#' or '$'"],
  [{ metadata: { $x: 1 } }, "400 metadata.$x: Metadata key cannot start with '#' or '$'"],
  [{ metadata: { a: { b: 1 } } }, "422 metadata.a: "],
  [{ metadata: { a: [1, "x"] } }, "422 metadata.a: "],
];

const LEGACY: readonly Row[] = [
  [
    { metadata: { "hnsw:foo": 1 } },
    "400 metadata.hnsw:foo: Failed to parse hnsw parameters from segment metadata: unknown parameter",
  ],
  [{ metadata: { "hnsw:constructor": 1 } }, "400 metadata.hnsw:constructor: Failed to parse hnsw parameters"],
  [{ metadata: { "hnsw:space": "manhattan" } }, "400 metadata.hnsw:space: Failed to parse hnsw parameters"],
  [{ metadata: { "hnsw:space": 1 } }, "400 metadata.hnsw:space: Failed to parse hnsw parameters"],
  [{ metadata: { "hnsw:M": "x" } }, "400 metadata.hnsw:M: Failed to parse hnsw parameters"],
  [{ metadata: { "hnsw:M": 1.5 } }, "400 metadata.hnsw:M: Failed to parse hnsw parameters"],
  [{ metadata: { "hnsw:M": -1 } }, "400 metadata.hnsw:M: Failed to parse hnsw parameters"],
  [{ metadata: { "hnsw:resize_factor": "x" } }, "400 metadata.hnsw:resize_factor: Failed to parse hnsw"],
  [{ metadata: { "hnsw:batch_size": 1 } }, "400 metadata.hnsw:batch_size: must be at least 2"],
  [{ metadata: { "hnsw:sync_threshold": 1 } }, "400 metadata.hnsw:sync_threshold: must be at least 2"],
];

const CONFIGURATION: readonly Row[] = [
  [{ model: "m" }, "422 model: is unknown here; name it in `configuration`"],
  [{ embedding_function: {} }, "422 embedding_function: is unknown here; name it in `configuration`"],
  [configuration([]), "422 configuration: must be an object"],
  [configuration({ hnsw: 1 }), "422 configuration.hnsw: must be an object"],
  [
    configuration({ hnsw: { space: "manhattan" } }),
    "422 configuration.hnsw.space: must be `l2`, `cosine` or `ip`",
  ],
  [configuration({ hnsw: { space: 1 } }), "422 configuration.hnsw.space: must be"],
  [configuration({ hnsw: { foo: 1 } }), "422 configuration.hnsw.foo: is unknown"],
  [
    configuration({ hnsw: { ef_search: -1 } }),
    "422 configuration.hnsw.ef_search: must be a non-negative integer",
  ],
  [
    configuration({ hnsw: { ef_search: 1.5 } }),
    "422 configuration.hnsw.ef_search: must be a non-negative integer",
  ],
  [
    configuration({ hnsw: { ef_search: "1" } }),
    "422 configuration.hnsw.ef_search: must be a non-negative integer",
  ],
  [
    configuration({ hnsw: { ef_search: 2 ** 32 } }),
    "400 configuration.hnsw.ef_search: must be at most 4294967295",
  ],
  [configuration({ hnsw: { resize_factor: "x" } }), "422 configuration.hnsw.resize_factor: must be a number"],
  [
    configuration({ hnsw: {}, spann: {} }),
    "400 configuration: Multiple vector index configurations provided",
  ],
  [configuration({ spann: { foo: 1 } }), "422 configuration.spann.foo: is unknown"],
  [configuration({ spann: { space: "x" } }), "422 configuration.spann.space: must be"],
  [
    configuration({ spann: { search_nprobe: 129 } }),
    "400 configuration.spann.search_nprobe: must be at most 128",
  ],
  [configuration({ spann: { ef_search: 201 } }), "400 configuration.spann.ef_search: must be at most 200"],
  [
    configuration({ spann: { ef_construction: 201 } }),
    "400 configuration.spann.ef_construction: must be at most",
  ],
  [
    configuration({ spann: { split_threshold: 24 } }),
    "400 configuration.spann.split_threshold: must be at least 25",
  ],
  [
    configuration({ spann: { split_threshold: 201 } }),
    "400 configuration.spann.split_threshold: must be at most",
  ],
  [
    configuration({ spann: { merge_threshold: 11 } }),
    "400 configuration.spann.merge_threshold: must be at least",
  ],
  [
    configuration({ spann: { merge_threshold: 101 } }),
    "400 configuration.spann.merge_threshold: must be at most",
  ],
  [configuration({ spann: { quantize: "some" } }), "422 configuration.spann.quantize: must be `none` or"],
];

const FUNCTION = "configuration.embedding_function";

const sheaf = (model: string): object => ({ type: "known", name: "sheaf", config: { model } });

const EMBEDDING_FUNCTION: readonly Row[] = [
  [configuration({ embedding_function: "default" }), `422 ${FUNCTION}: must be an object`],
  [configuration({ embedding_function: {} }), `422 ${FUNCTION}.type: is required`],
  [configuration({ embedding_function: { type: "new" } }), `422 ${FUNCTION}.type: must be`],
  [configuration({ embedding_function: { type: "known" } }), `422 ${FUNCTION}.name: is required`],
  [
    configuration({ embedding_function: { type: "known", name: "x", config: 1 } }),
    `422 ${FUNCTION}.config: must be an object`,
  ],
  [
    configuration({ embedding_function: { type: "known", name: "sheaf", config: {} } }),
    `400 ${FUNCTION}.config.model: must name a model`,
  ],
  [
    configuration({
      embedding_function: { type: "known", name: "sheaf", config: { model: "BAAI/bge-m3", trunkate: true } },
    }),
    `400 ${FUNCTION}.config.trunkate: is unknown, expected \`model\`, \`query_model\`, \`task\`, \`instructions\`, \`truncate\`, \`include_tokens\`, \`statistics\`, \`k\`, \`b\`, \`avg_doc_length\`, \`token_max_length\` or \`stopwords\``,
  ],
  [
    configuration({ embedding_function: sheaf("sheaf/bm25") }),
    `400 ${FUNCTION}.config.model: sheaf/bm25 makes sparse vectors, the index holds dense ones`,
  ],
  [
    key("#embedding", {
      float_list: { vector_index: { enabled: true, config: { embedding_function: sheaf("a/b") } } },
    }),
    '400 schema.keys.#embedding.float_list.vector_index.config.embedding_function.config.model: unknown embedding model "a/b"',
  ],
  [
    sparse({ embedding_function: sheaf("BAAI/bge-m3") }),
    `400 ${SPARSE}.config.embedding_function.config.model: BAAI/bge-m3 makes dense vectors, the index holds sparse ones`,
  ],
  [
    sparse({ embedding_function: { ...BM25, config: { k: "x" } } }),
    `400 ${SPARSE}.config.embedding_function.config.k: must be a number`,
  ],
];

const SCHEMA: readonly Row[] = [
  [{ schema: [] }, "422 schema: must be an object"],
  [{ schema: { defaults: [] } }, "422 schema.defaults: must be an object"],
  [{ schema: { keys: { x: 1 } } }, "422 schema.keys.x: must be an object"],
  [{ schema: { keys: {}, key_overrides: {} } }, "422 schema.key_overrides: is the same field as keys"],
  [key("x", { string: {}, "#string": {} }), "422 schema.keys.x.#string: is the same field as string"],
  [
    key("x", { string: { string_inverted_index: { config: {} } } }),
    "422 schema.keys.x.string.string_inverted_index.enabled: is required",
  ],
  [
    key("x", { string: { string_inverted_index: { enabled: 1 } } }),
    "422 schema.keys.x.string.string_inverted_index.enabled: must be true or false",
  ],
  [
    key("x", { string: { string_inverted_index: { ...ON, foo: 1 } } }),
    "422 schema.keys.x.string.string_inverted_index.foo: is unknown",
  ],
  [
    key("x", { int: { int_inverted_index: { enabled: true, config: { a: 1 } } } }),
    "422 schema.keys.x.int.int_inverted_index.config.a: is unknown",
  ],
  [
    key("#document", { string: { fts_index: { enabled: true, config: { algorithm: "bigram" } } } }),
    "422 schema.keys.#document.string.fts_index.config.algorithm: must be `trigram` or `token_bitmap`",
  ],
  [
    { schema: { defaults: { string: { fts_index: ON } } } },
    "400 schema.defaults.string.fts_index: Full text search / regular expression index cannot be enabled by default",
  ],
  [
    { schema: { defaults: { float_list: { vector_index: ON } } } },
    "400 schema.defaults.float_list.vector_index: Vector index cannot be enabled by default",
  ],
  [
    { schema: { defaults: { sparse_vector: { sparse_vector_index: ON } } } },
    "400 schema.defaults.sparse_vector.sparse_vector_index: Sparse vector index cannot be enabled by default",
  ],
  [key("#foo", {}), "400 schema.keys.#foo: key cannot begin with '#'"],
  [key("$foo", {}), "400 schema.keys.$foo: no metadata key"],
  [key("", {}), "400 schema.keys.: no metadata key"],
  [key("k".repeat(LIMITS.metadataKeyBytes + 1), {}), `400 schema.keys.${"k".repeat(80)}…: the key is over`],
  [
    key("#document", { int: {} }),
    "400 schema.keys.#document: Document field cannot have any value types other than string",
  ],
  [
    key("#document", { string: { string_inverted_index: ON } }),
    "400 schema.keys.#document: String inverted index can not be enabled",
  ],
  [
    key("#embedding", { string: {} }),
    "400 schema.keys.#embedding: Embedding field cannot have any value types other than float_list",
  ],
  [
    key("#embedding", { float_list: { vector_index: { enabled: false } } }),
    "400 schema.keys.#embedding: the vector index of #embedding is always enabled",
  ],
  [
    key("x", { float_list: { vector_index: ON } }),
    "400 schema.keys.x: Vector index can only be enabled on #embedding",
  ],
  [
    key("x", { string: { fts_index: ON } }),
    "400 schema.keys.x: Full text search / regular expression index can only be enabled on #document",
  ],
  [vector({ foo: 1 }), `422 ${VECTOR}.config.foo: is unknown`],
  [vector({ space: "x" }), `422 ${VECTOR}.config.space: must be`],
  [
    vector({ source_key: "title" }),
    `400 ${VECTOR}.config.source_key: Vector index can only source from #document`,
  ],
  [vector({ hnsw: {}, spann: {} }), `400 ${VECTOR}.config: Multiple vector index configurations`],
  [vector({ hnsw: { space: "l2" } }), `422 ${VECTOR}.config.hnsw.space: is unknown`],
  [vector({ hnsw: { batch_size: 1 } }), `400 ${VECTOR}.config.hnsw.batch_size: must be at least 2`],
  [vector({ hnsw: { sync_threshold: 1 } }), `400 ${VECTOR}.config.hnsw.sync_threshold: must be at least 2`],
  [
    vector({ spann: { search_nprobe: 129 } }),
    `400 ${VECTOR}.config.spann.search_nprobe: must be at most 128`,
  ],
  [sparse({ foo: 1 }), `422 ${SPARSE}.config.foo: is unknown`],
  [sparse({ bm25: "yes" }), `422 ${SPARSE}.config.bm25: must be true or false`],
  [sparse({ algorithm: "x" }), `422 ${SPARSE}.config.algorithm: must be`],
  [
    sparse({ source_key: "#document" }),
    `400 ${SPARSE}.config.source_key: If source_key is provided then embedding_function`,
  ],
  [
    sparse({ source_key: "t", embedding_function: { type: "unknown" } }),
    `400 ${SPARSE}.config.source_key: If source_key`,
  ],
  [
    sparse({ source_key: "#id", embedding_function: BM25 }),
    `400 ${SPARSE}.config.source_key: source_key cannot begin with '#'`,
  ],
  ...[0, 65, 1.5, "2", true].map((partitions): [object, string] => [
    { schema: { partitions } },
    "400 schema.partitions: must be a whole number from 1 to 64",
  ]),
  [{ schema: { cmek: { gcp: "projects/p" } } }, "501 schema.cmek: customer-managed keys are not supported"],
];

const BOTH = "400 schema: Cannot set both collection config and schema simultaneously";

const CONFLICT: readonly Row[] = [
  [{ ...key("x", {}), ...configuration({ hnsw: { space: "cosine" } }) }, BOTH],
  [{ ...key("num_threads", {}), ...configuration({ hnsw: { space: "cosine" } }) }, BOTH],
  [{ ...vector({ space: "cosine" }), ...configuration({ hnsw: { space: "cosine" } }) }, BOTH],
  [{ ...vector({ embedding_function: QWEN }), ...configuration({ hnsw: { ef_search: 5 } }) }, BOTH],
  [{ ...key("x", {}), ...configuration({ embedding_function: QWEN }) }, BOTH],
  [{ ...key("x", {}), metadata: { "hnsw:space": "ip" } }, BOTH],
];

describe("parseCreateCollection refuses", () => {
  it.each([...CREATE, ...LEGACY, ...CONFIGURATION, ...EMBEDDING_FUNCTION, ...SCHEMA, ...CONFLICT])(
    "%j",
    (body, refusal) => {
      expect(refusalOf(() => createOf(body)).slice(0, refusal.length)).toBe(refusal);
    },
  );

  it("a body that is no object", () => {
    for (const text of ["[]", "null", "1.0", '"x"']) {
      expect(refusalOf(() => createOf(text))).toBe("422 the body must be an object");
    }
  });

  it("a count written as a float, and one that loses digits", () => {
    const body = (text: string): string => `{"name":"docs","configuration":{"hnsw":{"ef_search":${text}}}}`;
    expect(refusalOf(() => createOf(body("10.0")))).toMatch(
      /^422 configuration.hnsw.ef_search: must be a non-/,
    );
    expect(refusalOf(() => createOf(body("9007199254740993")))).toMatch(
      /^400 configuration.hnsw.ef_search: /,
    );
  });

  it("descriptions over their bounds", () => {
    const text = (bytes: number): object =>
      configuration({
        embedding_function: { type: "known", name: "x", config: { text: "a".repeat(bytes) } },
      });
    expect(() => createOf(text(LIMITS.configurationBytes - 200))).not.toThrow();
    expect(refusalOf(() => createOf(text(LIMITS.configurationBytes)))).toMatch(/^400 configuration: is over/);
    const metadata = (bytes: number): object => {
      const value = "é".repeat((bytes - '{"k":""}'.length) / 2);
      return { metadata: { k: value } };
    };
    expect(() => createOf(metadata(LIMITS.collectionMetadataBytes))).not.toThrow();
    expect(refusalOf(() => createOf(metadata(LIMITS.collectionMetadataBytes + 2)))).toBe(
      "400 metadata: is over 262144 bytes",
    );
    const keys = (count: number): object => ({
      schema: { keys: Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, {}])) },
    });
    expect(() => createOf(keys(LIMITS.schemaKeys))).not.toThrow();
    expect(refusalOf(() => createOf(keys(LIMITS.schemaKeys + 1)))).toMatch(
      /^400 schema.keys: holds 4097 keys/,
    );
  });

  it("nothing of these, which existing servers take too", () => {
    for (const body of [
      configuration({ hnsw: { batch_size: 1 } }),
      configuration({ embedding_function: { type: "known", name: "openai", config: { anything: [1] } } }),
      {
        ...key("x", {}),
        ...configuration({ embedding_function: { type: "known", name: "default", config: {} } }),
      },
      { ...key("x", {}), ...configuration({ hnsw: { space: "l2", num_threads: 8 } }) },
    ]) {
      expect(() => createOf(body)).not.toThrow();
    }
  });
});

describe("parseUpdateCollection refuses", () => {
  const current = collectionOf({});
  const rows: readonly Row[] = [
    [{ new_name: "x" }, "400 new_name: Expected a name"],
    [{ new_name: 1 }, "422 new_name: must be a string"],
    [{ new_metadata: {} }, "400 new_metadata: Metadata cannot be empty"],
    [{ new_metadata: { a: {} } }, "422 new_metadata.a: "],
    [{ new_metadata: { "#a": 1 } }, "400 new_metadata.#a: "],
    [{ new_configuration: [] }, "422 new_configuration: must be an object"],
    [{ new_configuration: { foo: {} } }, "422 new_configuration.foo: is unknown"],
    [{ new_configuration: { hnsw: { space: "ip" } } }, "422 new_configuration.hnsw.space: is unknown"],
    [
      { new_configuration: { hnsw: { ef_construction: 1 } } },
      "422 new_configuration.hnsw.ef_construction: is unknown",
    ],
    [{ new_configuration: { hnsw: { ef_search: "1" } } }, "422 new_configuration.hnsw.ef_search: must be"],
    [
      { new_configuration: { spann: { write_nprobe: 1 } } },
      "422 new_configuration.spann.write_nprobe: is unknown",
    ],
    [
      { new_configuration: { spann: { ef_search: 201 } } },
      "400 new_configuration.spann.ef_search: must be at most",
    ],
    [{ new_configuration: { hnsw: {}, spann: {} } }, "400 new_configuration: Multiple vector index"],
    [
      { new_configuration: { embedding_function: { type: "x" } } },
      "422 new_configuration.embedding_function.type: must be",
    ],
    [
      { new_configuration: { embedding_function: { type: "known", name: "sheaf", config: {} } } },
      "400 new_configuration.embedding_function.config.model: must name a model",
    ],
  ];
  it.each(rows)("%j", (body, refusal) => {
    expect(refusalOf(() => parseUpdateCollection(bodyOf(body), current)).slice(0, refusal.length)).toBe(
      refusal,
    );
  });
});
