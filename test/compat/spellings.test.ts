/**
 * Whatever has two spellings on the wire means the same in both: each row asks one thing in every spelling and compares
 * the answers with the first one's.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT_KEY, ServedSheaf } from "../e2e/testing/served-sheaf.ts";
import { ask, DATABASE, expectOk, newCollection, type Question } from "./testing/wire.ts";

const MINILM = "sentence-transformers/all-MiniLM-L6-v2";

let served: ServedSheaf;
/** Path of a collection that all rows read. */
let records: string;
let made = 0;

beforeAll(async () => {
  served = await ServedSheaf.start();
  const sparse = { sparse_vector: { sparse_vector_index: { enabled: true, config: {} } } };
  records = await newCollection(served, { name: "read", schema: { defaults: {}, keys: { sp: sparse } } });
  const json = {
    ids: ["a", "b", "c"],
    embeddings: [
      [1, 0],
      [0, 1],
      [0.5, 0.25],
    ],
    documents: ["red sand", "grey rock", null],
    metadatas: [
      { kind: "sand", n: 1, sp: { "#type": "sparse_vector", indices: [1], values: [1] } },
      { kind: "rock", n: 2, list: [1, 2] },
      null,
    ],
  };
  await expectOk(served, { path: `${records}/add`, json });
});

afterAll(async () => {
  await served.dispose();
});

const search = (json: object): Question => ({ path: `${records}/search`, json: { searches: [json] } });
const get = (json: object): Question => ({ path: `${records}/get`, json });
const score = { select: { keys: ["#score", "#metadata"] } };
const knn = (more: object = {}) => ({ rank: { $knn: { query: [1, 0], ...more } }, ...score });

async function expectSame(questions: readonly Question[]): Promise<void> {
  const answers: unknown[] = [];
  for (const question of questions) answers.push(await expectOk(served, question));
  for (const answer of answers) expect(answer).toEqual(answers[0]);
}

describe("reading", () => {
  it.each<[string, readonly (() => Question)[]]>([
    [
      "where and filter of a search",
      [
        () => search({ where: { kind: "sand" } }),
        () => search({ filter: { kind: "sand" } }),
        () => search({ where: { kind: "sand" }, filter: null }),
        () => search({ where: {}, filter: { kind: "sand" } }),
        () => search({ where: { kind: "sand" }, filter: { kind: "sand" } }),
      ],
    ],
    [
      "absent, null and empty members of a search",
      [
        () => search({}),
        () => search({ where: null, filter: null, rank: null, group_by: null, limit: null, select: null }),
        () => search({ where: {}, filter: {}, group_by: {}, limit: {}, select: {} }),
        () => search({ group_by: { keys: [], aggregate: null } }),
        () => search({ group_by: { keys: [] } }),
        () => search({ limit: { offset: 0 }, select: { keys: [] } }),
        () => search({ limit: { offset: 0, limit: null } }),
        () => search({ limit: { limit: 0 } }),
      ],
    ],
    ["$eq and its short form", [() => get({ where: { n: 1 } }), () => get({ where: { n: { $eq: 1 } } })]],
    [
      "whole floats and integers",
      [
        () => get({ where: { n: { $in: [1, 2] } } }),
        () => ({ path: `${records}/get`, body: '{"where":{"n":{"$in":[1.0,2.0]}}}' }),
        () => get({ where: { $or: [{ n: 1 }, { n: 2 }] } }),
      ],
    ],
    [
      "numbers in lists, by value",
      [
        () => get({ where: { list: { $contains: 2 } } }),
        () => ({ path: `${records}/get`, body: '{"where":{"list":{"$contains":2.0}}}' }),
      ],
    ],
    [
      "where_document and #document",
      [
        () => get({ where_document: { $contains: "red" } }),
        () => get({ where: { "#document": { $contains: "red" } } }),
      ],
    ],
    ["ids and #id", [() => get({ ids: ["a", "c"] }), () => get({ where: { "#id": { $in: ["c", "a"] } } })]],
    [
      "absent and null members of a get",
      [
        () => get({}),
        () => get({ ids: null, where: null, where_document: null, limit: null, offset: null, include: null }),
      ],
    ],
    [
      "the defaults of $knn",
      [
        () => search(knn()),
        () => search(knn({ key: "#embedding", limit: 16, default: null, return_rank: false })),
        () => search(knn({ exact: true })),
      ],
    ],
    [
      "a sparse query with and without its type and tokens",
      [
        () => search(knn({ key: "sp", query: { indices: [1], values: [1] } })),
        () => search(knn({ key: "sp", query: { "#type": "sparse_vector", indices: [1], values: [1] } })),
        () => search(knn({ key: "sp", query: { indices: [1], values: [1], tokens: ["x"] } })),
      ],
    ],
    [
      "$sub of an object and of a list",
      [
        () => search({ rank: { $sub: { left: knn().rank, right: { $val: 1 } } }, ...score }),
        () => search({ rank: { $sub: [knn().rank, { $val: 1 }] }, ...score }),
      ],
    ],
    [
      "read levels, and none",
      [undefined, "index_and_wal", "index_only", "index_and_bounded_wal"].map((read_level) => () => ({
        path: `${records}/search`,
        json: { searches: [knn()], read_level },
      })),
    ],
    [
      "count with and without a read level",
      [() => ({ path: `${records}/count` }), () => ({ path: `${records}/count?read_level=index_only` })],
    ],
  ])("%s", async (_, questions) => {
    await expectSame(questions.map((question) => question()));
    expect.hasAssertions();
  });
});

