/** npm `chromadb`, unchanged: `search` with every builder, on a collection with one dense and two sparse indexes. */
import {
  Abs,
  Aggregate,
  type Collection,
  Div,
  Exp,
  GroupBy,
  K,
  Knn,
  Limit,
  Log,
  Max,
  MaxK,
  Min,
  MinK,
  Mul,
  ReadLevel,
  Rrf,
  Schema,
  Search,
  type SearchLike,
  Select,
  SparseVectorIndexConfig,
  Sub,
  Sum,
  Val,
  VectorIndexConfig,
} from "chromadb";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServedSheaf } from "../e2e/testing/served-sheaf.ts";
import { chromaClient } from "./testing/chroma.ts";

type Rank = ReturnType<typeof Knn>;
type Where = Parameters<Search["where"]>[0];

let served: ServedSheaf;
let collection: Collection;

const sparse = (indices: number[], values: number[]) => ({ indices, values });
const dense = (query: number[], more: object = {}) => Knn({ query, limit: 10, ...more });
/** The distances are 0, 1, 4, 9 for a, b, c, d. */
const fromOrigin = () => dense([0, 0]);

beforeAll(async () => {
  served = await ServedSheaf.start();
  const schema = new Schema()
    .createIndex(new VectorIndexConfig({ space: "l2" }))
    .createIndex(new SparseVectorIndexConfig({}), "words")
    .createIndex(new SparseVectorIndexConfig({}), "tags");
  collection = await chromaClient(served).createCollection({
    name: "searched",
    schema,
    embeddingFunction: null,
  });
  await collection.add({
    ids: ["a", "b", "c", "d"],
    embeddings: [
      [0, 0],
      [1, 0],
      [2, 0],
      [3, 0],
    ],
    documents: ["red apple", "green pear", "red cherry", "blue plum"],
    metadatas: [
      { color: "red", n: 1, words: sparse([1, 5], [1, 0.5]), tags: sparse([7], [1]) },
      { color: "green", n: 2, words: sparse([5], [2]), seen: ["x", "y"] },
      { color: "red", n: 3, words: sparse([1], [0.25]), tags: sparse([7, 9], [0.5, 0.5]) },
      { color: "blue", n: 4 },
    ],
  });
});

afterAll(async () => {
  await served.dispose();
});

async function ids(search: SearchLike): Promise<string[]> {
  return (await collection.search(search)).ids[0] ?? [];
}

describe("Knn", () => {
  it.each<[string, () => Rank, string[]]>([
    ["the dense index", () => dense([3, 0]), ["d", "c", "b", "a"]],
    ["its limit", () => dense([3, 0], { limit: 2 }), ["d", "c"]],
    ["one sparse index", () => Knn({ query: sparse([5], [1]), key: "words" }), ["b", "a"]],
    ["another sparse index", () => Knn({ query: sparse([7], [1]), key: K("tags") }), ["a", "c"]],
    ["no term in common", () => Knn({ query: sparse([1_000], [1]), key: "words" }), []],
  ])("ranks by %s", async (_, rank, expected) => {
    expect(await ids(new Search().rank(rank()))).toEqual(expected);
  });

  it("gives positions with returnRank", async () => {
    const rank = dense([3, 0], { returnRank: true });
    const { scores } = await collection.search(new Search().rank(rank).select(K.SCORE));
    expect(scores).toEqual([[0, 1, 2, 3]]);
  });

  it("default keeps what another leaf has found", async () => {
    const leaf = (more: object) => Knn({ query: sparse([1], [1]), key: "words", ...more });
    expect(await ids(new Search().rank(fromOrigin().add(leaf({}))))).toEqual(["a", "c"]);
    expect(await ids(new Search().rank(fromOrigin().add(leaf({ default: 0 }))))).toEqual([
      "a",
      "b",
      "c",
      "d",
    ]);
  });
});

