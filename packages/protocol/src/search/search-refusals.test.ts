/** Every way a search can be wrong, with the status and the path that the wire contract promises. */
import { describe, expect, it } from "vitest";
import { readJson } from "../json/json-reader.ts";
import { LIMITS } from "../limits.ts";
import { refusal } from "../testing/refusal.ts";
import { parseSearchRequest } from "./search-request.ts";

const read = (text: string): unknown => readJson(new TextEncoder().encode(text));
const parse = (dictionary: string): string =>
  refusal(() => parseSearchRequest(read(`{"searches":[${dictionary}]}`)));
const operators =
  "`$abs`, `$age`, `$div`, `$exp`, `$key`, `$knn`, `$log`, `$max`, `$min`, `$mul`, `$sub`, `$sum` or `$val`";
const noSearches = 'searches: is required: each search goes into it, {"searches": [{"rank": ...}]}';
const knnMembers = "`query`, `key`, `limit`, `default`, `return_rank` or `exact`";

describe("a body", () => {
  it.each([
    ["[]", "422 must be an object"],
    ["null", "422 must be an object"],
    ["1.0", "422 must be an object"],
    ["{}", `422 ${noSearches}`],
    ['{"searches":null}', `422 ${noSearches}`],
    ['{"searches":{}}', "422 searches: must be an array"],
    ['{"searches":[5]}', "422 searches[0]: must be an object"],
    ['{"searches":[{},[]]}', "422 searches[1]: must be an object"],
    [
      '{"searches":[],"read_level":"all"}',
      "422 read_level: must be `index_and_wal`, `index_only` or `index_and_bounded_wal`",
    ],
    [
      '{"searches":[],"read_level":null}',
      "400 read_level: must be `index_and_wal`, `index_only` or `index_and_bounded_wal`",
    ],
  ])("%s", (text, message) => {
    expect(refusal(() => parseSearchRequest(read(text)))).toBe(message);
  });
});

