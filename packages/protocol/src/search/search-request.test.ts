import { describe, expect, it } from "vitest";
import { readJson } from "../json/json-reader.ts";
import { LIMITS } from "../limits.ts";
import type { Rank, Search } from "./ast.ts";
import { parseSearchRequest } from "./search-request.ts";

const read = (body: string | object): unknown =>
  readJson(new TextEncoder().encode(typeof body === "string" ? body : JSON.stringify(body)));
const search = (dictionary: object): Search =>
  parseSearchRequest(read({ searches: [dictionary] })).searches.at(0)!;
const rank = (expression: object): Rank => search({ rank: expression }).rank!;

const nothing: Search = {
  where: null,
  rank: null,
  groupBy: null,
  offset: 0,
  limit: null,
  select: { document: false, embedding: false, metadata: false, score: false, fields: [], keys: [] },
};

describe("a search", () => {
  it.each([
    [
      "of Python's client",
      { filter: null, rank: null, group_by: {}, limit: { offset: 0 }, select: { keys: [] } },
    ],
    ["of JavaScript's client", { limit: { offset: 0 }, select: { keys: [] } }],
    ["of nulls", { where: null, filter: null, rank: null, group_by: null, limit: null, select: null }],
    ["of empty objects", { where: {}, filter: {}, group_by: {}, limit: {}, select: {} }],
    [
      "of nulls inside",
      { limit: { limit: null, offset: null }, select: { keys: null }, group_by: { keys: null } },
    ],
    ["with a limit of 0", { limit: { limit: 0 } }],
    ["of nothing", {}],
  ])("%s is the default one", (_name, dictionary) => {
    expect(search(dictionary)).toEqual(nothing);
  });

  it("chooses records that differ, halfway unless told otherwise", () => {
    const ranked = { rank: { $val: 1 } };
    expect(search({ ...ranked, mmr: { limit: 10 } }).mmr).toEqual({ lambda: 0.5, limit: 10 });
    expect(search({ ...ranked, mmr: { lambda: 1, limit: 10 } }).mmr).toEqual({ lambda: 1, limit: 10 });
    expect(search({ ...ranked, mmr: null })).toEqual(search(ranked));
  });

  it("may be one of none, and other members of the body are ignored", () => {
    expect(parseSearchRequest(read('{"searches":[],"unknown":1}'))).toEqual({
      searches: [],
      readLevel: "index_and_wal",
    });
  });

  it.each(["index_and_wal", "index_only", "index_and_bounded_wal"])("takes the read level %s", (level) => {
    expect(parseSearchRequest({ searches: [], read_level: level }).readLevel).toBe(level);
  });

  it("takes `where` and `filter` for the same", () => {
    const filter = { $and: [{ a: 1 }, { b: { $in: ["x"] } }] };
    const expected = search({ where: filter }).where;
    expect(search({ filter }).where).toEqual(expected);
    expect(search({ filter, where: structuredClone(filter) }).where).toEqual(expected);
    expect(search({ filter, where: {} }).where).toEqual(expected);
    const regex = { "#document": { $regex: "a" } };
    expect(search({ filter: regex, where: regex }).where).toEqual(search({ where: regex }).where);
    expect(search({ filter: null, where: filter }).where).toEqual(expected);
    expect(search({ filter: { a: "x" }, where: { a: { $eq: "x" } } }).where).toEqual(
      search({ where: { a: "x" } }).where,
    );
  });

  it("reads what is to be explained, each id once", () => {
    const path = "searches[0].explain";
    expect(search({ explain: true })).toEqual({ ...nothing, explain: { ids: null, path } });
    expect(search({ explain: { ids: ["a", "b", "a"] } })).toEqual({
      ...nothing,
      explain: { ids: ["a", "b"], path },
    });
    expect(search({ explain: false })).toEqual(nothing);
    expect(search({ explain: null })).toEqual(nothing);
  });

  it("reads the page", () => {
    expect(search({ limit: { limit: 10_000, offset: 7 } })).toEqual({ ...nothing, limit: 10_000, offset: 7 });
  });

  it("reads the selection in the order of the echo", () => {
    expect(search({ select: { keys: ["b", "#score", "a", "#id", "#document", "b"] } }).select).toEqual({
      document: true,
      embedding: false,
      metadata: false,
      score: true,
      fields: ["a", "b"],
      keys: ["#id", "#document", "#score", "a", "b"],
    });
    expect(search({ select: { keys: ["#metadata", "#embedding"] } }).select.keys).toEqual([
      "#embedding",
      "#metadata",
    ]);
  });

  it("reads groups", () => {
    // Again a key says nothing.
    const group_by = { keys: ["a", "b", "a"], aggregate: { $max_k: { keys: ["#score", "c", "c"], k: 2 } } };
    expect(search({ rank: { $val: 1 }, group_by }).groupBy).toEqual({
      keys: ["a", "b"],
      aggregate: { operator: "$max_k", keys: ["#score", "c"], k: 2 },
    });
  });
});

