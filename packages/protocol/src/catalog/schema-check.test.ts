import { describe, expect, it } from "vitest";
import type { Knn, KnnQuery, Rank, Search, SearchRequest, Where } from "../search/ast.ts";
import { parseSearchRequest } from "../search/search-request.ts";
import { checkSearchAgainstSchema, checkWhereAgainstSchema } from "./schema-check.ts";
import { createOf } from "./testing/collection.ts";
import { bodyOf, refusalOf } from "./testing/refusal.ts";

const OFF = { enabled: false, config: {} };
const ON = { enabled: true, config: {} };

const SCHEMA = createOf({
  schema: {
    defaults: { bool: { bool_inverted_index: OFF } },
    keys: {
      text: { string: { string_inverted_index: OFF } },
      count: { int: { int_inverted_index: OFF } },
      ratio: { float: { float_inverted_index: OFF } },
      flag: { bool: { bool_inverted_index: ON } },
      terms: { sparse_vector: { sparse_vector_index: ON } },
    },
  },
}).schema;

function equal(key: string, value: string | boolean | bigint | number): Where {
  return { type: "compare", key, operator: "$eq", value };
}

function disabled(path: string, key: string, type: string): string {
  return `400 ${path}: Cannot filter using metadata key '${key}' with type '${type}' because indexing is disabled`;
}

describe("checkWhereAgainstSchema", () => {
  it.each<[Where]>([
    [equal("title", "x")],
    [equal("text", 1n)],
    [equal("count", 1.5)],
    [equal("ratio", 1n)],
    [equal("flag", true)],
    [equal("constructor", "x")],
    [{ type: "id", negated: false, ids: ["a"] }],
    [{ type: "document_contains", negated: true, text: "x" }],
    [{ type: "document_regex", negated: false, pattern: "x" }],
    [{ type: "in", key: "text", negated: false, values: [1n, 2n] }],
    [{ type: "and", children: [] }],
  ])("passes $0.type of $0.key", (where) => {
    expect(() => checkWhereAgainstSchema(where, SCHEMA, "where")).not.toThrow();
  });

  it.each<[Where, string]>([
    [equal("text", "x"), disabled("where.text", "text", "Str")],
    [equal("count", 1n), disabled("where.count", "count", "Int")],
    [equal("ratio", 1.5), disabled("where.ratio", "ratio", "Float")],
    [equal("other", true), disabled("where.other", "other", "Bool")],
    [equal("#document", "x"), disabled("where.#document", "#document", "Str")],
    [{ type: "in", key: "text", negated: true, values: ["a", "b"] }, disabled("where.text", "text", "Str")],
    [{ type: "contains", key: "count", negated: false, value: 1n }, disabled("where.count", "count", "Int")],
    [
      { type: "and", children: [equal("title", "x"), { type: "or", children: [equal("text", "x")] }] },
      disabled("where.$and[1].$or[0].text", "text", "Str"),
    ],
  ])("$1", (where, refusal) => {
    expect(refusalOf(() => checkWhereAgainstSchema(where, SCHEMA, "where"))).toBe(refusal);
  });

  it("refuses full-text conditions where that index is off", () => {
    const { schema } = createOf({ schema: { keys: { "#document": { string: { fts_index: OFF } } } } });
    const refusal = "400 where: Cannot filter using full-text search because FTS indexing is disabled";
    const contains: Where = { type: "document_contains", negated: false, text: "x" };
    const regex: Where = { type: "document_regex", negated: true, pattern: "x" };
    expect(refusalOf(() => checkWhereAgainstSchema(contains, schema, "where"))).toBe(refusal);
    expect(refusalOf(() => checkWhereAgainstSchema(regex, schema, "where"))).toBe(refusal);
  });
});

const DENSE: KnnQuery = { type: "dense", vector: new Float32Array([1]) };
const SPARSE: KnnQuery = {
  type: "sparse",
  vector: { indices: new Uint32Array([1]), values: new Float32Array([1]) },
};
const TEXT: KnnQuery = { type: "text", text: "x" };
const PATH = "searches[0].rank.$knn";

