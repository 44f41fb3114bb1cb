/** What a wrong search request is answered with: a status, an `error` name, and a message that starts with the path. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServedSheaf } from "../e2e/testing/served-sheaf.ts";
import { refusal, refused } from "./testing/refusal.ts";
import { ask, newCollection } from "./testing/wire.ts";

let served: ServedSheaf;
/** Path of a collection with two dimensions, a sparse index `sp`, and a metadata key `n` without an index for integers. */
let records: string;

beforeAll(async () => {
  served = await ServedSheaf.start();
  const sparse = { sparse_vector: { sparse_vector_index: { enabled: true, config: {} } } };
  const noIntegers = { int: { int_inverted_index: { enabled: false, config: {} } } };
  records = await newCollection(served, {
    name: "searched",
    schema: { defaults: {}, keys: { sp: sparse, n: noIntegers } },
  });
  const json = {
    ids: ["a"],
    embeddings: [[1, 0]],
    metadatas: [{ color: "red", sp: { "#type": "sparse_vector", indices: [1], values: [1] } }],
  };
  await ask(served, { path: `${records}/add`, json });
});

afterAll(async () => {
  await served.dispose();
});

const search = (json: object) => refusal(served, { path: `${records}/search`, json });

const knn = (more: object = {}) => ({ $knn: { query: [1, 0], ...more } });
const sparseKnn = (query: object, more: object = {}) => ({ $knn: { query, key: "sp", ...more } });

describe("rank", () => {
  it.each<[string, unknown, number, RegExp]>([
    ["an unknown operator", { $foo: 1 }, 422, /^searches\[0\]\.rank.*\$foo/u],
    ["no operator", {}, 400, /^searches\[0\]\.rank: /u],
    ["two operators", { $val: 1, ...knn() }, 400, /^searches\[0\]\.rank: /u],
    ["no object", 5, 422, /^searches\[0\]\.rank: /u],
    ["$sum of one", { $sum: [knn()] }, 400, /^searches\[0\]\.rank\.\$sum: .*at least 2/u],
    ["$mul of none", { $mul: [] }, 400, /^searches\[0\]\.rank\.\$mul: .*at least 2/u],
    ["$max of one", { $max: [knn()] }, 400, /^searches\[0\]\.rank\.\$max: .*at least 2/u],
    ["$min of one", { $min: [knn()] }, 400, /^searches\[0\]\.rank\.\$min: .*at least 2/u],
    ["$sum of no list", { $sum: 1 }, 422, /^searches\[0\]\.rank\.\$sum: /u],
    ["$sub without right", { $sub: { left: { $val: 1 } } }, 422, /^searches\[0\]\.rank\.\$sub\.right: /u],
    ["$sub of three", { $sub: [knn(), knn(), knn()] }, 422, /^searches\[0\]\.rank\.\$sub: /u],
    ["$sub with more", { $sub: { left: knn(), right: knn(), middle: knn() } }, 400, /middle/u],
    ["$val of text", { $val: "a" }, 422, /^searches\[0\]\.rank\.\$val: /u],
    [
      "an error deep inside",
      { $sum: [knn(), { $mul: [knn(), { $val: null }] }] },
      422,
      /^searches\[0\]\.rank\.\$sum\[1\]\.\$mul\[1\]\.\$val: /u,
    ],
    ["$knn without a query", { $knn: {} }, 422, /^searches\[0\]\.rank\.\$knn\.query: /u],
    ["$knn with an unknown member", knn({ top: 5 }), 400, /^searches\[0\]\.rank\.\$knn.*top/u],
    ["$knn.limit of 0", knn({ limit: 0 }), 400, /^searches\[0\]\.rank\.\$knn\.limit: .*positive/u],
    ["$knn.limit below 0", knn({ limit: -1 }), 400, /^searches\[0\]\.rank\.\$knn\.limit: .*positive/u],
    ["$knn.limit of text", knn({ limit: "5" }), 422, /^searches\[0\]\.rank\.\$knn\.limit: /u],
    ["$knn.default of text", knn({ default: "5" }), 422, /^searches\[0\]\.rank\.\$knn\.default: /u],
    [
      "$knn.return_rank of text",
      knn({ return_rank: "yes" }),
      422,
      /^searches\[0\]\.rank\.\$knn\.return_rank: /u,
    ],
    [
      "$knn.key that is unknown",
      knn({ key: "nothing" }),
      400,
      /^searches\[0\]\.rank\.\$knn\.key: .*nothing/u,
    ],
    ["$knn.key of another #name", knn({ key: "#document" }), 400, /^searches\[0\]\.rank\.\$knn\.key: /u],
    [
      "a dense query of another length",
      knn({ query: [1, 2, 3] }),
      400,
      /^searches\[0\]\.rank\.\$knn\.query: .*dimension of 2, got 3/u,
    ],
    ["a dense query of no numbers", knn({ query: [] }), 400, /^searches\[0\]\.rank\.\$knn\.query: /u],
    ["a dense query on a sparse key", knn({ key: "sp" }), 400, /^searches\[0\]\.rank\.\$knn/u],
    [
      "a sparse query on the dense key",
      { $knn: { query: { indices: [1], values: [1] } } },
      400,
      /^searches\[0\]\.rank\.\$knn/u,
    ],
    [
      "a text where nothing embeds",
      knn({ query: "text" }),
      400,
      /^searches\[0\]\.rank\.\$knn\.query: .*embedding function/u,
    ],
    [
      "sparse indices out of order",
      sparseKnn({ indices: [2, 1], values: [1, 1] }),
      400,
      /^searches\[0\]\.rank\.\$knn\.query.*ascending/u,
    ],
    [
      "sparse indices twice",
      sparseKnn({ indices: [1, 1], values: [1, 1] }),
      400,
      /^searches\[0\]\.rank\.\$knn\.query.*ascending/u,
    ],
    [
      "sparse lengths that differ",
      sparseKnn({ indices: [1, 2], values: [1] }),
      400,
      /^searches\[0\]\.rank\.\$knn\.query.*length/u,
    ],
    [
      "a sparse query on a key without an index",
      sparseKnn({ indices: [1], values: [1] }, { key: "color" }),
      400,
      /^searches\[0\]\.rank\.\$knn.*color/u,
    ],
  ])("%s", async (_, rank, status, message) => {
    expect(await search({ searches: [{ rank }] })).toEqual(refused(status, message));
  });
});

