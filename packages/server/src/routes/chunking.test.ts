/** Documents that the server cuts, over HTTP: what is stored, read, changed, deleted, found and refused. */
import { Schema } from "chromadb";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Answer, COLLECTIONS, type TestApp, startTestApp } from "../testing/test-app.ts";

const FUNCTION = {
  type: "known",
  name: "sheaf",
  config: { model: "sentence-transformers/all-MiniLM-L6-v2" },
};
const BM25 = {
  enabled: true,
  config: {
    source_key: "#document",
    embedding_function: { type: "known", name: "sheaf", config: { model: "sheaf/bm25" } },
  },
};
const TITLES = { ...BM25, config: { ...BM25.config, source_key: "title" } };
const GUIDE =
  "# Tides\nShips leave at high tide.\n# Bread\nSourdough rests overnight.\n# Bees\nBees sleep in winter.\n";

interface Records {
  readonly ids: string[];
  readonly documents: string[];
  readonly metadatas: Record<string, unknown>[];
}

let test: TestApp;
let made = 0;
beforeAll(async () => {
  test = await startTestApp();
});
afterAll(() => test.close());

async function collection(chunking?: object): Promise<string> {
  const vector = { enabled: true, config: { space: "cosine", embedding_function: FUNCTION } };
  const keys = {
    "#embedding": { float_list: { vector_index: vector } },
    bm25: { sparse_vector: { sparse_vector_index: BM25 } },
    titles: { sparse_vector: { sparse_vector_index: TITLES } },
  };
  return test.makeCollection({ name: `cut-${made++}`, schema: { keys, ...(chunking && { chunking }) } });
}

async function ask<T = unknown>(path: string, json: object): Promise<T> {
  const { status, body, text } = await test.ask(`POST ${path}`, { json });
  if (status >= 300) throw new Error(`${path}: ${status} ${text}`);
  return body as T;
}

const refusal = async (path: string, json: object): Promise<readonly [number, string]> => {
  const { status, body }: Answer = await test.ask(`POST ${path}`, { json });
  return [status, (body as { message: string }).message];
};

/** The schema as replies show it. */
async function schemaOf(path: string): Promise<Record<string, unknown>> {
  const { body } = await test.ask(`GET ${COLLECTIONS}`);
  const listed = body as { id: string; schema: Record<string, unknown> }[];
  return listed.find(({ id }) => path.endsWith(id))!.schema;
}

const get = (path: string, json: object): Promise<Records> => ask<Records>(`${path}/get`, json);