describe("headers", () => {
  const path = `${DATABASE}/collections_count`;
  const none = { "x-chroma-token": null };

  it("the key in each of three", async () => {
    await expectSame([
      { path, headers: { ...none, "x-service-token": ROOT_KEY } },
      { path, headers: { "x-chroma-token": ROOT_KEY } },
      { path, headers: { ...none, authorization: `Bearer ${ROOT_KEY}` } },
    ]);
    expect.hasAssertions();
  });

  it("the first key that is there counts", async () => {
    const right = { "x-service-token": ROOT_KEY, "x-chroma-token": "wrong", authorization: "Bearer wrong" };
    expect((await ask(served, { path, headers: right })).status).toBe(200);
    const wrong = { "x-service-token": "wrong", "x-chroma-token": ROOT_KEY };
    expect((await ask(served, { path, headers: wrong })).status).toBe(401);
  });

  it("both names of the heartbeat", async () => {
    const answer = { "nanosecond heartbeat": expect.any(Number) };
    expect(await expectOk(served, { path: "/api/v2" })).toEqual(answer);
    expect(await expectOk(served, { path: "/api/v2/heartbeat" })).toEqual(answer);
  });
});

describe("embedding", () => {
  const texts = ["Ships rise with the tide"];
  const dense = (json: object, more: object = {}): Question => ({
    path: "/embed",
    json: { texts, ...json },
    headers: { "x-service-embedding-model": MINILM },
    ...more,
  });
  const sparse = (json: object): Question => ({
    path: "/embed_sparse",
    json: { texts, instructions: "", ...json },
    headers: { "x-service-embedding-model": "sheaf/bm25" },
  });

  it.each<[string, readonly Question[]]>([
    [
      "both names of the model header, and both paths",
      [
        dense({ instructions: "" }),
        dense({ instructions: "" }, { headers: { "x-chroma-embedding-model": MINILM } }),
        dense({ instructions: "" }, { path: "/" }),
      ],
    ],
    [
      "instructions, and task with target",
      [
        dense({ instructions: "" }),
        dense({ task: "", target: "" }),
        dense({ instructions: null, task: "", target: "query" }),
        dense({ instructions: "", task: "nl_to_code", target: "query" }),
      ],
    ],
    [
      "every Content-Type",
      [
        dense({ instructions: "" }),
        dense(
          { instructions: "" },
          { headers: { "x-chroma-embedding-model": MINILM, "content-type": "text/plain" } },
        ),
      ],
    ],
    [
      "a text over the limit that is cut",
      ["end", true].map((truncate) => dense({ texts: ["word ".repeat(300)], instructions: "", truncate })),
    ],
    [
      "labels wanted",
      [
        sparse({ fetch_labels: true }),
        sparse({ fetch_labels: "true" }),
        sparse({ fetch_tokens: true }),
        sparse({ fetch_tokens: "true" }),
        sparse({ fetch_labels: true, fetch_tokens: "true" }),
      ],
    ],
    [
      "labels not wanted",
      [
        sparse({}),
        sparse({ fetch_labels: null }),
        sparse({ fetch_labels: false }),
        sparse({ fetch_tokens: "false" }),
      ],
    ],
  ])("%s", async (_, questions) => {
    await expectSame(questions);
    expect.hasAssertions();
  });
});

describe("writing", () => {
  const base64 = Buffer.from(new Float32Array([0.1, -2.5]).buffer).toString("base64");
  const one = { ids: ["a"], embeddings: [[0.1, -2.5]], documents: ["x"], metadatas: [{ k: 1 }] };

  it.each<[string, readonly object[]]>([
    ["embeddings as numbers and as base64", [one, { ...one, embeddings: [base64] }]],
    [
      "absent and null columns",
      [
        { ids: ["a"], embeddings: [[1, 2]] },
        { ids: ["a"], embeddings: [[1, 2]], documents: null, metadatas: null, uris: null },
        { ids: ["a"], embeddings: [[1, 2]], documents: [null], metadatas: [null], uris: [null] },
      ],
    ],
    [
      "null and empty metadata",
      [
        { ...one, metadatas: [null] },
        { ...one, metadatas: [{}] },
      ],
    ],
  ])("%s", async (_, bodies) => {
    const seen: unknown[] = [];
    const include = ["embeddings", "documents", "metadatas", "uris"];
    for (const json of bodies) {
      const path = await newCollection(served, { name: `written-${made++}` });
      await expectOk(served, { path: `${path}/add`, json });
      seen.push(await expectOk(served, { path: `${path}/get`, json: { include } }));
    }
    for (const records of seen) expect(records).toEqual(seen[0]);
  });
});