describe("group_by", () => {
  const minK = (more: object = {}) => ({ $min_k: { keys: ["#score"], k: 1, ...more } });

  it.each<[string, object, number, RegExp]>([
    ["only keys", { keys: ["color"] }, 400, /^searches\[0\]\.group_by.*aggregate/u],
    ["only an aggregate", { aggregate: minK() }, 400, /^searches\[0\]\.group_by.*keys/u],
    ["no key", { keys: [], aggregate: minK() }, 400, /^searches\[0\]\.group_by\.keys: /u],
    [
      "a key that is no field",
      { keys: ["#score"], aggregate: minK() },
      400,
      /^searches\[0\]\.group_by\.keys\[0\]: /u,
    ],
    [
      "no aggregate key",
      { keys: ["color"], aggregate: minK({ keys: [] }) },
      400,
      /^searches\[0\]\.group_by\.aggregate\.\$min_k\.keys: /u,
    ],
    [
      "k of 0",
      { keys: ["color"], aggregate: minK({ k: 0 }) },
      400,
      /^searches\[0\]\.group_by\.aggregate\.\$min_k\.k: .*positive/u,
    ],
    ["k below 0", { keys: ["color"], aggregate: minK({ k: -1 }) }, 400, /\$min_k\.k: .*positive/u],
    [
      "an aggregate key that is no field",
      { keys: ["color"], aggregate: minK({ keys: ["#document"] }) },
      400,
      /\$min_k\.keys\[0\]: /u,
    ],
    [
      "an unknown aggregate",
      { keys: ["color"], aggregate: { $sum: {} } },
      422,
      /^searches\[0\]\.group_by\.aggregate.*\$sum/u,
    ],
    [
      "two aggregates",
      { keys: ["color"], aggregate: { ...minK(), $max_k: { keys: ["n"], k: 1 } } },
      400,
      /^searches\[0\]\.group_by\.aggregate: /u,
    ],
    ["an unknown member", { keys: ["color"], aggregate: minK(), having: 1 }, 400, /having/u],
  ])("%s", async (_, groupBy, status, message) => {
    expect(await search({ searches: [{ rank: knn(), group_by: groupBy }] })).toEqual(
      refused(status, message),
    );
  });

  it("without a rank", async () => {
    const json = { searches: [{ group_by: { keys: ["color"], aggregate: minK() } }] };
    expect(await search(json)).toEqual(refused(400, /^searches\[0\].*rank/u));
  });
});

