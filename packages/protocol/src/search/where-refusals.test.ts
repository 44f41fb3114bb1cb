/** Every way a filter can be wrong. In a search the same faults are 422. */
import { describe, expect, it } from "vitest";
import { unprocessable } from "../errors.ts";
import { readJson } from "../json/json-reader.ts";
import { LIMITS } from "../limits.ts";
import { refusal } from "../testing/refusal.ts";
import { parseWhere, parseWhereDocument } from "./where.ts";

const read = (text: string): unknown => readJson(new TextEncoder().encode(text));
const metadataOperators =
  "`$eq`, `$ne`, `$gt`, `$gte`, `$lt`, `$lte`, `$in`, `$nin`, `$contains` or `$not_contains`";
const documentOperators = "`$contains`, `$not_contains`, `$regex` or `$not_regex`";
const aScalarOrOperator = "must be a string, number, boolean or an object with one operator";

const malformed: readonly (readonly [string, string])[] = [
  ["{}", "where: must hold exactly one key"],
  ["[]", "where: must be an object"],
  ['"a"', "where: must be an object"],
  ["1.0", "where: must be an object"],
  ["null", "where: must be an object"],
  ['{"a":1,"b":2}', "where: must hold exactly one key; combine several with `$and` or `$or`"],
  ['{"$and":[{}]}', "where.$and[0]: must hold exactly one key"],
  [
    '{"$and":[{"a":1,"$or":[]}]}',
    "where.$and[0]: must hold exactly one key; combine several with `$and` or `$or`",
  ],
  ['{"$and":{}}', "where.$and: must be an array"],
  ['{"$or":null}', "where.$or: must be an array"],
  ['{"$or":[{"a":1},5]}', "where.$or[1]: must be an object"],
  ['{"$not":{"a":1}}', "where.$not: is no operator here, expected `$and` or `$or`"],
  ['{"$eq":1}', "where.$eq: is no operator here, expected `$and` or `$or`"],
  ['{"":1}', "where: must name a metadata field"],
  ['{"#score":1}', "where.#score: is not a key of a filter; `#id` and `#document` are"],
  ['{"a":null}', `where.a: ${aScalarOrOperator}`],
  ['{"a":[1]}', `where.a: ${aScalarOrOperator}`],
  ['{"a":{}}', "where.a: must hold exactly one operator"],
  ['{"a":{"$gt":1,"$lt":2}}', "where.a: must hold exactly one operator; combine several with `$and`"],
  ['{"a":{"$foo":1}}', `where.a.$foo: is unknown, expected ${metadataOperators}`],
  ['{"a":{"b":1}}', `where.a.b: is unknown, expected ${metadataOperators}`],
  ['{"a":{"toString":1}}', `where.a.toString: is unknown, expected ${metadataOperators}`],
  ['{"a":{"$eq":null}}', "where.a.$eq: must be a string, number or boolean"],
  ['{"a":{"$eq":[1]}}', "where.a.$eq: must be a string, number or boolean"],
  ['{"a":{"$ne":{"b":1}}}', "where.a.$ne: must be a string, number or boolean"],
  ['{"a":{"$gt":"x"}}', "where.a.$gt: must be a number"],
  ['{"a":{"$gte":true}}', "where.a.$gte: must be a number"],
  ['{"a":{"$lt":null}}', "where.a.$lt: must be a string, number or boolean"],
  ['{"a":{"$lte":[1]}}', "where.a.$lte: must be a string, number or boolean"],
  ['{"a":9223372036854775808}', "where.a: must fit a signed 64-bit integer"],
  ['{"a":{"$gt":18446744073709551615}}', "where.a.$gt: must fit a signed 64-bit integer"],
  ['{"a":{"$in":[1.5,9223372036854775808]}}', "where.a.$in[1]: must fit a signed 64-bit integer"],
  ['{"a":{"$in":5}}', "where.a.$in: must be an array"],
  ['{"a":{"$in":[]}}', "where.a.$in: must hold at least 1 value"],
  ['{"a":{"$nin":[]}}', "where.a.$nin: must hold at least 1 value"],
  ['{"a":{"$in":[1,2.0]}}', "where.a.$in[1]: must be an integer, like the first value"],
  ['{"a":{"$in":[1,2.5]}}', "where.a.$in[1]: must be an integer, like the first value"],
  ['{"a":{"$in":[1,"b"]}}', "where.a.$in[1]: must be an integer, like the first value"],
  ['{"a":{"$in":[1.5,true]}}', "where.a.$in[1]: must be a number, like the first value"],
  ['{"a":{"$nin":["b",1]}}', "where.a.$nin[1]: must be a string, like the first value"],
  ['{"a":{"$nin":[true,0]}}', "where.a.$nin[1]: must be a boolean, like the first value"],
  ['{"a":{"$in":[null]}}', "where.a.$in[0]: must be a string, number or boolean"],
  ['{"a":{"$in":[[1]]}}', "where.a.$in[0]: must be a string, number or boolean"],
  ['{"a":{"$contains":null}}', "where.a.$contains: must be a string, number or boolean"],
  ['{"a":{"$not_contains":["b"]}}', "where.a.$not_contains: must be a string, number or boolean"],
  ['{"a":{"$regex":"b"}}', "where.a.$regex: works on `#document` only"],
  ['{"a":{"$not_regex":"b"}}', "where.a.$not_regex: works on `#document` only"],
  ['{"#document":{"$contains":1}}', "where.#document.$contains: must be a string"],
  ['{"#document":{"$regex":null}}', "where.#document.$regex: must be a string"],
  ['{"#document":{"$foo":"a"}}', `where.#document.$foo: is unknown, expected ${documentOperators}`],
  ['{"#document":{}}', "where.#document: must hold exactly one operator"],
  ['{"#document":null}', `where.#document: ${aScalarOrOperator}`],
  ['{"#id":1}', "where.#id: must be a string"],
  ['{"#id":{"$in":"a"}}', "where.#id.$in: must be an array"],
  ['{"#id":{"$in":[]}}', "where.#id.$in: must hold at least 1 value"],
  ['{"#id":{"$in":["a",1]}}', "where.#id.$in[1]: must be a string"],
  ['{"#id":{"$gt":"a"}}', "where.#id.$gt: does not work on `#id`, expected `$eq`, `$ne`, `$in` or `$nin`"],
  [
    '{"#id":{"$contains":"a"}}',
    "where.#id.$contains: does not work on `#id`, expected `$eq`, `$ne`, `$in` or `$nin`",
  ],
];