describe("describing a collection", () => {
  const vector = (config: object) => ({ float_list: { vector_index: { enabled: true, config } } });
  const oldVector = (config: object) => ({ "#float_list": { $vector_index: { enabled: true, config } } });
  const sparseKeys = {
    words: { sparse_vector: { sparse_vector_index: { enabled: true, config: { bm25: true } } } },
  };
  const oldSparseKeys = {
    words: { "#sparse_vector": { $sparse_vector_index: { enabled: true, config: { bm25: true } } } },
  };
  const known = (name: string, config: object) => ({ embedding_function: { type: "known", name, config } });

  it.each<[string, readonly object[]]>([
    [
      "a space, in the configuration, the schema and the legacy metadata",
      [
        { configuration: { hnsw: { space: "cosine" } } },
        { schema: { defaults: {}, keys: { "#embedding": vector({ space: "cosine" }) } } },
        {
          schema: { defaults: {}, keys: { "#embedding": vector({ space: "cosine" }) } },
          configuration: null,
        },
        { schema: { defaults: {}, keys: { "#embedding": vector({ space: "cosine" }) } }, configuration: {} },
        { schema: { defaults: {}, keys: { "#embedding": oldVector({ space: "cosine" }) } } },
        { schema: { defaults: {}, key_overrides: { "#embedding": vector({ space: "cosine" }) } } },
        { metadata: { "hnsw:space": "cosine" } },
      ],
    ],
    [
      "every parameter of hnsw",
      [
        {
          configuration: {
            hnsw: { ef_construction: 50, ef_search: 60, max_neighbors: 8, sync_threshold: 500 },
          },
        },
        {
          metadata: {
            "hnsw:construction_ef": 50,
            "hnsw:search_ef": 60,
            "hnsw:M": 8,
            "hnsw:sync_threshold": 500,
          },
        },
      ],
    ],
    [
      "nothing at all",
      [
        {},
        { configuration: null, schema: null, metadata: null },
        { configuration: {} },
        { schema: { defaults: {}, keys: {} } },
      ],
    ],
    [
      "a sparse index in old names",
      [{ schema: { defaults: {}, keys: sparseKeys } }, { schema: { defaults: {}, keys: oldSparseKeys } }],
    ],
    [
      "an embedding function",
      [
        { configuration: known("default", {}) },
        { schema: { defaults: {}, keys: { "#embedding": vector(known("default", {})) } } },
      ],
    ],
  ])("%s", async (_, bodies) => {
    const seen: unknown[] = [];
    for (const body of bodies) {
      const { configuration_json, schema } = await expectOk<Record<string, unknown>>(served, {
        path: `${DATABASE}/collections`,
        json: { name: `described-${made++}`, ...body },
      });
      seen.push({ configuration_json, schema });
    }
    for (const description of seen) expect(description).toEqual(seen[0]);
  });

  it.each<[string, readonly object[]]>([
    [
      "all-MiniLM-L6-v2",
      [
        { configuration: known("default", {}) },
        { configuration: known("sheaf", { model: MINILM }) },
        { schema: { defaults: {}, keys: { "#embedding": vector(known("sheaf", { model: MINILM })) } } },
      ],
    ],
    [
      "BM25",
      ["chroma_bm25", "sheaf"].map((name) => {
        const config = name === "sheaf" ? { model: "sheaf/bm25", statistics: "fixed" } : {};
        const index = { enabled: true, config: { source_key: "#document", ...known(name, config) } };
        const keys = { words: { sparse_vector: { sparse_vector_index: index } } };
        return { configuration: null, schema: { defaults: {}, keys } };
      }),
    ],
  ])("names of functions that make the same vectors: %s", async (_, bodies) => {
    const seen: unknown[] = [];
    for (const body of bodies) {
      const path = await newCollection(served, { name: `embedded-${made++}`, ...body });
      const embeddings = JSON.stringify(body).includes("words") ? { embeddings: [[1]] } : {};
      const json = { ids: ["a"], documents: ["Ships rise with the tide"], ...embeddings };
      await expectOk(served, { path: `${path}/add`, json });
      seen.push(
        await expectOk(served, { path: `${path}/get`, json: { include: ["embeddings", "metadatas"] } }),
      );
    }
    expect(JSON.stringify(seen[0])).toMatch(/\d\.\d{3}/u);
    for (const records of seen) expect(records).toEqual(seen[0]);
  });
});
