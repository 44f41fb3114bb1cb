/** Records over HTTP: what a write stores, what reads give back, and how a write's missing vectors are made. */
import { LIMITS } from "@sheaf/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { COLLECTIONS, type TestApp, startTestApp } from "../testing/test-app.ts";

const UNKNOWN_ID = "00000000-0000-4000-8000-000000000000";
const MINILM_FUNCTION = { type: "known", name: "default", config: {} };
const BM25_FUNCTION = { type: "known", name: "chroma_bm25", config: {} };
/** One sparse index fed by the document, one by a metadata field. */
const SPARSE_SCHEMA = {
  keys: {
    words: sparseIndex("#document"),
    title_words: sparseIndex("title"),
  },
};

function sparseIndex(sourceKey: string): unknown {
  const config = { embedding_function: BM25_FUNCTION, source_key: sourceKey, bm25: true };
  return { sparse_vector: { sparse_vector_index: { enabled: true, config } } };
}

let test: TestApp;
let names = 0;
beforeAll(async () => {
  test = await startTestApp();
});
afterAll(() => test.close());

async function collection(body: Readonly<Record<string, unknown>> = {}): Promise<string> {
  return test.makeCollection({ name: `records-${names++}`, ...body });
}

interface Got {
  readonly ids: string[];
  readonly embeddings: number[][];
  readonly documents: (string | null)[];
  readonly metadatas: (Record<string, unknown> | null)[];
}

async function getAll(path: string): Promise<Got> {
  const { body } = await test.ask(`POST ${path}/get`, {
    json: { include: ["embeddings", "documents", "metadatas"] },
  });
  return body as Got;
}