describe("expressions", () => {
  /** What they make of the distances 0, 1, 4, 9; the rows come lowest first. */
  it.each<[string, (distance: Rank) => Rank, (distance: number) => number]>([
    ["add", (d) => d.add(1, 2), (d) => d + 3],
    ["subtract", (d) => d.subtract(5), (d) => d - 5],
    ["multiply", (d) => d.multiply(-2), (d) => d * -2],
    ["divide", (d) => d.divide(4), (d) => d / 4],
    ["negate", (d) => d.negate(), (d) => -d],
    ["abs", (d) => d.subtract(3).abs(), (d) => Math.abs(d - 3)],
    ["exp", (d) => d.divide(9).exp(), (d) => Math.exp(d / 9)],
    ["log", (d) => d.add(1).log(), (d) => Math.log(d + 1)],
    ["max", (d) => d.max(2), (d) => Math.max(d, 2)],
    ["min", (d) => d.min(2), (d) => Math.min(d, 2)],
    ["Sum", (d) => Sum(d, d, 1), (d) => 2 * d + 1],
    ["Sub", (d) => Sub(10, d), (d) => 10 - d],
    ["Mul", (d) => Mul(d, Val(3)), (d) => d * 3],
    ["Div", (d) => Div(1, d.add(1)), (d) => 1 / (d + 1)],
    ["Abs", (d) => Abs(d.negate()), (d) => d],
    ["Exp", (d) => Exp(d.negate()), (d) => Math.exp(-d)],
    ["Log", (d) => Log(Sum(d, 2)), (d) => Math.log(d + 2)],
    ["Max", (d) => Max(d, Val(4)), (d) => Math.max(d, 4)],
    ["Min", (d) => Min(d, Val(4)), (d) => Math.min(d, 4)],
  ])("%s", async (_, build, compute) => {
    const { scores } = await collection.search(new Search().rank(build(fromOrigin())).select(K.SCORE));
    const expected = [0, 1, 4, 9].map(compute).toSorted((a, b) => a - b);
    expect(scores[0]).toHaveLength(4);
    scores[0]?.forEach((score, i) => expect(score).toBeCloseTo(expected[i] ?? Number.NaN, 5));
  });

  it("a number that is none comes as null", async () => {
    const { ids: found, scores } = await collection.search(
      new Search().rank(fromOrigin().log()).select(K.SCORE),
    );
    expect(found[0]?.[0]).toBe("a");
    expect(scores[0]?.[0]).toBeNull();
  });

  it("a constant alone finds nothing", async () => {
    expect(await ids(new Search().rank(Val(1)))).toEqual([]);
  });
});

describe("Rrf", () => {
  const ranks = () => [
    dense([3, 0], { returnRank: true, default: 10 }),
    Knn({ query: sparse([5], [1]), key: "words", returnRank: true, default: 10 }),
  ];

  it.each<[string, object, string[], number]>([
    ["plain", {}, ["b", "a", "d", "c"], -(1 / 62 + 1 / 60)],
    ["another k", { k: 1 }, ["b", "d", "a", "c"], -(1 / 3 + 1)],
    ["weights", { weights: [10, 1] }, ["d", "c", "b", "a"], -(10 / 60 + 1 / 70)],
    ["shares", { weights: [10, 1], normalize: true }, ["d", "c", "b", "a"], -(10 / 60 + 1 / 70) / 11],
  ])("%s", async (_, options, expected, best) => {
    const search = new Search().rank(Rrf({ ranks: ranks(), ...options })).select(K.SCORE);
    const { ids: found, scores } = await collection.search(search);
    expect(found[0]).toEqual(expected);
    expect(scores[0]?.[0]).toBeCloseTo(best, 6);
  });

  it("of one rank", async () => {
    expect(await ids(new Search().rank(Rrf({ ranks: [dense([3, 0], { returnRank: true })] })))).toEqual([
      "d",
      "c",
      "b",
      "a",
    ]);
  });
});