describe("a collection whose schema says how documents are cut", () => {
  it("stores the chunks of a document, and acts on all of them by its id", async () => {
    const path = await collection({ by: "headings", size: 64 });
    await ask(`${path}/upsert`, {
      ids: ["guide", "note"],
      documents: [GUIDE, "Ferries."],
      metadatas: [{ title: "A guide" }, null],
    });
    const all = await get(path, { include: ["documents", "metadatas"] });
    expect(all.ids).toEqual(["guide#0", "guide#1", "guide#2", "note#0"]);
    for (const [i, { parent, start, end, title }] of all.metadatas.slice(0, 3).entries()) {
      expect([parent, title]).toEqual(["guide", "A guide"]);
      expect(GUIDE.slice(start as number, end as number)).toBe(all.documents[i]);
    }
    expect(all.documents.slice(0, 3).join("")).toBe(GUIDE);
    // A vector of the title, once for all chunks, and one of each chunk's own words.
    expect(all.metadatas[0]!["titles"]).toEqual(all.metadatas[2]!["titles"]);
    expect(all.metadatas[0]!["bm25"]).not.toEqual(all.metadatas[1]!["bm25"]);
    expect((await get(path, { ids: ["guide"] })).ids).toEqual(["guide#0", "guide#1", "guide#2"]);
    expect((await get(path, { ids: ["guide#1", "note", "nobody"] })).ids).toEqual(["guide#1", "note#0"]);
    expect((await get(path, { ids: ["guide"], where_document: { $contains: "Bees" } })).ids).toEqual([
      "guide#2",
    ]);
    expect(await ask(`${path}/count`, { ids: ["guide"] })).toBe(3);
    expect((await test.ask(`GET ${path}/count`)).body).toBe(4);
    await ask(`${path}/update`, { ids: ["guide", "nobody"], metadatas: [{ year: 1998 }, { year: 1 }] });
    expect((await get(path, { where: { year: 1998 } })).ids).toHaveLength(3);
    await ask(`${path}/upsert`, { ids: ["guide"], documents: ["# One\nonly this\n"] });
    expect(await get(path, { ids: ["guide"] })).toMatchObject({
      ids: ["guide#0"],
      metadatas: [{ parent: "guide", start: 0, end: 16, title: "A guide", year: 1998 }],
    });
    expect(await ask(`${path}/delete`, { ids: ["guide"] })).toEqual({ deleted: 1 });
    expect((await get(path, {})).ids).toEqual(["note#0"]);
  });

  it("finds documents by their best chunk, grouped by their parent", async () => {
    const path = await collection({ by: "headings" });
    await ask(`${path}/add`, {
      ids: ["guide", "sea"],
      documents: [GUIDE, "# Sea\nShips at sea.\n# Sails\nSails of ships.\n"],
    });
    const search = {
      rank: { $knn: { query: "ships" } },
      group_by: { keys: ["parent"], aggregate: { $min_k: { keys: ["#score"], k: 1 } } },
      select: { keys: ["parent", "start", "end", "#document"] },
      limit: { limit: 10 },
    };
    const { ids } = await ask<{ ids: string[][] }>(`${path}/search`, { searches: [search] });
    expect(new Set(ids[0]!.map((id) => id.split("#")[0]))).toEqual(new Set(["guide", "sea"]));
    expect(ids[0]).toContain("guide#0");
  });

  it("keeps its setting through a stock client's schema, and shows it", async () => {
    const path = await collection({ by: "sentences", size: 100, overlap: 20 });
    const schema = await schemaOf(path);
    expect(schema["chunking"]).toEqual({ by: "sentences", size: 100, overlap: 20 });
    const read = await Schema.deserializeFromJSON(schema, {} as never);
    expect(Object.keys(read?.keys ?? {})).toContain("bm25");
    await ask(`${path}/add`, { ids: ["x"], documents: ["A new key."], metadatas: [{ fresh: 1 }] });
    expect(await schemaOf(path)).toMatchObject({
      chunking: { by: "sentences", size: 100, overlap: 20 },
      keys: { fresh: {} },
    });
    const forked = await ask<{ id: string }>(`${path}/fork`, { new_name: `fork-${made++}` });
    expect((await get(`${COLLECTIONS}/${forked.id}`, { ids: ["x"] })).ids).toEqual(["x#0"]);
  });

  it("cuts in conditional commits, which see that a document has changed", async () => {
    const path = await collection({ by: "headings" });
    await ask(`${path}/add`, { ids: ["guide"], documents: [GUIDE] });
    const { read_token } = await ask<{ read_token: number }>(`${path}/conditional/get`, { ids: ["guide"] });
    const operations = [
      { operation: "upsert", payload: { ids: ["guide"], documents: ["# A\nb\n# C\nd\n"] } },
      { operation: "delete", payload: { ids: ["guide"] } },
      { operation: "add", payload: { ids: ["guide"], documents: ["last"] } },
    ];
    const commit = { read_token, read_ids: ["guide"], operations };
    await ask(`${path}/conditional/commit`, commit);
    expect((await get(path, {})).documents).toEqual(["last"]);
    expect(await refusal(`${path}/conditional/commit`, commit)).toEqual([
      409,
      expect.stringContaining('"guide"'),
    ]);
    const gone = await ask<{ read_token: number }>(`${path}/conditional/get`, { ids: ["guide"] });
    await ask(`${path}/delete`, { ids: ["guide"] });
    const late = { read_token: gone.read_token, read_ids: ["guide"], operations };
    expect((await refusal(`${path}/conditional/commit`, late))[0]).toBe(409);
  });

  it.each<[string, string, object, readonly [number, string]]>([
    [
      "an embedding",
      "upsert",
      { embeddings: [Array.from({ length: 384 }, () => 1)] },
      [400, "embeddings[0]: a document that is cut"],
    ],
    [
      "metadata of the server's",
      "upsert",
      { metadatas: [{ parent: "mine" }] },
      [400, "metadatas[0].parent: is the server's"],
    ],
    ["an id of a chunk", "add", { ids: ["x#0"] }, [400, "ids[0]: a document that is cut cannot"]],
    ["a long id", "add", { ids: ["x".repeat(508)] }, [400, "ids[0]: a document that is cut cannot have"]],
    ["no object", "add", { chunking: "tokens" }, [422, "chunking: "]],
    ["an unknown way", "add", { chunking: { by: "lines" } }, [422, "chunking.by: must be"]],
    ["an unknown member", "add", { chunking: { by: "tokens", length: 3 } }, [400, "chunking.length"]],
    [
      "too much overlap",
      "add",
      { chunking: { by: "tokens", size: 64, overlap: 33 } },
      [400, "chunking.overlap: must be at most half"],
    ],
    [
      "a size where nothing is cut",
      "add",
      { chunking: { by: "none", size: 64 } },
      [400, "chunking.size: says nothing"],
    ],
  ])("refuses %s", async (_, route, fields, [status, message]) => {
    const path = await collection({ by: "tokens" });
    const json = { ids: ["x"], documents: ["text"], ...fields };
    expect(await refusal(`${path}/${route}`, json)).toEqual([status, expect.stringContaining(message)]);
    expect((await test.ask(`GET ${path}/count`)).body).toBe(0);
  });

  it("refuses a schema that cuts what the server cannot embed", async () => {
    const schema = { chunking: { by: "tokens" } };
    const none = await test.ask(`POST ${COLLECTIONS}`, { json: { name: "none", schema } });
    expect([none.status, none.text]).toEqual([
      400,
      expect.stringContaining("schema.chunking: the server embeds"),
    ]);
    const name = `cut-${made++}`;
    const configuration = { embedding_function: { type: "known", name: "default", config: {} } };
    expect((await test.ask(`POST ${COLLECTIONS}`, { json: { name, schema, configuration } })).status).toBe(
      200,
    );
  });

  it("stores whole what says so, and records without a text", async () => {
    const path = await collection({ by: "tokens" });
    const embeddings = [Array.from({ length: 384 }, (_, i) => i)];
    await ask(`${path}/add`, { ids: ["vector"], embeddings });
    await ask(`${path}/add`, { ids: ["whole"], documents: ["text"], chunking: { by: "none" } });
    expect((await get(path, {})).ids).toEqual(["vector", "whole"]);
    await ask(`${path}/upsert`, { ids: ["whole"], documents: ["text"] });
    expect((await get(path, {})).ids.sort()).toEqual(["vector", "whole#0"]);
  });
});

