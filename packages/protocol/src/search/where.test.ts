import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readJson } from "../json/json-reader.ts";
import type { Where } from "./ast.ts";
import { combineWhere, parseWhere, parseWhereDocument } from "./where.ts";

const parse = (text: string): Where => parseWhere(readJson(new TextEncoder().encode(text)), "where");

describe("parseWhere", () => {
  it.each<readonly [string, Where]>([
    ['{"k":"a"}', { type: "compare", key: "k", operator: "$eq", value: "a" }],
    ['{"k":true}', { type: "compare", key: "k", operator: "$eq", value: true }],
    ['{"k":1}', { type: "compare", key: "k", operator: "$eq", value: 1n }],
    ['{"k":1.0}', { type: "compare", key: "k", operator: "$eq", value: 1 }],
    ['{"k":{"$eq":1.5}}', { type: "compare", key: "k", operator: "$eq", value: 1.5 }],
    ['{"k":{"$ne":"a"}}', { type: "compare", key: "k", operator: "$ne", value: "a" }],
    ['{"k":{"$gt":1}}', { type: "compare", key: "k", operator: "$gt", value: 1n }],
    ['{"k":{"$gte":1.5}}', { type: "compare", key: "k", operator: "$gte", value: 1.5 }],
    ['{"k":{"$lt":-5.5}}', { type: "compare", key: "k", operator: "$lt", value: -5.5 }],
    [
      '{"k":{"$lte":9223372036854775807}}',
      { type: "compare", key: "k", operator: "$lte", value: 2n ** 63n - 1n },
    ],
    ['{"k":18446744073709551616}', { type: "compare", key: "k", operator: "$eq", value: 2 ** 64 }],
    ['{"k":{"$in":[1,2]}}', { type: "in", key: "k", negated: false, values: [1n, 2n] }],
    ['{"k":{"$in":[2.0,1]}}', { type: "in", key: "k", negated: false, values: [2, 1n] }],
    [
      '{"k":{"$nin":[1.5,9007199254740993]}}',
      { type: "in", key: "k", negated: true, values: [1.5, 9_007_199_254_740_993n] },
    ],
    ['{"k":{"$nin":["a",""]}}', { type: "in", key: "k", negated: true, values: ["a", ""] }],
    ['{"k":{"$in":[true,false]}}', { type: "in", key: "k", negated: false, values: [true, false] }],
    ['{"k":{"$contains":1.0}}', { type: "contains", key: "k", negated: false, value: 1 }],
    ['{"k":{"$not_contains":"a"}}', { type: "contains", key: "k", negated: true, value: "a" }],
    ['{"#document":{"$contains":""}}', { type: "document_contains", negated: false, text: "" }],
    ['{"#document":{"$not_contains":"%_"}}', { type: "document_contains", negated: true, text: "%_" }],
    [
      '{"#document":{"$regex":"(?i)a"}}',
      { type: "document_regex", negated: false, pattern: "(?i)a", path: "where.#document.$regex" },
    ],
    [
      '{"#document":{"$not_regex":"a"}}',
      { type: "document_regex", negated: true, pattern: "a", path: "where.#document.$not_regex" },
    ],
    ['{"#id":"a"}', { type: "id", negated: false, ids: ["a"] }],
    ['{"#id":{"$ne":"a"}}', { type: "id", negated: true, ids: ["a"] }],
    ['{"#id":{"$in":["a","b"]}}', { type: "id", negated: false, ids: ["a", "b"] }],
    ['{"#id":{"$nin":["a"]}}', { type: "id", negated: true, ids: ["a"] }],
    ['{"$and":[]}', { type: "and", children: [] }],
    ['{"$or":[]}', { type: "or", children: [] }],
    [
      '{"$or":[{"$and":[{"a":1}]},{"#id":"b"}]}',
      {
        type: "or",
        children: [
          { type: "and", children: [{ type: "compare", key: "a", operator: "$eq", value: 1n }] },
          { type: "id", negated: false, ids: ["b"] },
        ],
      },
    ],
    ['{"__proto__":1}', { type: "compare", key: "__proto__", operator: "$eq", value: 1n }],
    ['{"toString":{"$eq":"x"}}', { type: "compare", key: "toString", operator: "$eq", value: "x" }],
  ])("reads %s", (text, where) => {
    expect(parse(text)).toEqual(where);
  });

  it("gives a tree that nobody can change", () => {
    const isFrozen = (value: unknown): boolean =>
      typeof value !== "object" ||
      value === null ||
      (Object.isFrozen(value) && Object.values(value).every(isFrozen));
    expect(
      isFrozen(parse('{"$and":[{"a":{"$in":[1]}},{"#id":{"$in":["a"]}},{"#document":{"$regex":"a"}}]}')),
    ).toBe(true);
  });

  it("takes either spelling of equality for the same", () => {
    const scalar = fc.oneof(fc.string(), fc.boolean(), fc.integer(), fc.double({ noNaN: true }));
    const key = fc.string({ minLength: 1 }).filter((name) => !/^[#$]/.test(name) && name !== "__proto__");
    fc.assert(
      fc.property(key, scalar, (name, value) => {
        expect(parseWhere({ [name]: value }, "where")).toEqual(
          parseWhere({ [name]: { $eq: value } }, "where"),
        );
      }),
    );
  });
});

describe("parseWhereDocument", () => {
  it("means the same as a filter of `#document`", () => {
    for (const operator of ["$contains", "$not_contains", "$regex", "$not_regex"]) {
      expect(parseWhereDocument({ [operator]: "x" }, "where.#document")).toEqual(
        parseWhere({ "#document": { [operator]: "x" } }, "where"),
      );
    }
    expect(parseWhereDocument({ $or: [{ $contains: "a" }, { $and: [] }] }, "where_document")).toEqual({
      type: "or",
      children: [
        { type: "document_contains", negated: false, text: "a" },
        { type: "and", children: [] },
      ],
    });
  });
});

it("combines both filters with `and`", () => {
  const where = parseWhere({ a: 1 }, "where");
  const document = parseWhereDocument({ $contains: "a" }, "where_document");
  expect(combineWhere(null, null)).toBeNull();
  expect(combineWhere(where, null)).toBe(where);
  expect(combineWhere(null, document)).toBe(document);
  expect(combineWhere(where, document)).toEqual({ type: "and", children: [where, document] });
});