describe("a rank expression", () => {
  const knn = {
    type: "knn",
    key: "#embedding",
    limit: 16,
    default: null,
    returnRank: false,
    exact: false,
    path: "searches[0].rank.$knn",
  };

  it("takes dense, sparse and text queries, with defaults", () => {
    expect(rank({ $knn: { query: [0.1, 1, -2] } })).toEqual({
      ...knn,
      query: { type: "dense", vector: Float32Array.of(0.1, 1, -2) },
    });
    expect(rank({ $knn: { query: { indices: [1, 5], values: [0.5, 2] }, key: "sparse" } })).toEqual({
      ...knn,
      key: "sparse",
      query: { type: "sparse", vector: { indices: Uint32Array.of(1, 5), values: Float32Array.of(0.5, 2) } },
    });
    const python = { "#type": "sparse_vector", indices: [1], values: [1], tokens: ["a"] };
    expect(rank({ $knn: { query: python, key: "sparse" } })).toHaveProperty("query.vector.tokens", ["a"]);
    expect(rank({ $knn: { query: "" } })).toEqual({ ...knn, query: { type: "text", text: "" } });
  });

  it("reads fields, and takes the time of the call for now", () => {
    expect(rank({ $key: { key: "a" } })).toEqual({ type: "key", key: "a", default: null });
    const age = { key: "b", half_life: 10, default: 0.1 };
    const at = (body: object): unknown => parseSearchRequest({ searches: [{ rank: { $age: body } }] }, 5.5);
    const read = { type: "age", key: "b", halfLife: 10, default: Math.fround(0.1) };
    expect(at(age)).toMatchObject({ searches: [{ rank: { ...read, now: 5.5 } }] });
    expect(at({ ...age, now: 7 })).toMatchObject({ searches: [{ rank: { ...read, now: 7 } }] });
  });

  it("takes the longest text that anything may embed, and refuses a longer one with 413", () => {
    const text = "a".repeat(LIMITS.textBytes);
    expect(rank({ $knn: { query: text } })).toMatchObject({ query: { text } });
    expect(() => rank({ $knn: { query: `${text}a` } })).toThrow(
      expect.objectContaining({ code: "too_large", message: expect.stringContaining("$knn.query: is over") }),
    );
  });

  it("reads every option of a knn", () => {
    const options = { query: "a", key: "k", limit: 128, default: 0.1, return_rank: true, exact: true };
    expect(rank({ $knn: options })).toEqual({
      ...knn,
      query: { type: "text", text: "a" },
      key: "k",
      limit: 128,
      default: Math.fround(0.1),
      returnRank: true,
      exact: true,
    });
    const nulls = { query: "a", key: null, limit: null, default: null, return_rank: null, exact: null };
    expect(rank({ $knn: nulls })).toEqual({ ...knn, query: { type: "text", text: "a" } });
  });

  it("rounds constants to f32, whatever kind of number they are", () => {
    const value = (text: string) =>
      parseSearchRequest(read(`{"searches":[{"rank":{"$val":${text}}}]}`)).searches[0]?.rank;
    expect(value("0.1")).toEqual({ type: "val", value: Math.fround(0.1) });
    expect(value("2.0")).toEqual({ type: "val", value: 2 });
    expect(value("-60")).toEqual({ type: "val", value: -60 });
    expect(value("9007199254740993")).toEqual({ type: "val", value: 2 ** 53 });
    expect(value("3.4028235e38")).toEqual({ type: "val", value: Math.fround(3.4028235e38) });
  });

  it("reads Reciprocal Rank Fusion as both clients send it, with the path of every leaf", () => {
    const leaf = { $knn: { query: [1], limit: 128, return_rank: true } };
    const python = {
      $mul: [
        { $val: -1 },
        { $sum: [{ $div: { left: { $val: 1 }, right: { $sum: [{ $val: 60 }, leaf] } } }, leaf] },
      ],
    };
    const read = rank(python);
    expect(read).toMatchObject({
      type: "nary",
      operator: "$mul",
      operands: [
        { type: "val", value: -1 },
        {
          operator: "$sum",
          operands: [
            {
              type: "binary",
              operator: "$div",
              left: { type: "val", value: 1 },
              right: {
                operands: [
                  { type: "val", value: 60 },
                  {
                    type: "knn",
                    returnRank: true,
                    path: "searches[0].rank.$mul[1].$sum[0].$div.right.$sum[1].$knn",
                  },
                ],
              },
            },
            { path: "searches[0].rank.$mul[1].$sum[1].$knn" },
          ],
        },
      ],
    });
  });

  it.each(["$abs", "$exp", "$log"])("reads %s", (operator) => {
    expect(rank({ [operator]: { $val: 1 } })).toEqual({
      type: "unary",
      operator,
      operand: { type: "val", value: 1 },
    });
  });

  it.each(["$sub", "$div"])("reads %s, from an object or a list of two", (operator) => {
    const expected = {
      type: "binary",
      operator,
      left: { type: "val", value: 1 },
      right: { type: "val", value: 2 },
    };
    expect(rank({ [operator]: { right: { $val: 2 }, left: { $val: 1 } } })).toEqual(expected);
    expect(rank({ [operator]: [{ $val: 1 }, { $val: 2 }] })).toEqual(expected);
  });

  it.each(["$sum", "$mul", "$max", "$min"])("reads %s", (operator) => {
    expect(rank({ [operator]: [{ $val: 1 }, { $val: 2 }, { $val: 3 }] })).toMatchObject({
      type: "nary",
      operator,
      operands: [{ value: 1 }, { value: 2 }, { value: 3 }],
    });
  });

  it("is frozen", () => {
    const expression = rank({ $sum: [{ $val: 1 }, { $knn: { query: "a" } }] });
    expect(Object.isFrozen(expression)).toBe(true);
    expect(expression.type === "nary" && expression.operands.every(Object.isFrozen)).toBe(true);
  });
});