describe("limit, select, filter and the rest", () => {
  it.each<[string, object, number, RegExp]>([
    ["a limit that is no object", { limit: 5 }, 422, /^searches\[0\]\.limit: /u],
    ["limit.limit below 0", { limit: { limit: -1 } }, 422, /^searches\[0\]\.limit\.limit: /u],
    ["limit.offset below 0", { limit: { offset: -1 } }, 422, /^searches\[0\]\.limit\.offset: /u],
    ["an unknown member of limit", { limit: { top: 1 } }, 400, /^searches\[0\]\.limit.*top/u],
    ["a select that is no object", { select: ["x"] }, 422, /^searches\[0\]\.select: /u],
    [
      "select of an unknown #name",
      { select: { keys: ["#foo"] } },
      400,
      /^searches\[0\]\.select\.keys\[0\]: .*#document/u,
    ],
    ["a filter that is wrong", { filter: { a: { $foo: 1 } } }, 422, /^searches\[0\]\.filter\.a.*\$foo/u],
    ["a where that is wrong", { where: { a: 1, b: 2 } }, 422, /^searches\[0\]\.where: /u],
    [
      "the documented shape that never worked",
      { filter: { query_ids: ["a"] } },
      422,
      /^searches\[0\]\.filter/u,
    ],
    [
      "filter and where that differ",
      { filter: { a: 1 }, where: { b: 2 } },
      400,
      /^searches\[0\].*(?:filter|where)/u,
    ],
    ["an index that is off", { where: { n: 1 } }, 400, /'n' with type 'Int' because indexing is disabled/u],
    ["an unknown member of a search", { sort_by: "color" }, 400, /^searches\[0\].*sort_by/u],
  ])("%s", async (_, one, status, message) => {
    expect(await search({ searches: [one] })).toEqual(refused(status, message));
  });

  it.each<[string, object, number, RegExp]>([
    ["no searches", {}, 422, /^searches: /u],
    ["searches that are no list", { searches: {} }, 422, /^searches: /u],
    ["a search that is no object", { searches: [[]] }, 422, /^searches\[0\]: /u],
    ["an unknown read level", { searches: [], read_level: "all" }, 422, /^read_level: /u],
    ["the second search", { searches: [{}, { rank: {} }] }, 400, /^searches\[1\]\.rank: /u],
  ])("%s", async (_, json, status, message) => {
    expect(await search(json)).toEqual(refused(status, message));
  });

  it("a collection that does not exist", async () => {
    const path = `${records.slice(0, -36)}00000000-0000-4000-8000-000000000000/search`;
    expect(await refusal(served, { path, json: { searches: [{}] } })).toEqual(
      refused(404, /does not exist/u),
    );
  });
});

describe("what is not refused", () => {
  it.each<[string, object, string[][]]>([
    ["no search at all", { searches: [] }, []],
    [
      "null everywhere",
      { searches: [{ filter: null, where: null, rank: null, group_by: null, limit: null, select: null }] },
      [["a"]],
    ],
    ["empty objects", { searches: [{ filter: {}, group_by: {}, limit: {}, select: {} }] }, [["a"]]],
    ["a limit of 0", { searches: [{ limit: { limit: 0, offset: 0 } }] }, [["a"]]],
    ["select of #id", { searches: [{ select: { keys: ["#id"] } }] }, [["a"]]],
    ["$sub as a list of two", { searches: [{ rank: { $sub: [knn(), { $val: 1 }] } }] }, [["a"]]],
    ["exact", { searches: [{ rank: knn({ exact: true }) }] }, [["a"]]],
    [
      "tokens and #type",
      {
        searches: [
          { rank: sparseKnn({ "#type": "sparse_vector", indices: [1], values: [1], tokens: ["x"] }) },
        ],
      },
      [["a"]],
    ],
    ["a constant", { searches: [{ rank: { $val: 1 } }] }, [[]]],
  ])("%s", async (_, json, ids) => {
    expect(await search(json)).toMatchObject({ status: 200, body: { ids } });
  });
});
