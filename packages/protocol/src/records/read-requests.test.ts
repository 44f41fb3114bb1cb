/** get, query and delete bodies: what they mean and how they are refused. */
import { describe, expect, it } from "vitest";
import { readJson } from "../json/json-reader.ts";
import { LIMITS } from "../limits.ts";
import { refusal } from "../testing/refusal.ts";
import { parseCountRequest } from "./count-request.ts";
import { parseDeleteRequest } from "./delete-request.ts";
import { parseFacetsRequest } from "./facets-request.ts";
import { parseGetRequest } from "./get-request.ts";
import { parseQueryRequest } from "./query-request.ts";

const read = (text: string): unknown => readJson(new TextEncoder().encode(text));
const aIsOne = { type: "compare", key: "a", operator: "$eq", value: 1n };
const hasText = { type: "document_contains", negated: false, text: "x" };

describe("get", () => {
  it("has defaults, null being absent", () => {
    const expected = {
      ids: null,
      where: null,
      limit: null,
      offset: 0,
      include: {
        documents: true,
        embeddings: false,
        metadatas: true,
        uris: false,
        distances: false,
        keys: ["documents", "metadatas"],
      },
    };
    expect(parseGetRequest({})).toEqual(expected);
    const nulls = { ids: null, where: null, where_document: null, limit: null, offset: null, include: null };
    expect(parseGetRequest({ ...nulls, unknown: 1 })).toEqual(expected);
  });

  it("reads everything", () => {
    const body =
      '{"ids":["b","a"],"where":{"a":1},"where_document":{"$contains":"x"},"limit":0,"offset":3,"include":[]}';
    expect(parseGetRequest(read(body))).toMatchObject({
      ids: ["b", "a"],
      where: { type: "and", children: [aIsOne, hasText] },
      limit: 0,
      offset: 3,
      include: { documents: false, keys: [] },
    });
  });

  it("reads an order, in which a key counts once", () => {
    const order_by = [{ b: "desc" }, { a: "asc" }, { b: "asc" }];
    const keys = [
      { key: "b", descending: true },
      { key: "a", descending: false },
    ];
    expect(parseGetRequest({ order_by }).orderBy).toEqual({ keys, path: "order_by" });
    expect(parseGetRequest({ order_by: [] })).not.toHaveProperty("orderBy");
  });

  it("echoes include as it was sent", () => {
    const { include } = parseGetRequest({ include: ["uris", "distances", "documents"] });
    expect(include).toEqual({
      documents: true,
      embeddings: false,
      metadatas: false,
      uris: true,
      distances: true,
      keys: ["uris", "distances", "documents"],
    });
  });

  it("tells an empty list of ids from none", () => {
    expect(parseGetRequest({ ids: [] }).ids).toEqual([]);
  });

  it.each([
    ["[]", "422 must be an object"],
    ['{"ids":"a"}', "422 ids: must be an array"],
    ['{"ids":[1]}', "422 ids[0]: must be a string"],
    ['{"where":{}}', "400 where: must hold exactly one key"],
    ['{"where":5}', "400 where: must be an object"],
    ['{"ids":["a"],"filter":{"a":1}}', "422 filter: is unknown here; a filter goes into `where`"],
    ['{"where_document":{}}', "400 where_document: must hold exactly one key"],
    ['{"limit":-1}', "422 limit: must be a non-negative integer"],
    ['{"limit":1.0}', "422 limit: must be a non-negative integer"],
    ['{"offset":"1"}', "422 offset: must be a non-negative integer"],
    ['{"order_by":{"a":"asc"}}', "422 order_by: must be an array"],
    ['{"order_by":["a"]}', `422 order_by[0]: must be an object such as {"year": "asc"}`],
    ['{"order_by":[{"a":"asc","b":"asc"}]}', "400 order_by[0]: must hold exactly one key"],
    ['{"order_by":[{"#id":"asc"}]}', "400 order_by[0].#id: must be a metadata field"],
    ['{"order_by":[{"a":"up"}]}', "422 order_by[0].a: must be `asc` or `desc`"],
    ['{"order_by":[{"a":1}]}', "422 order_by[0].a: must be a string"],
    ['{"encoding_format":"int8"}', "422 encoding_format: must be `float` or `base64`"],
    ['{"encoding_format":1}', "422 encoding_format: must be `float` or `base64`"],
    ['{"include":"documents"}', "422 include: must be an array"],
    ['{"include":["documents",1]}', "422 include[1]: must be a string"],
    [
      '{"include":["data"]}',
      "422 include[0]: must be `documents`, `embeddings`, `metadatas`, `uris` or `distances`",
    ],
  ])("refuses %s", (body, message) => {
    expect(refusal(() => parseGetRequest(read(body)))).toBe(message);
  });

  it("bounds ids", () => {
    const ids = (count: number) => ({ ids: Array.from({ length: count }, () => "a") });
    expect(refusal(() => parseGetRequest(ids(LIMITS.whereValues)))).toBe("accepted");
    expect(refusal(() => parseGetRequest(ids(LIMITS.whereValues + 1)))).toBe(
      "400 ids: must hold at most 100000 ids",
    );
  });
});