function knn(key: string, query: KnnQuery): Knn {
  const rest = { limit: 16, default: null, returnRank: false, exact: false };
  return { type: "knn", query, key, path: PATH, ...rest };
}

function searching(rank: Rank | null, where: Where | null = null): SearchRequest {
  const select = { document: false, embedding: false, metadata: false, score: false, fields: [], keys: [] };
  const search: Search = { where, rank, groupBy: null, offset: 0, limit: null, select };
  return { searches: [search], readLevel: "index_and_wal" };
}

describe("checkSearchAgainstSchema", () => {
  it.each([
    ["#embedding", DENSE],
    ["#embedding", TEXT],
    ["terms", SPARSE],
    ["terms", TEXT],
  ] as const)("passes $0 with $1.type", (key, query) => {
    expect(() => checkSearchAgainstSchema(searching(knn(key, query)), SCHEMA)).not.toThrow();
  });

  it.each([
    ["#embedding", SPARSE, `400 ${PATH}.query: must be dense for the key \`#embedding\``],
    ["terms", DENSE, `400 ${PATH}.query: must be a sparse vector or a string for the sparse index 'terms'`],
    ["title", SPARSE, disabled(`${PATH}.key`, "title", "SparseVector")],
    ["text", SPARSE, disabled(`${PATH}.key`, "text", "SparseVector")],
    ["text", DENSE, `400 ${PATH}.key: 'text' has no sparse index`],
    [
      "title",
      TEXT,
      `400 ${PATH}.key: 'title' is neither \`#embedding\` nor a sparse index (there are 'terms')`,
    ],
    ["#document", DENSE, `400 ${PATH}.key: '#document' has no sparse index`],
    [
      "#score",
      SPARSE,
      `400 ${PATH}.key: '#score' is neither \`#embedding\` nor a sparse index (there are 'terms')`,
    ],
    [
      "__proto__",
      TEXT,
      `400 ${PATH}.key: '__proto__' is neither \`#embedding\` nor a sparse index (there are 'terms')`,
    ],
  ] as const)("refuses $0 with $1.type", (key, query, refusal) => {
    expect(refusalOf(() => checkSearchAgainstSchema(searching(knn(key, query)), SCHEMA))).toBe(refusal);
  });

  it("finds a leaf anywhere in a rank", () => {
    const leaf = knn("title", TEXT);
    const value: Rank = { type: "val", value: 1 };
    const ranks: readonly Rank[] = [
      leaf,
      { type: "unary", operator: "$abs", operand: leaf },
      { type: "binary", operator: "$sub", left: value, right: leaf },
      { type: "binary", operator: "$div", left: leaf, right: value },
      { type: "nary", operator: "$sum", operands: [value, leaf] },
    ];
    for (const rank of ranks) {
      expect(refusalOf(() => checkSearchAgainstSchema(searching(rank), SCHEMA))).toMatch(/^400 /);
    }
    expect(() => checkSearchAgainstSchema(searching(value), SCHEMA)).not.toThrow();
    expect(() => checkSearchAgainstSchema(searching(null), SCHEMA)).not.toThrow();
  });

  it("checks the filter of each search", () => {
    const one = searching(null, equal("title", "x"));
    const other = searching(null, equal("text", "x"));
    const request = { ...one, searches: [...one.searches, ...other.searches] };
    expect(refusalOf(() => checkSearchAgainstSchema(request, SCHEMA))).toBe(
      disabled("searches[1].where.text", "text", "Str"),
    );
  });

  it("names the leaf by its place in the body", () => {
    const text = { $knn: { query: "x", key: "terms" } };
    const dense = { $knn: { query: [1], key: "terms" } };
    const body = { searches: [{ rank: text }, { rank: { $sum: [text, { $abs: dense }] } }] };
    expect(refusalOf(() => checkSearchAgainstSchema(parseSearchRequest(bodyOf(body)), SCHEMA))).toBe(
      "400 searches[1].rank.$sum[1].$abs.$knn.query: must be a sparse vector or a string for the sparse index 'terms'",
    );
  });
});
