/** A collection and the weights it was embedded with: servers with other weights over the same engine. */
import { fileURLToPath } from "node:url";
import { type EmbedderOptions, createEmbedder } from "@sheaf/inference";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { COLLECTIONS, MINILM, type TestApp, startTestApp } from "../testing/test-app.ts";

const QWEN = "Qwen/Qwen3-Embedding-0.6B";
const BGE = "BAAI/bge-m3";
const SPLADE = "prithivida/Splade_PP_en_v1";
const NAVER_DOCUMENTS = "naver/efficient-splade-VI-BT-large-doc";
const NAVER_QUERIES = "naver/efficient-splade-VI-BT-large-query";
const UNKNOWN_ID = "00000000-0000-4000-8000-000000000000";

/** The weights of before, and those of now under the same identifiers. */
const FORMER = {
  [QWEN]: weights("tiny-qwen3-last", "former"),
  [BGE]: weights("tiny-xlmr-cls", "wide"),
  [SPLADE]: weights("tiny-bert-mlm-splade", "former"),
  [NAVER_DOCUMENTS]: weights("tiny-distilbert-mlm-splade-doc", "same"),
  [NAVER_QUERIES]: weights("tiny-bert-mlm-splade-query", "former"),
};
const LATER = {
  ...FORMER,
  [QWEN]: weights("tiny-qwen3-last/model-bf16", "later"),
  [BGE]: weights("tiny-bert-mean", "narrow"),
  [SPLADE]: weights("tiny-bert-mlm-splade-query", "later"),
  [NAVER_QUERIES]: weights("tiny-bert-mlm-splade", "later"),
};

let former: TestApp;
let later: TestApp;
let bare: TestApp;
beforeAll(async () => {
  former = await startTestApp({ embedder: embedder(FORMER) });
  const engine = (): TestApp["engine"] => former.engine;
  later = await startTestApp({ embedder: embedder(LATER), engine });
  bare = await startTestApp({ embedder: embedder({}), engine });
});
afterAll(async () => {
  await Promise.all([later.close(), bare.close()]);
  await former.close();
});

function weights(fixture: string, revision: string): { path: string; revision: string } {
  const path = fileURLToPath(new URL(`../../../inference/fixtures/models/${fixture}`, import.meta.url));
  return { path, revision };
}

function embedder(models: NonNullable<EmbedderOptions["models"]>): ReturnType<typeof createEmbedder> {
  return createEmbedder({ models, replicas: 1, batchTokens: 512 });
}

function dense(model: string, more: object = {}): object {
  return { embedding_function: { type: "known", name: "sheaf", config: { model, ...more } } };
}

function sparse(embeddingFunction: object): object {
  const config = { embedding_function: embeddingFunction, source_key: "#document" };
  return { keys: { words: { sparse_vector: { sparse_vector_index: { enabled: true, config } } } } };
}

const sheaf = (model: string): object => ({ type: "known", name: "sheaf", config: { model } });
const textSearch = (key?: string): object => ({ searches: [{ rank: { $knn: { query: "a text", key } } }] });

async function remembered(path: string): Promise<unknown> {
  const id = path.slice(COLLECTIONS.length + 1);
  const at = { tenant: "default_tenant", database: "default_database" };
  return (await former.engine.getCollection({ ...at, id })).models;
}

/** A collection whose first document the former server has embedded; one with a schema gets a dense vector as well. */
async function embedded(name: string, body: Readonly<Record<string, unknown>>): Promise<string> {
  const path = await former.makeCollection({ name, ...body });
  const vectors = "schema" in body ? { embeddings: [[1, 2]] } : {};
  const json = { ids: ["a"], documents: ["a text"], ...vectors };
  const added = await former.ask(`POST ${path}/add`, { json });
  expect(added).toMatchObject({ status: 201 });
  return path;
}