describe("count", () => {
  it("reads the selection of a get, and nothing selects everything", () => {
    expect(parseCountRequest({})).toEqual({ ids: null, where: null });
    expect(parseCountRequest(read('{"ids":["a"],"where":{"a":1},"where_document":null}'))).toEqual({
      ids: ["a"],
      where: aIsOne,
    });
  });

  it.each([
    ["[]", "422 must be an object"],
    ['{"where":{}}', "400 where: must hold exactly one key"],
    ['{"filter":{"a":1}}', "422 filter: is unknown here; a filter goes into `where`"],
    ['{"wehre":{"a":1}}', "400 wehre: is unknown, expected `ids`, `where` or `where_document`"],
    ['{"where_document":{}}', "400 where_document: must hold exactly one key"],
  ])("refuses %s", (body, message) => {
    expect(refusal(() => parseCountRequest(read(body)))).toBe(message);
  });
});

describe("facets", () => {
  it("has defaults, and takes each key once", () => {
    const expected = { ids: null, where: null, keys: ["b", "a"], limit: 10, histogram: null };
    expect(parseFacetsRequest({ keys: ["b", "a", "b"] })).toEqual(expected);
    expect(parseFacetsRequest({ keys: ["b", "a"], limit: null, histogram: null, where: null })).toEqual(
      expected,
    );
  });

  it.each([
    ["{}", "422 keys: is required"],
    ['{"keys":[]}', "400 keys: must hold at least 1 key"],
    ['{"keys":["a",1]}', "422 keys[1]: must be a string"],
    ['{"keys":["a","#document"]}', "400 keys[1]: must be a metadata field"],
    ['{"keys":["a"],"limit":-1}', "422 limit: must be a non-negative integer"],
    ['{"keys":["a"],"histogram":0}', "400 histogram: must be a positive integer"],
    ['{"keys":["a"],"histogram":1.5}', "422 histogram: must be a positive integer"],
    ['{"keys":["a"],"filter":{}}', "422 filter: is unknown here; a filter goes into `where`"],
    [
      '{"keys":["a"],"buckets":3}',
      "400 buckets: is unknown, expected `keys`, `ids`, `where`, `where_document`, `limit` or `histogram`",
    ],
  ])("refuses %s", (body, message) => {
    expect(refusal(() => parseFacetsRequest(read(body)))).toBe(message);
  });
});