describe("a malformed filter", () => {
  it.each(malformed)("%s", (text, message) => {
    expect(refusal(() => parseWhere(read(text), "where"))).toBe(`400 ${message}`);
    expect(refusal(() => parseWhere(read(text), "where", unprocessable))).toBe(`422 ${message}`);
  });
});

describe("a comparison of whole documents is 400 everywhere", () => {
  it.each([
    ['{"#document":"x"}', "where.#document"],
    ['{"#document":{"$eq":"x"}}', "where.#document.$eq"],
    ['{"#document":{"$in":["x"]}}', "where.#document.$in"],
    ['{"#document":{"$gt":1}}', "where.#document.$gt"],
  ])("%s", (text, path) => {
    const message =
      `400 ${path}: Cannot filter using metadata key '#document' with type 'Str' because indexing is disabled; ` +
      `use ${documentOperators}`;
    expect(refusal(() => parseWhere(read(text), "where"))).toBe(message);
    expect(refusal(() => parseWhere(read(text), "where", unprocessable))).toBe(message);
  });
});

describe("a malformed where_document", () => {
  it.each([
    ["{}", "where_document: must hold exactly one key"],
    ['"a"', "where_document: must be an object"],
    [
      '{"$contains":"a","$regex":"b"}',
      "where_document: must hold exactly one key; combine several with `$and` or `$or`",
    ],
    ['{"$contains":1}', "where_document.$contains: must be a string"],
    ['{"$eq":"a"}', `where_document.$eq: is unknown, expected ${documentOperators}`],
    ['{"a":{"$contains":"b"}}', `where_document.a: is unknown, expected ${documentOperators}`],
    ['{"$and":"a"}', "where_document.$and: must be an array"],
    ['{"$or":[{"a":1}]}', `where_document.$or[0].a: is unknown, expected ${documentOperators}`],
  ])("%s", (text, message) => {
    expect(refusal(() => parseWhereDocument(read(text), "where_document"))).toBe(`400 ${message}`);
  });
});

describe("the bounds of a filter are 400 everywhere", () => {
  const clauses = (count: number) => ({ $and: Array.from({ length: count }, () => ({ a: 1 })) });
  const values = (count: number) => ({ a: { $in: Array.from({ length: count }, () => 1) } });
  const ids = (count: number) => ({ "#id": { $in: Array.from({ length: count }, () => "a") } });
  const needle = (length: number) => ({ "#document": { $not_contains: "a".repeat(length) } });
  const pattern = (length: number) => ({ "#document": { $regex: "a".repeat(length) } });

  it.each([
    [
      "clauses",
      clauses(LIMITS.whereNodes - 1),
      clauses(LIMITS.whereNodes),
      "w.$and[999]: is over 1000 clauses",
    ],
    ["values", values(LIMITS.whereValues), values(LIMITS.whereValues + 1), "w.a.$in: is over 100000 values"],
    ["ids", ids(LIMITS.whereValues), ids(LIMITS.whereValues + 1), "w.#id.$in: is over 100000 values"],
    [
      "characters of a text in a document",
      needle(LIMITS.containsCharacters),
      needle(LIMITS.containsCharacters + 1),
      "w.#document.$not_contains: is over 16777216 characters, which no document has",
    ],
    [
      "characters of a pattern",
      pattern(LIMITS.regexCharacters),
      pattern(LIMITS.regexCharacters + 1),
      "w.#document.$regex: is over 1024 characters",
    ],
  ])("%s", (_name, within, over, message) => {
    expect(refusal(() => parseWhere(within, "w"))).toBe("accepted");
    expect(refusal(() => parseWhere(over, "w"))).toBe(`400 ${message}`);
    expect(refusal(() => parseWhere(over, "w", unprocessable))).toBe(`400 ${message}`);
  });

  it("hold before the depth of a filter that no reader has bounded", () => {
    let nested: unknown = { a: 1 };
    for (let depth = 0; depth < 100_000; depth += 1) nested = { $and: [nested] };
    expect(refusal(() => parseWhere(nested, "w"))).toMatch(/is over 1000 clauses$/);
    expect(refusal(() => parseWhereDocument(nested, "w"))).toMatch(/is over 1000 clauses$/);
  });
});