describe("a collection that was embedded with other weights", () => {
  it("refuses texts, naming both and the command, and takes vectors", async () => {
    const path = await embedded("dense", { configuration: dense(QWEN) });
    const upsert = { ids: ["b"], documents: ["another text"] };
    const operations = [{ operation: "upsert", payload: upsert }];
    for (const [route, json] of [
      ["upsert", upsert],
      ["search", textSearch()],
      ["conditional/commit", { operations }],
    ] as const) {
      const { status, body } = await later.ask(`POST ${path}/${route}`, { json });
      expect({ route, status }).toEqual({ route, status: 409 });
      const { error, message } = body as { error: string; message: string };
      expect(error).toBe("ChromaError");
      expect(message).toMatch(/\[dense\].*Qwen3-Embedding-0\.6B, revision former \(sha256:[0-9a-f]{12}\)/u);
      expect(message).toMatch(/this server has revision later \(sha256:[0-9a-f]{12}\)/u);
      expect(message).toContain("`sheaf collections accept-model dense`");
    }
    expect((await later.ask(`POST ${path}/get`, { json: {} })).body).toMatchObject({ ids: ["a"] });
    const got = await later.ask(`POST ${path}/get`, { json: { include: ["embeddings"] } });
    const [vector] = (got.body as { embeddings: number[][] }).embeddings;
    const found = await later.ask(`POST ${path}/search`, {
      json: { searches: [{ rank: { $knn: { query: vector } } }] },
    });
    expect(found.body).toMatchObject({ ids: [["a"]] });
    const given = { ids: ["c"], embeddings: [vector] };
    expect((await later.ask(`POST ${path}/add`, { json: given })).status).toBe(201);
    expect((await former.ask(`POST ${path}/search`, { json: textSearch() })).status).toBe(200);
  });

  it("takes them once the weights are accepted, and then refuses the former", async () => {
    const path = await embedded("accepted", { configuration: dense(QWEN) });
    const { body, status } = await later.ask(`POST ${path}/accept-model`);
    expect(status).toBe(200);
    const digest = expect.stringMatching(/^sha256:[0-9a-f]{64}$/u);
    expect(body).toEqual({
      accepted: [{ model: QWEN, revision: "later", digest, before: { revision: "former", digest } }],
    });
    const json = { ids: ["b"], documents: ["another text"] };
    expect((await later.ask(`POST ${path}/add`, { json })).status).toBe(201);
    expect((await later.ask(`POST ${path}/search`, { json: textSearch() })).status).toBe(200);
    expect((await former.ask(`POST ${path}/add`, { json })).status).toBe(409);
    expect((await later.ask(`POST ${path}/accept-model`)).body).toEqual({ accepted: [] });
  });

  it("says so also where the other weights make vectors of another length", async () => {
    const path = await embedded("narrow", { configuration: dense(BGE) });
    const add = await later.ask(`POST ${path}/add`, { json: { ids: ["b"], documents: ["text"] } });
    expect(add).toMatchObject({ status: 409, body: { message: expect.stringContaining("revision narrow") } });
  });

  it("refuses texts for a sparse index, and no others", async () => {
    const path = await embedded("sparse", { schema: sparse(sheaf(SPLADE)) });
    expect((await later.ask(`POST ${path}/search`, { json: textSearch("words") })).status).toBe(409);
    const add = { ids: ["b"], documents: ["text"], embeddings: [[1, 2]] };
    expect((await later.ask(`POST ${path}/add`, { json: add })).status).toBe(409);
    const given = { ...add, metadatas: [{ words: { "#type": "sparse_vector", indices: [1], values: [1] } }] };
    expect((await later.ask(`POST ${path}/add`, { json: given })).status).toBe(201);
  });

  it("minds the model for queries where that alone has changed", async () => {
    const path = await embedded("two-models", { schema: sparse(sheaf(NAVER_DOCUMENTS)) });
    expect(await remembered(path)).toMatchObject({
      [NAVER_DOCUMENTS]: { revision: "same" },
      [NAVER_QUERIES]: { revision: "former" },
    });
    const add = { ids: ["b"], documents: ["text"], embeddings: [[1, 2]] };
    expect((await later.ask(`POST ${path}/add`, { json: add })).status).toBe(201);
    const search = await later.ask(`POST ${path}/search`, { json: textSearch("words") });
    expect(search).toMatchObject({ status: 409, body: { message: expect.stringContaining(NAVER_QUERIES) } });
    const { body } = await later.ask(`POST ${path}/accept-model`);
    expect(body).toMatchObject({ accepted: [{ model: NAVER_QUERIES }] });
    expect((await later.ask(`POST ${path}/search`, { json: textSearch("words") })).status).toBe(200);
  });
});