describe("a dictionary", () => {
  it.each([
    [
      '{"wehre":{}}',
      "400 searches[0].wehre: is unknown, expected `where`, `filter`, `rank`, `mmr`, `group_by`, `order_by`, `limit`, `select`, `highlight` or `explain`",
    ],
    ['{"explain":1}', '422 searches[0].explain: must be true, false or an object such as {"ids": ["a"]}'],
    ['{"explain":{}}', "422 searches[0].explain.ids: is required"],
    ['{"explain":{"ids":[1]}}', "422 searches[0].explain.ids[0]: must be a string"],
    ['{"explain":{"ids":[],"id":1}}', "400 searches[0].explain.id: is unknown, expected `ids`"],
    ['{"where":{"a":null}}', /^422 searches\[0\]\.where\.a: must be a string/],
    ['{"filter":{"query_ids":["a"]}}', /^422 searches\[0\]\.filter\.query_ids: must be a string/],
    ['{"mmr":{"limit":1}}', "400 searches[0].mmr: needs a rank, whose best records it chooses from"],
    ['{"rank":{"$val":1},"mmr":5}', "422 searches[0].mmr: must be an object"],
    ['{"rank":{"$val":1},"mmr":{}}', "422 searches[0].mmr.limit: is required"],
    [
      '{"rank":{"$val":1},"mmr":{"limit":1,"diversity":1}}',
      "400 searches[0].mmr.diversity: is unknown, expected `lambda` or `limit`",
    ],
    ['{"rank":{"$val":1},"mmr":{"limit":0}}', "400 searches[0].mmr.limit: must be a positive integer"],
    [
      `{"rank":{"$val":1},"mmr":{"limit":${LIMITS.mmrPool + 1}}}`,
      "400 searches[0].mmr.limit: must be at most 1000",
    ],
    ['{"rank":{"$val":1},"mmr":{"limit":1,"lambda":1.5}}', "400 searches[0].mmr.lambda: must be from 0 to 1"],
    ['{"rank":{"$val":1},"mmr":{"limit":1,"lambda":-1}}', "400 searches[0].mmr.lambda: must be from 0 to 1"],
    ['{"rank":{"$val":1},"mmr":{"limit":1,"lambda":"1"}}', "422 searches[0].mmr.lambda: must be a number"],
    ['{"filter":5}', "422 searches[0].filter: must be an object"],
    ['{"where":[]}', "422 searches[0].where: must be an object"],
    ['{"where":{"a":1},"filter":{"a":2}}', "400 searches[0].filter: contradicts `where`; send one of them"],
    ['{"where":{"a":1},"filter":{"a":1.0}}', "400 searches[0].filter: contradicts `where`; send one of them"],
    ['{"where":{"#document":"x"}}', /^400 searches\[0\]\.where\.#document: Cannot filter using metadata key/],
    ['{"limit":5}', '422 searches[0].limit: must be an object such as {"limit": 10}'],
    ['{"limit":{"limit":-1}}', "422 searches[0].limit.limit: must be a non-negative integer"],
    ['{"limit":{"limit":1.5}}', "422 searches[0].limit.limit: must be a non-negative integer"],
    ['{"limit":{"limit":3.0}}', "422 searches[0].limit.limit: must be a non-negative integer"],
    ['{"limit":{"limit":"3"}}', "422 searches[0].limit.limit: must be a non-negative integer"],
    ['{"limit":{"offset":-1}}', "422 searches[0].limit.offset: must be a non-negative integer"],
    [
      '{"limit":{"offset":-9223372036854775808}}',
      "422 searches[0].limit.offset: must be a non-negative integer",
    ],
    ['{"limit":{"limit":10001}}', "400 searches[0].limit.limit: must be at most 10000"],
    ['{"limit":{"limit":18446744073709551615}}', "400 searches[0].limit.limit: must be at most 10000"],
    ['{"limit":{"max":1}}', "400 searches[0].limit.max: is unknown, expected `limit` or `offset`"],
    [
      '{"select":["x"]}',
      '422 searches[0].select: must be an object such as {"keys": ["#document", "#score"]}',
    ],
    ['{"select":{"keys":"x"}}', "422 searches[0].select.keys: must be an array"],
    ['{"select":{"keys":[1]}}', "422 searches[0].select.keys[0]: must be a string"],
    ['{"select":{"fields":[]}}', "400 searches[0].select.fields: is unknown, expected `keys`"],
    [
      '{"select":{"keys":["a","#foo"]}}',
      "400 searches[0].select.keys[1]: must be `#id`, `#document`, `#embedding`, `#metadata` or `#score`, or a metadata field",
    ],
    ['{"select":{"keys":["#uri"]}}', /^400 searches\[0\]\.select\.keys\[0\]: must be `#id`/],
    ['{"select":{"keys":[""]}}', /^400 searches\[0\]\.select\.keys\[0\]: must be `#id`/],
  ])("%s", (dictionary, message) => {
    const said = parse(dictionary);
    if (typeof message === "string") expect(said).toBe(message);
    else expect(said).toMatch(message);
  });
});

describe("a rank", () => {
  it.each([
    ["5", `422 searches[0].rank: must be an object such as {"$val": 2}`],
    ["[]", `422 searches[0].rank: must be an object such as {"$val": 2}`],
    ["{}", "400 searches[0].rank: must hold exactly one operator"],
    ['{"$val":1,"$knn":{}}', "400 searches[0].rank: must hold exactly one operator"],
    ['{"$foo":1}', `422 searches[0].rank.$foo: is unknown, expected ${operators}`],
    ['{"toString":1}', `422 searches[0].rank.toString: is unknown, expected ${operators}`],
    ['{"$val":"a"}', "422 searches[0].rank.$val: must be a number"],
    ['{"$val":null}', "422 searches[0].rank.$val: must be a number"],
    ['{"$val":true}', "422 searches[0].rank.$val: must be a number"],
    ['{"$val":1e39}', "400 searches[0].rank.$val: must be finite as a 32-bit float"],
    ['{"$sum":[]}', "400 searches[0].rank.$sum: needs at least 2 operands"],
    ['{"$sum":[{"$val":1}]}', "400 searches[0].rank.$sum: needs at least 2 operands"],
    ['{"$mul":[{"$val":1}]}', "400 searches[0].rank.$mul: needs at least 2 operands"],
    ['{"$max":[{"$val":1}]}', "400 searches[0].rank.$max: needs at least 2 operands"],
    ['{"$min":[{"$val":1}]}', "400 searches[0].rank.$min: needs at least 2 operands"],
    ['{"$sum":{"left":1}}', "422 searches[0].rank.$sum: must be an array"],
    ['{"$sum":[1,2]}', `422 searches[0].rank.$sum[0]: must be an object such as {"$val": 2}`],
    ['{"$sum":[{"$val":1},{}]}', "400 searches[0].rank.$sum[1]: must hold exactly one operator"],
    ['{"$sum":[{"$val":1},{"$max":[]}]}', "400 searches[0].rank.$sum[1].$max: needs at least 2 operands"],
    ['{"$sub":{"left":{"$val":1}}}', "422 searches[0].rank.$sub.right: is required"],
    ['{"$div":{"right":{"$val":1}}}', "422 searches[0].rank.$div.left: is required"],
    [
      '{"$sub":{"left":{"$val":1},"right":{}}}',
      "400 searches[0].rank.$sub.right: must hold exactly one operator",
    ],
    ['{"$sub":[{"$val":1}]}', "422 searches[0].rank.$sub: must hold `left` and `right`"],
    ['{"$sub":5}', "422 searches[0].rank.$sub: must be an object"],
    [
      '{"$div":{"left":{"$val":1},"right":{"$val":1},"up":1}}',
      "400 searches[0].rank.$div.up: is unknown, expected `left` or `right`",
    ],
    ['{"$key":"year"}', `422 searches[0].rank.$key: must be an object such as {"key": "year"}`],
    ['{"$key":{}}', "422 searches[0].rank.$key.key: is required"],
    ['{"$key":{"key":"#score"}}', "400 searches[0].rank.$key.key: must be a metadata field"],
    ['{"$key":{"key":"a","default":"0"}}', "422 searches[0].rank.$key.default: must be a number"],
    [
      '{"$key":{"key":"a","now":0}}',
      "400 searches[0].rank.$key.now: is unknown, expected `key` or `default`",
    ],
    ['{"$age":{"key":"a"}}', "422 searches[0].rank.$age.half_life: is required"],
    ['{"$age":{"key":"a","half_life":0}}', "400 searches[0].rank.$age.half_life: must be above 0"],
    ['{"$age":{"key":"a","half_life":1,"now":"2026"}}', "422 searches[0].rank.$age.now: must be a number"],
    ['{"$abs":[{"$val":1}]}', `422 searches[0].rank.$abs: must be an object such as {"$val": 2}`],
    ['{"$log":5}', `422 searches[0].rank.$log: must be an object such as {"$val": 2}`],
    ['{"$exp":{}}', "400 searches[0].rank.$exp: must hold exactly one operator"],
  ])("%s", (rank, message) => {
    expect(parse(`{"rank":${rank}}`)).toBe(message);
  });
});

describe("a knn", () => {
  const at = "searches[0].rank.$knn";

  it.each([
    ["5", `422 ${at}: must be an object`],
    ["{}", `422 ${at}.query: is required`],
    ['{"query":null}', `422 ${at}.query: is required`],
    ['{"query":5}', `422 ${at}.query: must be a text, an array of numbers or a sparse vector`],
    ['{"query":true}', `422 ${at}.query: must be a text, an array of numbers or a sparse vector`],
    ['{"query":[]}', `400 ${at}.query: Each embedding must have at least 1 dimension`],
    ['{"query":[1,"a"]}', `422 ${at}.query[1]: must be a number`],
    ['{"query":[1,null]}', `422 ${at}.query[1]: must be a number`],
    ['{"query":[1e39]}', `400 ${at}.query[0]: Embeddings must not contain NaN or Infinity values`],
    ['{"query":"a","limit":0}', `400 ${at}.limit: must be a positive integer`],
    ['{"query":"a","limit":-1}', `400 ${at}.limit: must be a positive integer`],
    ['{"query":"a","limit":1.5}', `422 ${at}.limit: must be a positive integer`],
    ['{"query":"a","limit":2.0}', `422 ${at}.limit: must be a positive integer`],
    ['{"query":"a","limit":"2"}', `422 ${at}.limit: must be a positive integer`],
    ['{"query":"a","limit":100001}', `400 ${at}.limit: must be at most 100000`],
    ['{"query":"a","default":"0"}', `422 ${at}.default: must be a number`],
    ['{"query":"a","default":1e39}', `400 ${at}.default: must be finite as a 32-bit float`],
    ['{"query":"a","return_rank":1}', `422 ${at}.return_rank: must be a boolean`],
    ['{"query":"a","exact":"yes"}', `422 ${at}.exact: must be a boolean`],
    ['{"query":"a","key":5}', `422 ${at}.key: must be a string`],
    [
      '{"query":"a","key":"#document"}',
      `400 ${at}.key: must be \`#embedding\` or a metadata field with a sparse index`,
    ],
    [
      '{"query":"a","key":""}',
      `400 ${at}.key: must be \`#embedding\` or a metadata field with a sparse index`,
    ],
    ['{"query":"a","k":5}', `400 ${at}.k: is unknown, expected ${knnMembers}`],
    ['{"query":{}}', `422 ${at}.query.indices: is required`],
    ['{"query":{"indices":[1]}}', `422 ${at}.query.values: is required`],
    ['{"query":{"indices":"a","values":[]}}', `422 ${at}.query.indices: must be an array`],
    [
      '{"query":{"indices":[-1],"values":[1]}}',
      `422 ${at}.query.indices[0]: must be an unsigned 32-bit integer`,
    ],
    [
      '{"query":{"indices":[2,1],"values":[1,1]}}',
      `400 ${at}.query.indices[1]: Sparse vector indices must be sorted in strictly ascending order (no duplicates)`,
    ],
    [
      '{"query":{"indices":[1,1],"values":[1,1]}}',
      `400 ${at}.query.indices[1]: Sparse vector indices must be sorted in strictly ascending order (no duplicates)`,
    ],
    [
      '{"query":{"indices":[1],"values":[1,2]}}',
      `400 ${at}.query: Sparse vector indices, values, and tokens (when present) must have the same length`,
    ],
    [
      '{"query":{"indices":[1],"values":[1e39]}}',
      `400 ${at}.query.values[0]: must be finite as a 32-bit float`,
    ],
    ['{"query":{"#type":"x","indices":[],"values":[]}}', `422 ${at}.query.#type: must be \`sparse_vector\``],
    [
      '{"query":{"indices":[],"values":[],"ids":[]}}',
      `400 ${at}.query.ids: is unknown, expected \`#type\`, \`indices\`, \`values\` or \`tokens\``,
    ],
  ])("%s", (knn, message) => {
    expect(parse(`{"rank":{"$knn":${knn}}}`)).toBe(message);
  });

  it("names its place in the expression", () => {
    expect(parse('{"rank":{"$sum":[{"$val":1},{"$knn":{"query":[1],"limit":0}}]}}')).toBe(
      "400 searches[0].rank.$sum[1].$knn.limit: must be a positive integer",
    );
  });
});

describe("a group_by", () => {
  const at = "searches[0].group_by";
  const aggregate = '"aggregate":{"$min_k":{"keys":["#score"],"k":1}}';
  const both = "group_by keys and aggregate must both be specified or both be omitted";

  it.each([
    ["5", `422 ${at}: must be an object`],
    ['{"keys":["a"]}', `400 ${at}: ${both}`],
    [`{${aggregate}}`, `400 ${at}: ${both}`],
    [`{"keys":[],${aggregate}}`, `400 ${at}.keys: must hold at least 1 key`],
    [`{"keys":"a",${aggregate}}`, `422 ${at}.keys: must be an array`],
    [`{"keys":[1],${aggregate}}`, `422 ${at}.keys[0]: must be a string`],
    [
      `{"keys":["a","#score"],${aggregate}}`,
      `400 ${at}.keys[1]: group_by keys must be metadata fields (cannot use #score, #document, #embedding, or #metadata)`,
    ],
    [
      `{"keys":["#document"],${aggregate}}`,
      `400 ${at}.keys[0]: group_by keys must be metadata fields (cannot use #score, #document, #embedding, or #metadata)`,
    ],
    [
      `{"keys":[""],${aggregate}}`,
      `400 ${at}.keys[0]: group_by keys must be metadata fields (cannot use #score, #document, #embedding, or #metadata)`,
    ],
    [`{"keys":["a"],${aggregate},"k":1}`, `400 ${at}.k: is unknown, expected \`keys\` or \`aggregate\``],
    ['{"keys":["a"],"aggregate":5}', `422 ${at}.aggregate: must be an object`],
    [
      '{"keys":["a"],"aggregate":{}}',
      `400 ${at}.aggregate: must hold exactly one of \`$min_k\` or \`$max_k\``,
    ],
    [
      '{"keys":["a"],"aggregate":{"$min_k":{},"$max_k":{}}}',
      `400 ${at}.aggregate: must hold exactly one of \`$min_k\` or \`$max_k\``,
    ],
    [
      '{"keys":["a"],"aggregate":{"$sum":{}}}',
      `422 ${at}.aggregate.$sum: is unknown, expected \`$min_k\` or \`$max_k\``,
    ],
    ['{"keys":["a"],"aggregate":{"$min_k":[]}}', `422 ${at}.aggregate.$min_k: must be an object`],
    ['{"keys":["a"],"aggregate":{"$min_k":{"k":1}}}', `422 ${at}.aggregate.$min_k.keys: is required`],
    ['{"keys":["a"],"aggregate":{"$min_k":{"keys":["b"]}}}', `422 ${at}.aggregate.$min_k.k: is required`],
    [
      '{"keys":["a"],"aggregate":{"$min_k":{"keys":[],"k":1}}}',
      `400 ${at}.aggregate.$min_k.keys: must hold at least 1 key`,
    ],
    [
      '{"keys":["a"],"aggregate":{"$max_k":{"keys":["#document"],"k":1}}}',
      `400 ${at}.aggregate.$max_k.keys[0]: aggregate keys must be metadata fields or #score (cannot use #document, #embedding, or #metadata)`,
    ],
    [
      '{"keys":["a"],"aggregate":{"$min_k":{"keys":["b"],"k":0}}}',
      `400 ${at}.aggregate.$min_k.k: must be a positive integer`,
    ],
    [
      '{"keys":["a"],"aggregate":{"$min_k":{"keys":["b"],"k":-1}}}',
      `400 ${at}.aggregate.$min_k.k: must be a positive integer`,
    ],
    [
      '{"keys":["a"],"aggregate":{"$min_k":{"keys":["b"],"k":"1"}}}',
      `422 ${at}.aggregate.$min_k.k: must be a positive integer`,
    ],
    [
      '{"keys":["a"],"aggregate":{"$min_k":{"keys":["b"],"k":100001}}}',
      `400 ${at}.aggregate.$min_k.k: must be at most 100000`,
    ],
    [
      '{"keys":["a"],"aggregate":{"$min_k":{"keys":["b"],"k":1,"n":1}}}',
      `400 ${at}.aggregate.$min_k.n: is unknown, expected \`keys\` or \`k\``,
    ],
  ])("%s", (groupBy, message) => {
    expect(parse(`{"rank":{"$val":1},"group_by":${groupBy}}`)).toBe(message);
  });

  it("without a rank", () => {
    expect(parse(`{"group_by":{"keys":["a"],${aggregate}}}`)).toBe(
      `400 ${at}: group_by requires rank expression to be specified`,
    );
  });
});

describe("a search over a limit, not at it", () => {
  const search = (dictionary: object) => ({ searches: [dictionary] });
  const values = (count: number) => Array.from({ length: count }, () => ({ $val: 1 }));
  const leaves = (count: number) => Array.from({ length: count }, () => ({ $knn: { query: "a" } }));
  const keys = (count: number) => Array.from({ length: count }, (_, index) => `k${index}`);
  const group = (groupKeys: number, aggregateKeys: number) =>
    search({
      rank: { $val: 1 },
      group_by: { keys: keys(groupKeys), aggregate: { $min_k: { keys: keys(aggregateKeys), k: 1 } } },
    });
  const searches = (count: number) => ({ searches: Array.from({ length: count }, () => ({})) });
  const dense = (dimensions: number) =>
    search({ rank: { $knn: { query: Array.from({ length: dimensions }, () => 0) } } });
  const limit = (count: number) =>
    search({ rank: { $knn: { query: "a", limit: count } }, limit: { limit: 10_000 } });

  it.each([
    [
      "searches",
      searches(LIMITS.searchesPerCall),
      searches(LIMITS.searchesPerCall + 1),
      "searches: must hold at most 100 searches",
    ],
    [
      "rank nodes",
      search({ rank: { $sum: values(LIMITS.rankNodes - 1) } }),
      search({ rank: { $sum: values(LIMITS.rankNodes) } }),
      "searches[0].rank.$sum[999]: is over 1000 operators",
    ],
    [
      "leaves",
      search({ rank: { $sum: leaves(LIMITS.knnLeaves) } }),
      search({ rank: { $sum: leaves(LIMITS.knnLeaves + 1) } }),
      "searches[0].rank.$sum[64].$knn: has over 64 `$knn` expressions",
    ],
    [
      "knn limit",
      limit(LIMITS.knnLimit),
      limit(LIMITS.knnLimit + 1),
      "searches[0].rank.$knn.limit: must be at most 100000",
    ],
    [
      "dimensions",
      dense(LIMITS.dimensions),
      dense(LIMITS.dimensions + 1),
      "searches[0].rank.$knn.query: has 4097 dimensions, the limit is 4096",
    ],
    [
      "group keys",
      group(LIMITS.groupKeys, 1),
      group(LIMITS.groupKeys + 1, 1),
      "searches[0].group_by.keys: must hold at most 16 keys",
    ],
    [
      "aggregate keys",
      group(1, LIMITS.aggregateKeys),
      group(1, LIMITS.aggregateKeys + 1),
      "searches[0].group_by.aggregate.$min_k.keys: must hold at most 16 keys",
    ],
    [
      "select keys",
      search({ select: { keys: keys(LIMITS.selectKeys) } }),
      search({ select: { keys: keys(LIMITS.selectKeys + 1) } }),
      "searches[0].select.keys: must hold at most 1024 keys",
    ],
  ])("%s", (_name, within, over, message) => {
    expect(refusal(() => parseSearchRequest(within))).toBe("accepted");
    expect(refusal(() => parseSearchRequest(over))).toBe(`400 ${message}`);
  });

  it("holds before the depth of an expression that no reader has bounded", () => {
    let nested: object = { $val: 1 };
    for (let depth = 0; depth < 100_000; depth += 1) nested = { $abs: nested };
    expect(refusal(() => parseSearchRequest(search({ rank: nested })))).toMatch(/is over 1000 operators$/);
  });
});