describe("writing and reading", () => {
  it("adds, upserts, updates, gets, queries, counts and deletes", async () => {
    const path = await collection();
    const added = await test.ask(`POST ${path}/add`, {
      json: {
        ids: ["a", "b"],
        embeddings: [[0, 0], "AAAAAAAAgD8="],
        documents: ["first", null],
        metadatas: [{ n: 1, f: 1.5 }, null],
        uris: null,
      },
    });
    expect(added).toMatchObject({ status: 201, body: {} });
    expect((await test.ask(`GET ${path}/count?read_level=index_and_wal`)).text).toBe("2");
    const upsert = {
      ids: ["b", "c"],
      embeddings: [
        [0, 2],
        [0, 3],
      ],
    };
    expect(await test.ask(`POST ${path}/upsert`, { json: upsert })).toMatchObject({ status: 200, body: {} });
    const update = { ids: ["a"], metadatas: [{ f: null, s: "text" }] };
    expect(await test.ask(`POST ${path}/update`, { json: update })).toMatchObject({ status: 200, body: {} });
    expect((await test.ask(`POST ${path}/get`, { json: {} })).body).toEqual({
      ids: ["a", "b", "c"],
      embeddings: null,
      documents: ["first", null, null],
      uris: null,
      metadatas: [{ n: 1, s: "text" }, null, null],
      include: ["documents", "metadatas"],
    });
    const query = { query_embeddings: [[0, 2]], n_results: 2, include: ["distances"] };
    expect((await test.ask(`POST ${path}/query`, { json: query })).body).toEqual({
      ids: [["b", "c"]],
      embeddings: null,
      documents: null,
      uris: null,
      metadatas: null,
      distances: [[0, 1]],
      include: ["distances"],
    });
    const deleted = await test.ask(`POST ${path}/delete`, { json: { ids: ["a", "nobody"] } });
    expect(deleted).toMatchObject({ status: 200, body: { deleted: 1 } });
    expect((await test.ask(`POST ${path}/delete`, { json: {} })).body).toEqual({ deleted: 0 });
    expect((await test.ask(`GET ${path}/count`)).text).toBe("2");
  });

  it("keeps the kind of a number from body to reply", async () => {
    const path = await collection();
    const raw = '{"ids":["a"],"embeddings":[[1]],"metadatas":[{"i":3,"f":3.0,"big":9007199254740993}]}';
    expect((await test.ask(`POST ${path}/add`, { raw })).status).toBe(201);
    const { text } = await test.ask(`POST ${path}/get`, { json: { include: ["metadatas"] } });
    expect(text).toContain('{"i":3,"f":3.0,"big":9007199254740993}');
  });

  it("gives a long reply whole", async () => {
    const path = await collection();
    const ids = Array.from({ length: 3_000 }, (_, i) => `id-${i}`);
    const documents = ids.map((id) => `${id} `.repeat(400));
    const write = { ids, documents, embeddings: ids.map((_, i) => [i, 1]) };
    expect((await test.ask(`POST ${path}/add`, { json: write })).status).toBe(201);
    const all = await getAll(path);
    expect(all.ids).toEqual(ids);
    expect(all.documents).toEqual(documents);
  });

  it.each([
    ["add", { ids: ["a"], embeddings: [[1]], documents: [] }, 400],
    ["add", { ids: [""], embeddings: [[1]] }, 400],
    ["add", { ids: ["a"], metadatas: [{ k: null }], embeddings: [[1]] }, 422],
    ["add", { embeddings: [[1]] }, 422],
    ["add", { ids: ["a"] }, 400],
    ["upsert", { ids: ["a"], embeddings: [["x"]] }, 422],
    ["get", { where: {} }, 400],
    ["get", { include: ["data"] }, 422],
    ["get", { limit: -1 }, 422],
    ["count", { where: { n: { $foo: 1 } } }, 400],
    ["facets", {}, 422],
    ["facets", { keys: ["#document"] }, 400],
    ["facets", { keys: ["a"], limt: 3 }, 400],
    ["count", { where_document: { $regex: "(" } }, 400],
    ["delete", { where_document: { $regex: "(" } }, 400],
    ["query", { query_embeddings: Array.from({ length: LIMITS.queriesPerCall + 1 }, () => [1]) }, 400],
    ["delete", { ids: [] }, 400],
    ["delete", { limit: 3, ids: ["a"] }, 400],
  ])("%s %j is %i", async (verb, json, status) => {
    const path = await collection();
    const reply = await test.ask(`POST ${path}/${verb}`, { json });
    expect(reply.status).toBe(status);
    expect(reply.body).toMatchObject({ message: expect.any(String) });
    expect((await test.ask(`GET ${path}/count`)).text).toBe("0");
  });

  it("counts what a get would find", async () => {
    const path = await collection();
    const write = {
      ids: ["a", "b", "c"],
      embeddings: [[1], [2], [3]],
      documents: ["one tide", "two tides", null],
      metadatas: [{ n: 1 }, { n: 2 }, null],
    };
    await test.ask(`POST ${path}/add`, { json: write });
    const counted = async (json: object): Promise<string> =>
      (await test.ask(`POST ${path}/count`, { json })).text;
    expect(await counted({})).toBe("3");
    expect(await counted({ where: { n: { $gte: 1.5 } } })).toBe("1");
    expect(await counted({ where: { n: { $ne: 2 } }, where_document: { $contains: "tide" } })).toBe("1");
    expect(await counted({ ids: ["c", "nobody"] })).toBe("1");
    expect((await test.ask(`POST ${path}/count`, { json: { wehre: { n: 1 } } })).status).toBe(400);
  });

  it("orders a get and a search by metadata, page by page", async () => {
    const path = await collection();
    const values = [{ p: 2, y: 1 }, { p: 9 }, null, { p: 2, y: 0 }, { p: "x" }, { y: 5 }, { p: 2 }];
    const ids = values.map((_, i) => `r${i}`);
    const add = { ids, embeddings: ids.map(() => [1]), metadatas: values };
    await test.ask(`POST ${path}/add`, { json: add });
    const order_by = [{ p: "desc" }, { y: "asc" }];
    const expected = ["r4", "r1", "r3", "r0", "r6", "r5", "r2"];
    const got = await test.ask(`POST ${path}/get`, { json: { order_by, include: [] } });
    expect(got.body).toMatchObject({ ids: expected });
    const page = await test.ask(`POST ${path}/get`, { json: { order_by, offset: 2, limit: 3 } });
    expect(page.body).toMatchObject({ ids: expected.slice(2, 5) });
    const search = { order_by, limit: { offset: 1, limit: 2 }, select: { keys: ["#score"] } };
    const found = await test.ask(`POST ${path}/search`, { json: { searches: [search] } });
    expect(found.body).toMatchObject({ ids: [expected.slice(1, 3)], scores: [[0, 1]] });
    const ranked = { order_by, rank: { $knn: { query: [1] } } };
    const refused = await test.ask(`POST ${path}/search`, { json: { searches: [ranked] } });
    expect(refused).toMatchObject({ status: 400, text: expect.stringMatching(/searches\[0\]\.order_by: /u) });
  });

  it("counts the values of keys", async () => {
    const path = await collection();
    const raw =
      '{"ids":["a","b","c"],"embeddings":[[1],[2],[3]],"metadatas":[{"n":1,"t":["x","y"]},{"n":1.0,"t":["x"]},{"n":3}]}';
    await test.ask(`POST ${path}/add`, { raw });
    const json = { keys: ["n", "t", "__proto__"], limit: 1, histogram: 2 };
    expect((await test.ask(`POST ${path}/facets`, { json })).text).toBe(
      '{"n":{"values":[{"value":1,"count":1}],"missing":0,"other":2,"min":1,"max":3,' +
        '"histogram":[{"from":1.0,"to":2.0,"count":2},{"from":2.0,"to":3.0,"count":1}]},' +
        '"t":{"values":[{"value":"x","count":2}],"missing":1,"other":1,"min":null,"max":null,"histogram":[]},' +
        '"__proto__":{"values":[],"missing":3,"other":0,"min":null,"max":null,"histogram":[]}}',
    );
    const where = { where: { t: { $contains: "y" } } };
    expect((await test.ask(`POST ${path}/facets`, { json: { keys: ["n"], ...where } })).body).toEqual({
      n: { values: [{ value: 1, count: 1 }], missing: 0, other: 0, min: 1, max: 1 },
    });
  });

  it("refuses a read level that is none", async () => {
    const path = await collection();
    expect((await test.ask(`GET ${path}/count?read_level=sometimes`)).status).toBe(400);
  });

  it.each(["add", "update", "upsert", "delete", "get", "query", "count", "facets"])(
    "%s of an unknown collection is 404",
    async (verb) => {
      const json =
        verb === "count"
          ? {}
          : verb === "facets"
            ? { keys: ["a"] }
            : { ids: ["a"], embeddings: [[1]], query_embeddings: [[1]] };
      const reply = await test.ask(`POST ${COLLECTIONS}/${UNKNOWN_ID}/${verb}`, { json });
      expect(reply).toMatchObject({ status: 404, body: { error: "NotFoundError" } });
      expect((await test.ask(`POST ${COLLECTIONS}/no-uuid/${verb}`, { json })).status).toBe(400);
    },
  );

  it("finds a collection under its own tenant and database only", async () => {
    const path = await collection();
    await test.ask("POST /api/v2/tenants/default_tenant/databases", { json: { name: "other" } });
    const moved = path.replace("default_database", "other");
    expect((await test.ask(`GET ${moved}/count`)).status).toBe(404);
  });
});

