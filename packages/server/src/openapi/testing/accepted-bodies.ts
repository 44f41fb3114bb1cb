/** Bodies that the parsers take, with what clients send and every form that means the same. */

const known = (name: string, config: object = {}): object => ({ type: "known", name, config });
const vectorSchema = (config: object, enabled = true): object => ({
  "#embedding": { float_list: { vector_index: { enabled, config } } },
});
const knn = (more: object = {}): object => ({ $knn: { query: [0.1, 1, -2], ...more } });
const searches = (...dictionaries: readonly object[]): object => ({ searches: dictionaries });
const ranked = (rank: object): object => searches({ rank });

/** Of some collection, some epoch and some write. */
export const READ_TOKEN = 7_046_029_254_386_353;

/** Name of the schema -> bodies. */
export const ACCEPTED_BODIES: Readonly<Record<string, readonly object[]>> = {
  EmbedBody: [
    { texts: [], instructions: "" },
    { texts: ["a", ""], task: "", target: "" },
    { texts: ["a"], instructions: null, task: "code", target: "query", fetch_tokens: "true" },
    { texts: ["a"], instructions: "i", task: null, fetch_labels: true, unknown: 1 },
    { texts: ["a"], instructions: "", fetch_labels: "false", fetch_tokens: false },
    ...[null, true, false, "none", "end", "start"].map((truncate) => ({
      texts: ["a"],
      instructions: "",
      truncate,
    })),
  ],
  AddBody: [
    {
      ids: ["a", "b"],
      embeddings: [[0.1, 2], Buffer.from(Float32Array.of(0.1, 2).buffer).toString("base64")],
      documents: ["text", null],
      uris: [null, "file:///b"],
      metadatas: [{ n: 1, s: "x" }, null],
      unknown: 1,
    },
    { ids: ["a"], embeddings: null, documents: null, uris: null, metadatas: null },
    { ids: [], embeddings: [] },
    { ids: ["a", "a"], documents: ["", "y"], metadatas: [{}, { list: [1, 2.5], flags: [true], empty: [] }] },
    { ids: ["a"], metadatas: [{ sparse: { "#type": "sparse_vector", indices: [1, 5], values: [1, 0.5] } }] },
    { ids: ["a"], metadatas: [{ sparse: { indices: [], values: [], tokens: [] } }] },
    { ids: ["a"], documents: ["text"], chunking: { by: "tokens", size: 64, overlap: 32 } },
    { ids: ["a"], documents: ["text"], chunking: { by: "headings", size: null } },
    { ids: ["a"], documents: ["text"], chunking: { by: "none" } },
    { ids: ["a"], chunking: null },
  ],
  ChangeBody: [
    { ids: ["a"], metadatas: [{ k: null, n: 1 }] },
    { ids: ["a"], embeddings: [null] },
  ],
  DeleteBody: [{}, { ids: ["a"] }, { where: { a: 1 }, limit: 2 }, { ids: null, where: null, limit: null }],
  GetBody: [
    {},
    { ids: [], limit: 0, offset: 0, include: [] },
    { where: { $and: [{ a: 1 }, { b: { $in: ["x", "y"] } }] }, include: ["embeddings", "uris", "distances"] },
    { order_by: [] },
    { include: ["embeddings"], encoding_format: "base64" },
    { encoding_format: "float" },
    { encoding_format: null },
    { where_document: { $contains: "a" }, highlight: true },
    { highlight: { snippet: 1_000 } },
    { order_by: [{ price: "desc" }, { year: "asc" }, { price: "asc" }], limit: 3, offset: 1 },
    { where_document: { $or: [{ $contains: "a" }, { $not_regex: "b+" }] } },
    { ids: null, where: null, where_document: null, limit: null, offset: null, include: null },
  ],
  CountBody: [
    {},
    { where: { a: 1 }, where_document: { $contains: "a" } },
    { ids: ["a"], where: null, where_document: null },
  ],
  FacetsBody: [
    { keys: ["a"] },
    { keys: ["a", "a", "b"], ids: null, where: { a: { $gt: 1 } }, limit: 0, histogram: 1 },
    { keys: ["a"], where_document: { $contains: "a" }, limit: null, histogram: null },
  ],
  ReadBody: [{}, { ids: ["a"], read_token: null }, { read_token: READ_TOKEN }],
  CommitBody: [
    { operations: [] },
    {
      read_token: READ_TOKEN,
      read_ids: ["a"],
      operations: [
        { operation: "add", payload: { ids: ["a"], documents: ["x"] } },
        { operation: "update", payload: { ids: ["a"], metadatas: [{ k: null }] } },
        { operation: "delete", payload: { ids: ["a"] } },
      ],
    },
  ],
  QueryBody: [
    { query_embeddings: [] },
    { query_embeddings: [[1, 2.5]], n_results: 0, ids: ["a"], where: { "#id": { $nin: ["b"] } } },
    { query_embeddings: [[1]], where: { "#document": { $regex: "(?i)a" } }, include: ["distances"] },
    { query_embeddings: [[1]], where: { tags: { $not_contains: 3 } }, n_results: null },
  ],
  SearchBody: [
    { searches: [], unknown: 1 },
    { searches: [{}], read_level: "index_only" },
    searches({ filter: null, rank: null, group_by: {}, limit: { offset: 0 }, select: { keys: [] } }),
    searches({ where: null, filter: null, rank: null, group_by: null, limit: null, select: null }),
    searches({ where: {}, filter: {}, group_by: {}, limit: {}, select: {} }),
    searches({ group_by: { keys: [], aggregate: null } }),
    searches({ group_by: { keys: [] } }),
    searches({ order_by: [{ price: "desc" }] }, { order_by: null }),
    searches({ highlight: true }, { highlight: false }, { highlight: null }, { highlight: {} }),
    searches({ highlight: { snippet: 200 } }, { highlight: { snippet: null } }),
    searches({ explain: true }, { explain: false }, { explain: null }, { explain: { ids: ["a", "b", "a"] } }),
    searches({ limit: { limit: null, offset: null }, select: { keys: null }, group_by: { keys: null } }),
    searches({ filter: { $and: [{ a: 1 }, { b: { $in: ["x"] } }] }, limit: { limit: 10_000, offset: 7 } }),
    searches({ where: { $or: [{ a: "x" }, { "#id": "b" }, { c: { $gte: 1.5 } }, { $and: [] }] } }),
    searches({ select: { keys: ["b", "#score", "a", "#id", "#document", "#metadata", "#embedding"] } }),
    ranked(knn()),
    ranked({ $knn: { query: "a", key: "k", limit: 128, default: 0.1, return_rank: true, exact: true } }),
    ranked({ $knn: { query: "", key: "#embedding", limit: null, default: null, return_rank: null } }),
    ranked({
      $knn: { query: { "#type": "sparse_vector", indices: [1], values: [1], tokens: ["a"] }, key: "s" },
    }),
    ranked({ $sum: [knn(), { $mul: [{ $val: -1 }, { $max: [knn(), { $min: [knn(), { $val: 0.5 }] }] }] }] }),
    ranked({
      $div: { left: { $abs: knn() }, right: { $sub: { left: { $exp: knn() }, right: { $log: knn() } } } },
    }),
    ranked({ $key: { key: "year" } }),
    ranked({ $sum: [knn(), { $key: { key: "year", default: 0 } }, { $age: { key: "at", half_life: 0.5 } }] }),
    ranked({ $age: { key: "at", half_life: 86_400, now: 1.7e9, default: 1 } }),
    ranked({ $key: { key: "year", default: null } }),
    ranked({ $sub: [knn(), { $val: 1 }] }),
    searches({ rank: knn(), mmr: { limit: 10 } }, { rank: knn(), mmr: { lambda: 0.25, limit: 1_000 } }),
    searches({ rank: knn(), mmr: { lambda: null, limit: 1 } }, { mmr: null }),
    searches({
      rank: knn(),
      group_by: { keys: ["a", "b"], aggregate: { $max_k: { keys: ["#score", "c"], k: 2 } } },
    }),
  ],
  TenantBody: [{ name: "a tenant" }, { name: "€" }, { name: "abc", unknown: 1 }],
  TenantUpdate: [{ resource_name: "" }, { resource_name: "name" }],
  DatabaseBody: [{ name: "a.b" }, { name: "region-1+name_2" }],
  CollectionBody: [
    { name: "abc" },
    { name: "abc", metadata: null, configuration: null, schema: null, get_or_create: null },
    { name: "abc", configuration: { hnsw: null, spann: null, embedding_function: null, unheard_of: 1 } },
    { name: "abc", configuration: { hnsw: { space: "cosine", ef_search: 64, batch_size: 1 } }, extra: true },
    { name: "abc", configuration: { spann: { space: "l2", search_nprobe: 10, quantize: "none" } } },
    { name: "abc", configuration: { embedding_function: known("default") }, get_or_create: true },
    { name: "abc", configuration: { embedding_function: { type: "legacy" } } },
    { name: "abc", metadata: { "hnsw:space": "cosine", "hnsw:M": 32, title: "t", list: ["a"] } },
    { name: "abc", schema: {} },
    { name: "abc", schema: { defaults: null, keys: null } },
    { name: "abc", schema: { keys: vectorSchema({ space: "ip", hnsw: { max_neighbors: 16 } }) } },
    { name: "abc", schema: { keys: vectorSchema({ source_key: "#document", spann: {} }) } },
    {
      name: "abc",
      schema: {
        defaults: { float_list: { vector_index: { enabled: false, config: { source_key: "body" } } } },
      },
    },
    {
      name: "abc",
      schema: {
        defaults: { sparse_vector: { sparse_vector_index: { enabled: false, config: null } } },
        keys: {
          bm25: {
            sparse_vector: {
              sparse_vector_index: {
                enabled: true,
                config: {
                  bm25: true,
                  source_key: "#document",
                  embedding_function: known("chroma_bm25", { k: 1.2 }),
                  algorithm: "wand",
                },
              },
            },
          },
          x: { string: { string_inverted_index: { enabled: false } } },
          "#document": { string: { fts_index: { enabled: true, config: { algorithm: "trigram" } } } },
        },
      },
    },
    {
      name: "abc",
      schema: {
        defaults: {},
        key_overrides: { x: { "#string": { $string_inverted_index: { enabled: false, config: {} } } } },
      },
    },
  ],
  CollectionUpdate: [
    {},
    { new_name: null, new_metadata: null, new_configuration: null },
    { new_name: "other", new_metadata: { a: 1, b: null } },
    { new_configuration: { hnsw: { ef_search: 10, num_threads: 2 } } },
    { new_configuration: { spann: { search_nprobe: 3 }, embedding_function: known("default") } },
  ],
  ForkBody: [{ new_name: "copy" }],
  KeyBody: [
    { name: "all", tenant: null, scopes: ["admin", "read"] },
    {
      name: "one",
      tenant: "acme",
      database: "notes",
      scopes: ["embed"],
      limits: { requests_per_minute: 0, tokens_per_minute: null },
      expires_at: "2030-01-31T12:00:00Z",
    },
  ],
  PullBody: [{ model: "sheaf/bm25" }, { model: "" }],
  BackupBody: [{ name: "full" }, { name: "next", incremental: "full", tenant: "acme", keys: true }],
  RotateBody: [{}, { overlap_seconds: 0, expires_at: null }],
};