describe("a write that says how documents are cut", () => {
  it("makes chunks in a collection that knew of none, which knows of them from then on", async () => {
    const path = await collection();
    const own = { ids: ["own"], documents: ["my own part"], metadatas: [{ parent: "guide", n: 1 }] };
    await ask(`${path}/add`, own);
    await ask(`${path}/add`, { ids: ["guide"], documents: [GUIDE], chunking: { by: "headings" } });
    expect((await get(path, { ids: ["guide"] })).ids).toEqual(["guide#0", "guide#1", "guide#2"]);
    expect(await schemaOf(path)).toMatchObject({ chunking: { by: "none" }, keys: { n: {} } });
    // What only looks like a part of the document is none.
    expect(await ask(`${path}/delete`, { ids: ["guide"] })).toEqual({ deleted: 3 });
    expect((await get(path, {})).ids).toEqual(["own"]);
    await ask(`${path}/add`, { ids: ["guide"], documents: [GUIDE] });
    expect((await get(path, {})).ids).toEqual(["own", "guide"]);
  });

  it("changes nothing for those who say nothing: a `parent` is metadata like any other", async () => {
    const path = await collection();
    await ask(`${path}/add`, {
      ids: ["a", "a#0"],
      documents: ["1", "2"],
      metadatas: [null, { parent: "a", start: 1 }],
    });
    expect((await get(path, { ids: ["a"] })).ids).toEqual(["a"]);
    expect(await ask(`${path}/delete`, { ids: ["a"] })).toEqual({ deleted: 1 });
    expect((await get(path, {})).ids).toEqual(["a#0"]);
    expect(await schemaOf(path)).not.toHaveProperty("chunking");
  });

  it("cuts what would be refused as too long, in chunks that the model takes", async () => {
    const path = await collection();
    const documents = ["The tide is high. ".repeat(400)];
    expect((await refusal(`${path}/add`, { ids: ["long"], documents }))[0]).toBe(413);
    await ask(`${path}/add`, {
      ids: ["long"],
      documents,
      chunking: { by: "sentences", size: 2048, overlap: 10 },
    });
    const { documents: chunks } = await get(path, { ids: ["long"] });
    expect(chunks.length).toBeGreaterThan(7);
    for (const chunk of chunks) expect(chunk.startsWith("The tide")).toBe(true);
  });

  it("does not embed updates of documents that are not there, and ignores an add of one that is", async () => {
    const path = await collection({ by: "headings" });
    await ask(`${path}/update`, { ids: ["nobody"], documents: [GUIDE] });
    expect((await test.ask(`GET ${path}/count`)).body).toBe(0);
    await ask(`${path}/add`, { ids: ["guide", "guide"], documents: [GUIDE, "again"] });
    await ask(`${path}/add`, { ids: ["guide"], documents: ["again"] });
    expect((await get(path, { ids: ["guide"] })).documents.join("")).toBe(GUIDE);
    await ask(`${path}/update`, { ids: ["guide"], documents: ["new"] });
    expect((await get(path, {})).documents).toEqual(["new"]);
  });
});