describe("where", () => {
  it.each<[string, Where, string[]]>([
    ["eq and", K("color").eq("red").and(K("n").gt(1)), ["c"]],
    ["ne or", K("color").ne("red").or(K("n").lte(1)), ["a", "b", "d"]],
    ["gte and lt", K("n").gte(2).and(K("n").lt(4)), ["b", "c"]],
    ["isIn", K("color").isIn(["green", "blue"]), ["b", "d"]],
    ["notIn", K("color").notIn(["green", "blue"]), ["a", "c"]],
    ["contains in a list", K("seen").contains("y"), ["b"]],
    ["notContains in a list", K("seen").notContains("y"), ["a", "c", "d"]],
    ["K.ID", K.ID.isIn(["d", "a"]), ["a", "d"]],
    ["K.ID.notIn", K.ID.notIn(["d", "a"]), ["b", "c"]],
    ["K.DOCUMENT.contains", K.DOCUMENT.contains("red"), ["a", "c"]],
    ["K.DOCUMENT.notContains", K.DOCUMENT.notContains("red"), ["b", "d"]],
    ["K.DOCUMENT.regex", K.DOCUMENT.regex("^(?:red|blue)"), ["a", "c", "d"]],
    ["K.DOCUMENT.notRegex", K.DOCUMENT.notRegex("^(?:red|blue)"), ["b"]],
    ["a plain object", { color: "red" }, ["a", "c"]],
    ["a nested object", { $or: [{ n: 1 }, { $and: [{ color: "blue" }, { n: { $gt: 3 } }] }] }, ["a", "d"]],
  ])("%s", async (_, where, expected) => {
    expect(await ids(new Search().where(where).rank(fromOrigin()))).toEqual(expected);
    expect(await ids(new Search().where(where))).toEqual(expected);
  });
});

describe("GroupBy", () => {
  it.each<[string, GroupBy, string[]]>([
    ["the best of each", new GroupBy([K("color")], new MinK([K.SCORE], 1)), ["a", "b", "d"]],
    ["the largest of each", new GroupBy([K("color")], new MaxK([K("n")], 1)), ["b", "c", "d"]],
    ["two of each", new GroupBy([K("color")], Aggregate.minK([K.SCORE], 2)), ["a", "b", "c", "d"]],
    ["a missing key as a group of its own", new GroupBy([K("seen")], Aggregate.maxK(["n"], 1)), ["b", "d"]],
    [
      "several keys",
      new GroupBy([K("color"), K("n")], Aggregate.minK(["n", K.SCORE], 1)),
      ["a", "b", "c", "d"],
    ],
  ])("keeps %s", async (_, groupBy, expected) => {
    expect(await ids(new Search().rank(fromOrigin()).groupBy(groupBy))).toEqual(expected);
  });
});

describe("Limit and Select", () => {
  it.each<[string, SearchLike, string[]]>([
    ["no limit: all, in order of insertion", new Search(), ["a", "b", "c", "d"]],
    ["a Limit", new Search().limit(new Limit({ offset: 1, limit: 2 })), ["b", "c"]],
    ["numbers", new Search().limit(2, 1), ["b", "c"]],
    ["an offset alone", new Search().limit({ offset: 3 }), ["d"]],
    ["a page of a ranking", { rank: dense([3, 0]), limit: { offset: 1, limit: 1 } }, ["c"]],
  ])("%s", async (_, search, expected) => {
    expect(await ids(search)).toEqual(expected);
  });

  it("Select.all gives everything", async () => {
    const result = await collection.search({ rank: dense([3, 0]), limit: 1, select: Select.all() });
    expect(result.rows()[0]).toEqual([
      { id: "d", document: "blue plum", embedding: [3, 0], metadata: { color: "blue", n: 4 }, score: 0 },
    ]);
  });

  it("fields give only what exists, and nothing where nothing is left", async () => {
    const { metadatas, documents, scores } = await collection.search(new Search().select("seen"));
    expect(metadatas).toEqual([[null, { seen: ["x", "y"] }, null, null]]);
    expect({ documents, scores }).toEqual({ documents: [null], scores: [null] });
  });

  it("returns sparse vectors as they were written", async () => {
    const { metadatas } = await collection.search(new Search().where(K("n").eq(1)).select(K.METADATA));
    expect(metadatas[0]?.[0]).toEqual({
      color: "red",
      n: 1,
      words: { indices: [1, 5], values: [1, 0.5] },
      tags: { indices: [7], values: [1] },
    });
  });
});

describe("batches and read levels", () => {
  it.each(Object.values(ReadLevel))("answers in order at %s", async (readLevel) => {
    const result = await collection.search(
      [new Search().rank(dense([3, 0])).limit(1), new Search().where({ n: 2 }), { where: { n: 99 } }],
      { readLevel },
    );
    expect(result.ids).toEqual([["d"], ["b"], []]);
    expect(await collection.count({ readLevel })).toBe(4);
  });

  it("refuses a batch of which one search is wrong, and names it", async () => {
    const wrong = new Search().rank(dense([1, 2, 3]));
    await expect(collection.search([new Search(), wrong])).rejects.toThrow(/searches\[1\].*dimension/u);
  });
});
