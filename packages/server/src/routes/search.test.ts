/** Searches over HTTP, with text queries that the server embeds. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { COLLECTIONS, type TestApp, startTestApp } from "../testing/test-app.ts";

const UNKNOWN_ID = "00000000-0000-4000-8000-000000000000";
const SCHEMA = {
  keys: {
    "#embedding": {
      float_list: {
        vector_index: {
          enabled: true,
          config: { space: "cosine", embedding_function: { type: "known", name: "default", config: {} } },
        },
      },
    },
    words: {
      sparse_vector: {
        sparse_vector_index: {
          enabled: true,
          config: {
            embedding_function: { type: "known", name: "chroma_bm25", config: {} },
            source_key: "#document",
            bm25: true,
          },
        },
      },
    },
  },
};
const DOCUMENTS = {
  cat: "a small cat sleeps on the warm sofa",
  train: "the steam train crosses a railway bridge",
  law: "the parliament votes on a new tax law",
};

let test: TestApp;
let path: string;
beforeAll(async () => {
  test = await startTestApp();
  path = await test.makeCollection({ name: "searched", schema: SCHEMA });
  const write = {
    ids: Object.keys(DOCUMENTS),
    documents: Object.values(DOCUMENTS),
    metadatas: [{ n: 1 }, { n: 2 }, { n: 3 }],
  };
  const added = await test.ask(`POST ${path}/add`, { json: write });
  if (added.status !== 201) throw new Error(added.text);
});
afterAll(() => test.close());

async function ids(...searches: unknown[]): Promise<string[][]> {
  const reply = await test.ask(`POST ${path}/search`, { json: { searches } });
  if (reply.status !== 200) throw new Error(reply.text);
  return (reply.body as { ids: string[][] }).ids;
}

describe("POST search", () => {
  it("finds by meaning and by words, many texts in one call", async () => {
    const found = await ids(
      { rank: { $knn: { query: "kitten on a couch", limit: 1 } } },
      { rank: { $knn: { query: "locomotive", limit: 1 } } },
      { rank: { $knn: { query: "bridges", key: "words" } } },
      {
        rank: {
          $sum: [
            { $knn: { query: "politics", default: 5 } },
            { $knn: { query: "tax law", key: "words", default: 5 } },
          ],
        },
        limit: { limit: 1 },
      },
    );
    expect(found).toEqual([["cat"], ["train"], ["train"], ["law"]]);
  });

  it("takes a text wherever a query may stand in the rank", async () => {
    const knn = { $knn: { query: "kitten" } };
    const found = await ids(
      { rank: { $abs: knn }, limit: { limit: 1 } },
      { rank: { $sub: { left: knn, right: { $val: 1 } } }, limit: { limit: 1 } },
      { rank: { $mul: [{ $val: 2 }, { $max: [knn, { $val: 0 }] }] }, limit: { limit: 1 } },
    );
    expect(found).toEqual([["cat"], ["cat"], ["cat"]]);
  });

  it("ranks by numbers of the metadata, and by how long ago they are", async () => {
    const byKey = { $key: { key: "n" } };
    const now = Math.floor(Date.now() / 1_000);
    const scored = { select: { keys: ["#score"] }, limit: { limit: 1 } };
    const searches = [
      { rank: byKey, ...scored },
      { rank: { $mul: [byKey, { $val: -1 }] }, ...scored },
      { rank: { $sum: [{ $knn: { query: "locomotive", limit: 1 } }, byKey] }, ...scored },
      { rank: { $age: { key: "n", half_life: now } }, ...scored },
      { rank: { $age: { key: "n", half_life: 0.5, now: 2 } }, where: { n: { $lt: 3 } }, ...scored },
    ];
    const { body } = await test.ask(`POST ${path}/search`, { json: { searches } });
    expect(body).toMatchObject({
      ids: [["cat"], ["law"], ["train"], ["cat"], ["train"]],
      scores: [[1], [-3], [expect.any(Number)], [1], [0]],
    });
  });

  it("finds nothing for a text without terms", async () => {
    expect(await ids({ rank: { $knn: { query: "the of", key: "words" } } })).toEqual([[]]);
  });

  it("means the same by where and filter", async () => {
    const select = { keys: ["#score"] };
    const where = { n: { $gte: 2 } };
    expect(await ids({ where, select }, { filter: where, select })).toEqual([
      ["train", "law"],
      ["train", "law"],
    ]);
  });

  it("answers with the columns that were selected", async () => {
    const searches = [{ where: { n: 1 }, select: { keys: ["n", "#document", "#id"] } }];
    expect((await test.ask(`POST ${path}/search`, { json: { searches } })).body).toEqual({
      ids: [["cat"]],
      documents: [[DOCUMENTS.cat]],
      embeddings: [null],
      metadatas: [[{ n: 1 }]],
      scores: [null],
      select: [["#id", "#document", "n"]],
    });
    expect((await test.ask(`POST ${path}/search`, { json: { searches: [] } })).status).toBe(200);
  });

  it.each<[unknown, number, string]>([
    [{ rank: { $knn: { query: "x", key: "nothing" } } }, 400, "searches[0].rank.$knn.key"],
    [{ rank: { $knn: { query: [1, 2] } } }, 400, "searches[0].rank.$knn"],
    [{ rank: { $knn: { query: "word ".repeat(400) } } }, 413, "searches[0].rank.$knn.query"],
    [{ rank: {} }, 400, "searches[0].rank"],
    [{ rank: { $foo: 1 } }, 422, "searches[0].rank"],
    [{ filter: { a: 1, b: 2 } }, 422, "searches[0]"],
    [{ where: { a: 1 }, filter: { a: 2 } }, 400, "searches[0]"],
    [{ unknown: 1 }, 400, "searches[0]"],
  ])("%j is %i and names %s", async (search, status, where) => {
    const reply = await test.ask(`POST ${path}/search`, { json: { searches: [search] } });
    expect(reply.status).toBe(status);
    expect((reply.body as { message: string }).message).toContain(where);
  });

  it("refuses a text where the server does not know the collection's function", async () => {
    const embedding_function = { type: "known", name: "bm25", config: {} };
    const plain = await test.makeCollection({ name: "plain", configuration: { embedding_function } });
    await test.ask(`POST ${plain}/add`, { json: { ids: ["a"], embeddings: [[1]] } });
    const reply = await test.ask(`POST ${plain}/search`, {
      json: { searches: [{ rank: { $knn: { query: "x" } } }] },
    });
    expect(reply).toMatchObject({
      status: 400,
      body: {
        message: expect.stringMatching(
          /^searches\[0\]\.rank\.\$knn\.query: a text cannot be embedded for "#embedding": the embedding function "bm25" is unknown; .* chroma_bm25, sheaf; send a vector$/u,
        ),
      },
    });
  });

  it("is 404 for an unknown collection, with a text and without", async () => {
    for (const query of ["text", [1]]) {
      const json = { searches: [{ rank: { $knn: { query } } }] };
      expect((await test.ask(`POST ${COLLECTIONS}/${UNKNOWN_ID}/search`, { json })).status).toBe(404);
    }
  });
});

interface Explained {
  readonly ids: readonly (readonly string[])[];
  readonly traces?: readonly unknown[];
  readonly plans?: readonly unknown[];
  readonly why_not?: readonly unknown[];
}

describe("POST search with explain", () => {
  const explained = async (...searches: unknown[]): Promise<Explained> => {
    const reply = await test.ask(`POST ${path}/search`, { json: { searches } });
    if (reply.status !== 200) throw new Error(reply.text);
    return reply.body as Explained;
  };
  const words = { $knn: { query: "railway bridges", key: "words", limit: 2 } };
  const age = { $age: { key: "n", half_life: 2, now: 6 } };

  it("traces each score, and says how records were found", async () => {
    const search = { rank: { $sum: [words, age] }, explain: true };
    const reply = await explained(search);
    expect(reply.ids).toEqual([["train"]]);
    expect(reply.traces).toEqual([[expect.objectContaining({ op: "$sum", value: expect.any(Number) })]]);
    const [[trace]] = reply.traces as [[{ operands: unknown[] }]];
    const token = expect.any(String) as unknown;
    const number = expect.any(Number) as unknown;
    const term = { term: number, token, query: number, record: number, documents: 1 };
    expect(trace.operands).toEqual([
      {
        ...{ op: "$knn", value: number, key: "words", from: "limit", rank: 0, dot_product: number },
        terms: [term, term],
        model: "sheaf/bm25",
        tokens: [token, token],
      },
      { op: "$age", value: 2, key: "n", from: "record", stored: 2 },
    ]);
    expect(reply.plans).toEqual([
      {
        ...{ records: 3, rows: 3, ranked: 1, diversified: null, grouped: null },
        leaves: [
          {
            ...{ type: "sparse", path: "rank.$sum[0].$knn", key: "words", limit: 2, found: 1 },
            ...{ exact: true, terms: 2, posting_blocks: 0, unpacked_tails: 1 },
          },
          { type: "age", path: "rank.$sum[1].$age", key: "n", now: 6 },
        ],
        milliseconds: expect.objectContaining({ sparse: number, rank: number }) as unknown,
      },
    ]);
    expect(reply).not.toHaveProperty("why_not");
  });

  it("says why records are missing, and leaves out those that are there", async () => {
    const where = { $and: [{ n: { $gt: 1 } }, { "#document": { $regex: "a" } }] };
    const reply = await explained(
      { where, rank: words, limit: { limit: 1 }, explain: { ids: ["train", "cat", "law", "dog"] } },
      { limit: { limit: 1 } },
    );
    expect(reply.why_not).toEqual([
      [
        { id: "cat", reason: "filtered", path: "where.$and[0].n" },
        { id: "law", reason: "outside_leaf", path: "rank.$knn" },
        { id: "dog", reason: "absent" },
      ],
      null,
    ]);
    expect([reply.traces?.[1], reply.plans?.[1]]).toEqual([null, null]);
  });

  it("shows what a dense model read of each text, among others in the same call", async () => {
    const dense = (query: string): object => ({ $knn: { query } });
    const reply = await explained(
      { rank: dense("railway bridges"), limit: { limit: 1 }, explain: true },
      { rank: dense("cats") },
      { rank: { $sum: [dense("a cat"), dense("Railway bridges")] }, limit: { limit: 1 }, explain: true },
    );
    const model = "sentence-transformers/all-MiniLM-L6-v2";
    expect(reply.traces?.[0]).toMatchObject([{ model, tokens: ["[CLS]", "railway", "bridges", "[SEP]"] }]);
    expect(reply.traces?.[1]).toBeNull();
    expect(reply.traces?.[2]).toMatchObject([
      {
        operands: [
          { model, tokens: ["[CLS]", "a", "cat", "[SEP]"] },
          { model, tokens: ["[CLS]", "railway", "bridges", "[SEP]"] },
        ],
      },
    ]);
  });

  it("shows nothing of it to those who do not ask", async () => {
    const reply = await explained({ rank: words }, { rank: words, explain: false });
    expect(Object.keys(reply)).toEqual(["ids", "documents", "embeddings", "metadatas", "scores", "select"]);
  });
});
