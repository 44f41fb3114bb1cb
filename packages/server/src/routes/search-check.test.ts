/** What a check says of searches, beside what these are refused with. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT_KEY, type TestApp, startTestApp } from "../testing/test-app.ts";

interface Finding {
  readonly path: string;
  readonly code: string;
  readonly message: string;
}

interface Checked {
  readonly problems: readonly Finding[];
  readonly warnings: readonly Finding[];
  readonly plans: readonly (object | null)[];
}

const sparse = (config: object): object => ({
  sparse_vector: { sparse_vector_index: { enabled: true, config } },
});
const bm25 = {
  embedding_function: { type: "known", name: "chroma_bm25", config: {} },
  source_key: "#document",
};
const SCHEMA = {
  keys: {
    "#embedding": {
      float_list: {
        vector_index: {
          enabled: true,
          config: { embedding_function: { type: "known", name: "default", config: {} } },
        },
      },
    },
    words: sparse({ ...bm25, bm25: true }),
    given: sparse({}),
    hidden: { string: { string_inverted_index: { enabled: false, config: {} } } },
  },
};
const VECTOR = Array.from({ length: 384 }, (_, i) => i);
const KNN = { $knn: { query: VECTOR } };
const DEEP = `{"searches":${"[".repeat(70)}${"]".repeat(70)}}`;

let test: TestApp;
let path: string;
beforeAll(async () => {
  test = await startTestApp();
  path = await test.makeCollection({ name: "checked", schema: SCHEMA });
  const metadatas = [{ n: 1, s: "x", tags: ["a"], price: 2 }, { price: 2.5 }];
  const json = { ids: ["a", "b"], documents: ["a cat", "a dog"], metadatas };
  const added = await test.ask(`POST ${path}/add`, { json });
  if (added.status !== 201) throw new Error(added.text);
});
afterAll(() => test.close());

async function check(json: unknown): Promise<Checked> {
  const reply = await test.ask(`POST ${path}/search/check`, { json });
  expect(reply.status).toBe(200);
  return reply.body as Checked;
}

const one = (search: object): Promise<Checked> => check({ searches: [search] });

async function warnings(search: object): Promise<[string, string][]> {
  const { problems, warnings } = await one(search);
  expect(problems).toEqual([]);
  expect((await test.ask(`POST ${path}/search`, { json: { searches: [search] } })).status).toBe(200);
  return warnings.map(({ path: at, code }) => [at, code]);
}

describe("problems", () => {
  it.each<[string, unknown]>([
    ["no searches", {}],
    ["no object", []],
    ["a read level", { searches: [], read_level: "none" }],
    ["too many searches", { searches: Array.from({ length: 101 }, () => ({})) }],
    ["no dictionary", { searches: [1] }],
    ["an unknown member", { searches: [{ wehre: {} }] }],
    ["a filter", { searches: [{ where: { a: { $gt: "b" } } }] }],
    ["contradicting filters", { searches: [{ where: { a: 1 }, filter: { a: 2 } }] }],
    ["a switched off index", { searches: [{ where: { hidden: "x" } }] }],
    ["a regular expression", { searches: [{ where: { "#document": { $regex: "(" } } }] }],
    [
      "the second regular expression",
      {
        searches: [{ where: { "#document": { $regex: "a" } } }, { where: { "#document": { $regex: "(" } } }],
      },
    ],
    ["a dimension", { searches: [{ rank: { $knn: { query: [1] } } }] }],
    ["a key without an index", { searches: [{ rank: { $knn: { query: "cat", key: "s" } } }] }],
    ["a dense vector for a sparse key", { searches: [{ rank: { $knn: { query: VECTOR, key: "words" } } }] }],
    ["a text without a function", { searches: [{ rank: { $knn: { query: "cat", key: "given" } } }] }],
    [
      "groups without a rank",
      { searches: [{ group_by: { keys: ["n"], aggregate: { $min_k: { keys: ["n"], k: 1 } } } }] },
    ],
    ["mmr without a rank", { searches: [{ mmr: { limit: 1 } }] }],
    ["an order beside a rank", { searches: [{ rank: KNN, order_by: [{ n: "asc" }] }] }],
  ])("of %s are what the search is refused with", async (_name, json) => {
    const refused = await test.ask(`POST ${path}/search`, { json });
    const { message } = refused.body as { message: string };
    expect(refused.status).toBeGreaterThanOrEqual(400);
    expect(refused.status).toBeLessThan(500);
    const { problems } = await check(json);
    expect(problems.map((problem) => problem.message)).toContain(message);
    for (const problem of problems) {
      if (problem.path !== "") expect(problem.message).toContain(`${problem.path}: `);
    }
  });

  it.each(["{", '{"searches":[],"searches":[]}', DEEP])(
    "of a body that is no JSON are an answer, too: %s",
    async (text) => {
      const refused = await test.ask(`POST ${path}/search`, { raw: text });
      // What is no JSON cannot be held against the description.
      const checked = await test.app.http.inject({
        method: "POST",
        url: `${path}/search/check`,
        headers: { "x-service-token": ROOT_KEY, "content-type": "application/json" },
        payload: text,
      });
      expect(checked.statusCode).toBe(200);
      expect(checked.json<Checked>().problems[0]?.message).toBe(
        (refused.body as { message: string }).message,
      );
    },
  );

  it("are listed for all parts of all payloads, each once", async () => {
    const bad = { rank: { $val: "x" }, limit: 5, where: { a: null }, more: 1 };
    const { problems, plans } = await check({ searches: [bad, {}, bad] });
    const paths = ["more", "rank.$val", "limit", "where.a"].flatMap((at) => [
      `searches[0].${at}`,
      `searches[2].${at}`,
    ]);
    expect(problems.map((problem) => problem.path).sort()).toEqual(paths.sort());
    expect(plans).toEqual([null, { leaves: [], page: { offset: 0, limit: null } }, null]);
  });

  it("are at most a thousand", async () => {
    const many = Object.fromEntries(Array.from({ length: 2_000 }, (_, i) => [`m${i}`, 1]));
    expect((await one(many)).problems).toHaveLength(1_000);
  });

  it("are no answer where the collection is not there", async () => {
    const absent = path.replace(/[^/]+$/u, "00000000-0000-4000-8000-000000000000");
    expect((await test.ask(`POST ${absent}/search/check`, { json: { searches: [] } })).status).toBe(404);
  });
});

describe("warnings", () => {
  it("are none where nothing is odd", async () => {
    const where = {
      $and: [{ n: { $gte: 1 } }, { n: { $lte: 1.5 } }, { tags: { $contains: "a" } }, { s: { $ne: 5 } }],
    };
    const rank = { $sum: [{ $knn: { query: VECTOR, limit: 16 } }, { $key: { key: "n", default: 0 } }] };
    expect(await warnings({ where, rank, limit: { limit: 10 } })).toEqual([]);
  });

  it.each<[string, object, string, string]>([
    ["constant", { rank: { $val: 1 } }, "searches[0].rank", "constant_rank"],
    ["limit", { rank: KNN, limit: { limit: 10, offset: 10 } }, "searches[0].rank.$knn.limit", "leaf_limit"],
    ["mmr", { rank: KNN, mmr: { limit: 16 } }, "searches[0].rank.$knn.limit", "leaf_limit"],
    ["never", { where: { $or: [] } }, "searches[0].where", "never_matches"],
    [
      "between",
      { where: { $and: [{ n: { $gt: 2 } }, { n: { $lte: 2 } }] } },
      "searches[0].where",
      "never_matches",
    ],
    [
      "two values",
      { where: { $and: [{ s: "a" }, { $and: [{ s: { $in: ["b", "c"] } }] }] } },
      "searches[0].where",
      "never_matches",
    ],
    ["type", { where: { n: "1" } }, "searches[0].where.n", "never_matches"],
    ["key", { where: { nobody: 1 } }, "searches[0].where.nobody", "unknown_key"],
    ["field", { rank: { $key: { key: "s" } } }, "searches[0].rank.$key", "never_matches"],
    [
      "nested",
      { where: { $and: [{ n: 1 }, { $or: [{ s: "a" }, { nobody: 1 }] }] } },
      "searches[0].where.$and[1].$or[1].nobody",
      "unknown_key",
    ],
    ["select", { select: { keys: ["#document", "scores"] } }, "searches[0].select", "unknown_key"],
    ["numbers", { order_by: [{ price: "asc" }] }, "searches[0].order_by", "mixed_numbers"],
    ["order", { order_by: [{ nobody: "asc" }] }, "searches[0].order_by", "unknown_key"],
  ])("name what is odd: %s", async (_name, search, at, code) => {
    expect(await warnings(search)).toEqual([[at, code]]);
  });

  it("name each leaf that finds less than the page of a fusion", async () => {
    const rank = { $sum: [KNN, { $knn: { query: "cat", key: "words", limit: 50 } }] };
    expect(await warnings({ rank, limit: { limit: 20 } })).toEqual([
      ["searches[0].rank.$sum[0].$knn.limit", "fusion_limit"],
    ]);
  });

  it("name members of the body that a search ignores", async () => {
    const checked = await check({ searches: [], reed_level: "index_only" });
    expect(checked.warnings).toMatchObject([{ path: "reed_level", code: "ignored_member" }]);
  });
});

it("says which model would embed which query", async () => {
  const rank = {
    $sum: [{ $knn: { query: "cat" } }, { $knn: { query: "cat", key: "words", limit: 7 } }, KNN],
  };
  const { plans } = await one({ rank, limit: { limit: 5, offset: 2 } });
  const leaf = { indexed: true, limit: 16, key: "#embedding", kind: "dense" };
  expect(plans).toEqual([
    {
      leaves: [
        { ...leaf, path: "searches[0].rank.$sum[0].$knn", model: "sentence-transformers/all-MiniLM-L6-v2" },
        {
          ...leaf,
          path: "searches[0].rank.$sum[1].$knn",
          key: "words",
          kind: "sparse",
          limit: 7,
          model: "sheaf/bm25",
        },
        { ...leaf, path: "searches[0].rank.$sum[2].$knn", model: null },
      ],
      page: { offset: 2, limit: 5 },
    },
  ]);
});