describe("query", () => {
  it("has defaults", () => {
    expect(parseQueryRequest({ query_embeddings: [[1, 2]], n_results: null })).toEqual({
      ids: null,
      where: null,
      embeddings: [Float32Array.of(1, 2)],
      limit: 10,
      include: {
        documents: true,
        embeddings: false,
        metadatas: true,
        uris: false,
        distances: true,
        keys: ["documents", "metadatas", "distances"],
      },
    });
  });

  it("reads everything", () => {
    const body =
      '{"query_embeddings":[[1.0],[0.5]],"n_results":0,"ids":["a"],"where":{"a":1},"include":["uris"]}';
    expect(parseQueryRequest(read(body))).toMatchObject({
      ids: ["a"],
      where: aIsOne,
      embeddings: [Float32Array.of(1), Float32Array.of(0.5)],
      limit: 0,
      include: { uris: true, distances: false, keys: ["uris"] },
    });
    expect(parseQueryRequest({ query_embeddings: [] }).embeddings).toEqual([]);
  });

  it.each([
    ["{}", "422 query_embeddings: is required"],
    ['{"query_embeddings":null}', "422 query_embeddings: is required"],
    ['{"query_embeddings":[1]}', "422 query_embeddings[0]: must be an array"],
    ['{"query_embeddings":["AACAPw=="]}', "422 query_embeddings[0]: must be an array"],
    ['{"query_embeddings":[["a"]]}', "422 query_embeddings[0][0]: must be a number"],
    ['{"query_embeddings":[[]]}', "400 query_embeddings[0]: Each embedding must have at least 1 dimension"],
    [
      '{"query_embeddings":[[1e39]]}',
      "400 query_embeddings[0][0]: Embeddings must not contain NaN or Infinity values",
    ],
    ['{"query_embeddings":[[1]],"n_results":-1}', "422 n_results: must be a non-negative integer"],
    ['{"query_embeddings":[[1]],"filter":{}}', /^422 filter: is unknown here; .* `where`$/],
    ['{"query_texts":["x"]}', /^422 query_texts: is unknown here; send vectors as `query_embeddings`, or /],
    ['{"query_embeddings":[[1]],"where":{"a":{"$foo":1}}}', /^400 where\.a\.\$foo: is unknown/],
    ['{"query_embeddings":[[1]],"include":["x"]}', /^422 include\[0\]: must be /],
  ])("refuses %s", (body, message) => {
    const said = refusal(() => parseQueryRequest(read(body)));
    if (typeof message === "string") expect(said).toBe(message);
    else expect(said).toMatch(message);
  });

  it("bounds vectors, and leaves the bound of results to who knows how many there are", () => {
    const vectors = (count: number) => ({ query_embeddings: Array.from({ length: count }, () => [1]) });
    expect(refusal(() => parseQueryRequest(vectors(LIMITS.queriesPerCall)))).toBe("accepted");
    expect(refusal(() => parseQueryRequest(vectors(LIMITS.queriesPerCall + 1)))).toBe(
      "400 query_embeddings: must hold at most 1024 vectors",
    );
    expect(parseQueryRequest({ query_embeddings: [], n_results: 1_000_000 }).limit).toBe(1_000_000);
  });
});

describe("delete", () => {
  it("reads ids, filters and limit", () => {
    expect(parseDeleteRequest({ ids: ["a"] })).toEqual({ ids: ["a"], where: null, limit: null });
    expect(parseDeleteRequest({ where: { a: 1 }, limit: 2 })).toEqual({ ids: null, where: aIsOne, limit: 2 });
    expect(parseDeleteRequest({ where_document: { $contains: "x" }, limit: 0 })).toEqual({
      ids: null,
      where: hasText,
      limit: 0,
    });
    expect(parseDeleteRequest({ ids: [], where: { a: 1 } })).toEqual({ ids: [], where: aIsOne, limit: null });
  });

  it("that selects by nothing deletes nothing, never all", () => {
    for (const body of [{}, { ids: null, where: null, where_document: null, limit: null }]) {
      expect(parseDeleteRequest(body)).toEqual({ ids: [], where: null, limit: null });
    }
  });

  it.each([
    ['{"ids":[]}', "400 ids: Either ids or where must be specified"],
    ['{"limit":1}', "400 limit: limit can only be specified when a where clause is provided"],
    ['{"ids":["a"],"filter":{"a":1}}', "422 filter: is unknown here; a filter goes into `where`"],
    ['{"ids":["a"],"limit":1}', "400 limit: limit can only be specified when a where clause is provided"],
    ['{"where":{}}', "400 where: must hold exactly one key"],
    ['{"where":{"a":1},"limit":-1}', "422 limit: must be a non-negative integer"],
    ['{"ids":[1]}', "422 ids[0]: must be a string"],
  ])("refuses %s", (body, message) => {
    expect(refusal(() => parseDeleteRequest(read(body)))).toBe(message);
  });
});