describe("what a collection remembers", () => {
  it("comes from the first text that a write has embedded, and from nothing else", async () => {
    const path = await former.makeCollection({ name: "remembers", configuration: dense(QWEN) });
    await former.ask(`POST ${path}/search`, { json: textSearch() });
    const given = { ids: ["a"], embeddings: [Array.from({ length: 48 }, () => 0.5)], documents: ["text"] };
    expect((await former.ask(`POST ${path}/add`, { json: given })).status).toBe(201);
    await former.ask(`POST ${path}/search`, { json: textSearch() });
    const tooLong = { ids: ["b"], documents: ["word ".repeat(5_000)] };
    expect((await former.ask(`POST ${path}/add`, { json: tooLong })).status).toBe(413);
    expect(await remembered(path)).toEqual({});
    const operations = [{ operation: "add", payload: { ids: ["b"], documents: ["text"] } }];
    expect((await former.ask(`POST ${path}/conditional/commit`, { json: { operations } })).status).toBe(200);
    expect(await remembered(path)).toMatchObject({ [QWEN]: { identifier: QWEN, revision: "former" } });
    expect((await later.ask(`POST ${path}/add`, { json: { ids: ["c"], documents: ["t"] } })).status).toBe(
      409,
    );
  });

  it("is what the first of two writers has, and the other is refused", async () => {
    for (let round = 0; round < 5; round++) {
      const path = await former.makeCollection({ name: `race-${round}`, configuration: dense(QWEN) });
      const replies = await Promise.all(
        [former, later].map((server, index) =>
          server.ask(`POST ${path}/add`, { json: { ids: [`r${index}`], documents: ["text"] } }),
        ),
      );
      expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409]);
      const { body } = await former.ask(`POST ${path}/get`, { json: {} });
      expect((body as { ids: string[] }).ids).toHaveLength(1);
    }
  });

  it("holds BM25 too, which has no weights, by its revision", async () => {
    const path = await embedded("bm25", {
      schema: sparse({ type: "known", name: "chroma_bm25", config: {} }),
    });
    expect(await remembered(path)).toMatchObject({ "sheaf/bm25": { revision: "1" } });
    expect((await later.ask(`POST ${path}/search`, { json: textSearch("words") })).status).toBe(200);
  });

  it("goes with a fork", async () => {
    const path = await embedded("forked", { configuration: dense(QWEN) });
    const { body } = await later.ask(`POST ${path}/fork`, { json: { new_name: "branch" } });
    const branch = `${COLLECTIONS}/${(body as { id: string }).id}`;
    expect((await later.ask(`POST ${branch}/search`, { json: textSearch() })).status).toBe(409);
  });

  it("is shown in no reply about the collection", async () => {
    await embedded("shown", { configuration: dense(QWEN) });
    expect((await former.ask(`GET ${COLLECTIONS}/shown`)).body).not.toHaveProperty("models");
  });
});

describe("accepting", () => {
  it("needs the weights that it accepts", async () => {
    const path = await embedded("absent", { configuration: dense(QWEN) });
    expect(await bare.ask(`POST ${path}/accept-model`)).toMatchObject({
      status: 503,
      body: { message: expect.stringContaining(`sheaf models pull ${QWEN}`) },
    });
    expect((await bare.ask(`POST ${path}/search`, { json: textSearch() })).status).toBe(503);
  });

  it("leaves alone what the collection no longer embeds with", async () => {
    const path = await embedded("moved", { configuration: dense(QWEN) });
    const before = await remembered(path);
    const change = { new_configuration: dense(MINILM) };
    expect((await former.ask(`PUT ${path}`, { json: change })).status).toBe(200);
    expect((await later.ask(`POST ${path}/accept-model`)).body).toEqual({ accepted: [] });
    expect(await remembered(path)).toEqual(before);
  });

  it("names tenant and database in its command where they are not the default ones", async () => {
    await former.ask("POST /api/v2/tenants", { json: { name: "it's mine" } });
    const tenant = "/api/v2/tenants/it's%20mine";
    await former.ask(`POST ${tenant}/databases`, { json: { name: "notes" } });
    const collections = `${tenant}/databases/notes/collections`;
    const made = await former.ask(`POST ${collections}`, {
      json: { name: "own", configuration: dense(QWEN) },
    });
    const path = `${collections}/${(made.body as { id: string }).id}`;
    await former.ask(`POST ${path}/add`, { json: { ids: ["a"], documents: ["text"] } });
    const { body } = await later.ask(`POST ${path}/search`, { json: textSearch() });
    expect((body as { message: string }).message).toContain(
      String.raw`accept-model own --tenant 'it'\''s mine' --database notes`,
    );
  });

  it.each([
    [`${COLLECTIONS}/${UNKNOWN_ID}`, 404],
    [`${COLLECTIONS}/by-name`, 400],
  ])("%s is %i", async (path, status) => {
    expect((await former.ask(`POST ${path}/accept-model`)).status).toBe(status);
  });
});