describe("vectors that the server makes", () => {
  it("embeds documents that come without one, and again when they change", async () => {
    const path = await collection({ configuration: { embedding_function: MINILM_FUNCTION } });
    const own = Array.from({ length: 384 }, () => 0.5);
    await test.ask(`POST ${path}/add`, {
      json: { ids: ["a", "b"], documents: ["a cat", "a dog"], embeddings: [null, own] },
    });
    const before = await getAll(path);
    expect(before.embeddings[0]).toHaveLength(384);
    expect(before.embeddings[1]).toEqual(own);
    await test.ask(`POST ${path}/update`, { json: { ids: ["a"], metadatas: [{ n: 1 }] } });
    expect((await getAll(path)).embeddings).toEqual(before.embeddings);
    await test.ask(`POST ${path}/update`, { json: { ids: ["a"], documents: ["a railway"] } });
    const after = await getAll(path);
    expect(after.embeddings[0]).not.toEqual(before.embeddings[0]);
    expect(after.documents).toEqual(["a railway", "a dog"]);
  });

  it("embeds and checks nothing of an update of a record that does not exist", async () => {
    const path = await collection({ configuration: { embedding_function: MINILM_FUNCTION } });
    await test.ask(`POST ${path}/add`, { json: { ids: ["a"], documents: ["a cat"] } });
    const before = await getAll(path);
    const tooLong = "word ".repeat(400);
    const absent = { ids: ["a", "b"], documents: ["a railway", tooLong] };
    expect(await test.ask(`POST ${path}/update`, { json: absent })).toMatchObject({ status: 200 });
    const after = await getAll(path);
    expect(after.documents).toEqual(["a railway"]);
    expect(after.embeddings[0]).not.toEqual(before.embeddings[0]);
    const vector = { ids: ["b"], embeddings: [[1, 2, 3]] };
    expect(await test.ask(`POST ${path}/update`, { json: vector })).toMatchObject({ status: 200 });
    const present = { ids: ["b", "a"], documents: ["fine", tooLong] };
    expect(await test.ask(`POST ${path}/update`, { json: present })).toMatchObject({ status: 413 });
    expect(await getAll(path)).toEqual(after);
  });

  it("keeps the old vector where it does not know the function, and refuses a record that has none", async () => {
    const unknown = { type: "known", name: "some_other_function", config: {} };
    const path = await collection({ configuration: { embedding_function: unknown } });
    await test.ask(`POST ${path}/add`, { json: { ids: ["a"], embeddings: [[1, 2]], documents: ["old"] } });
    const update = { ids: ["a"], documents: ["new"] };
    expect((await test.ask(`POST ${path}/update`, { json: update })).status).toBe(200);
    expect(await getAll(path)).toMatchObject({ embeddings: [[1, 2]], documents: ["new"] });
    const fresh = await test.ask(`POST ${path}/upsert`, { json: { ids: ["a", "b"], documents: ["x", "y"] } });
    expect(fresh.status).toBe(400);
    expect((fresh.body as { message: string }).message).toMatch(
      /^ids\[1\]: record "b" is new and needs an embedding: the embedding function "some_other_function" is unknown; .* sheaf; send an embedding, or make the collection anew with a schema /u,
    );
    expect((await getAll(path)).documents).toEqual(["new"]);
  });

  it("keeps the old vector where the function has another dimension", async () => {
    const path = await collection({ configuration: { embedding_function: MINILM_FUNCTION } });
    await test.ask(`POST ${path}/add`, { json: { ids: ["a"], embeddings: [[1, 2]], documents: ["old"] } });
    const update = { ids: ["a"], documents: ["new"] };
    expect((await test.ask(`POST ${path}/update`, { json: update })).status).toBe(200);
    expect(await getAll(path)).toMatchObject({ embeddings: [[1, 2]], documents: ["new"] });
  });

  it("refuses a document over the model's limit and stores nothing of the write", async () => {
    const path = await collection({ configuration: { embedding_function: MINILM_FUNCTION } });
    const json = { ids: ["short", "long"], documents: ["fine", "word ".repeat(400)] };
    const reply = await test.ask(`POST ${path}/add`, { json });
    expect(reply.status).toBe(413);
    expect(reply.text).toMatch(/long.*40\d.*256/);
    expect((await test.ask(`GET ${path}/count`)).text).toBe("0");
  });

  it("cuts it where the collection's function asks for that", async () => {
    const config = { model: "sentence-transformers/all-MiniLM-L6-v2", truncate: true };
    const embedding_function = { type: "known", name: "sheaf", config };
    const path = await collection({ configuration: { embedding_function } });
    const documents = ["word ".repeat(400), "w ".repeat(LIMITS.textBytes)];
    const reply = await test.ask(`POST ${path}/add`, { json: { ids: ["long", "longer"], documents } });
    expect(reply.status).toBe(201);
    expect((await getAll(path)).embeddings[0]).toHaveLength(384);
  });

  it("fills sparse vectors from their source, keeps those that are sent, and takes away what has lost its source", async () => {
    const path = await collection({ schema: SPARSE_SCHEMA });
    const own = { "#type": "sparse_vector", indices: [1], values: [2] };
    const add = {
      ids: ["a", "b", "c"],
      embeddings: [[1], [2], [3]],
      documents: ["railway bridges", "the of and", null],
      metadatas: [{ title: "Bridges" }, { words: own, title: 7 }, null],
    };
    expect((await test.ask(`POST ${path}/add`, { json: add })).status).toBe(201);
    const before = (await getAll(path)).metadatas;
    expect(before[0]).toMatchObject({
      title: "Bridges",
      words: { "#type": "sparse_vector", indices: expect.any(Array) },
      title_words: { "#type": "sparse_vector" },
    });
    expect(before[1]).toEqual({ title: 7, words: own });
    expect(before[2]).toBeNull();
    const update = { ids: ["a"], documents: ["steam engines"], metadatas: [{ title: null }] };
    expect((await test.ask(`POST ${path}/update`, { json: update })).status).toBe(200);
    const after = (await getAll(path)).metadatas[0];
    expect(Object.keys(after ?? {})).toEqual(["words"]);
    expect(after?.["words"]).not.toEqual(before[0]?.["words"]);
  });

  it("stores an empty sparse vector for a text without terms", async () => {
    const path = await collection({ schema: SPARSE_SCHEMA });
    const add = { ids: ["a"], embeddings: [[1]], documents: ["the of and"] };
    expect((await test.ask(`POST ${path}/add`, { json: add })).status).toBe(201);
    expect((await getAll(path)).metadatas[0]).toEqual({
      words: { "#type": "sparse_vector", indices: [], values: [] },
    });
  });

  it("stores the terms of a sparse vector where the function asks for them, and only there", async () => {
    const bm25 = (config: object): object => ({
      sparse_vector: {
        sparse_vector_index: {
          enabled: true,
          config: {
            source_key: "#document",
            bm25: true,
            embedding_function: { type: "known", name: "chroma_bm25", config },
          },
        },
      },
    });
    const keys = { bare: bm25({ include_tokens: false }), labelled: bm25({ include_tokens: true }) };
    const path = await collection({ schema: { defaults: {}, keys } });
    const add = { ids: ["a"], embeddings: [[1]], documents: ["railway bridges"] };
    expect((await test.ask(`POST ${path}/add`, { json: add })).status).toBe(201);
    const [metadata] = (await getAll(path)).metadatas;
    expect(metadata?.["bare"]).not.toHaveProperty("tokens");
    expect(metadata?.["labelled"]).toMatchObject({ tokens: expect.arrayContaining(["bridg", "railway"]) });
    const search = { searches: [{ select: { keys: ["bare", "labelled"] } }] };
    const { body } = await test.ask(`POST ${path}/search`, { json: search });
    expect(body).toMatchObject({ metadatas: [[metadata]] });
  });
});
