/**
 * The embedding functions of `@chroma-core`, unchanged: the two that call a server through `CHROMA_EMBED_URL`, with the
 * identifiers they name mapped to tiny models, and BM25, which the client computes and the server has to agree with.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ChromaBm25EmbeddingFunction } from "@chroma-core/chroma-bm25";
import {
  ChromaCloudQwenEmbeddingFunction,
  ChromaCloudQwenEmbeddingModel,
} from "@chroma-core/chroma-cloud-qwen";
import { ChromaCloudSpladeEmbeddingFunction } from "@chroma-core/chroma-cloud-splade";
import {
  type ChromaClient,
  DOCUMENT_KEY,
  K,
  Knn,
  Schema,
  Search,
  type SparseVector,
  SparseVectorIndexConfig,
  VectorIndexConfig,
} from "chromadb";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT_KEY, ServedSheaf } from "../e2e/testing/served-sheaf.ts";
import { chromaClient } from "./testing/chroma.ts";
import { ask, DATABASE } from "./testing/wire.ts";

const FIXTURES = fileURLToPath(new URL("../../packages/inference/fixtures/models", import.meta.url));
const QWEN = ChromaCloudQwenEmbeddingModel.QWEN3_EMBEDDING_0p6B;
const TEXTS = ["a harbour at dawn", "bees on the heather"];

let folder: string;
let served: ServedSheaf;
let bare: ServedSheaf;
let client: ChromaClient;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sheaf-compat-"));
  const models = join(folder, "models.json");
  await writeFile(
    models,
    JSON.stringify({
      "Qwen/Qwen3-Embedding-0.6B": { path: join(FIXTURES, "tiny-qwen3-last") },
      "prithivida/Splade_PP_en_v1": { path: join(FIXTURES, "tiny-bert-mlm-splade") },
    }),
  );
  [served, bare] = await Promise.all([
    ServedSheaf.start({ args: ["--models", models] }),
    ServedSheaf.start({ env: { HF_HUB_OFFLINE: "1", HF_HOME: folder } }),
  ]);
  client = chromaClient(served);
  process.env["CHROMA_API_KEY"] = ROOT_KEY;
  process.env["CHROMA_EMBED_URL"] = served.url;
});

afterAll(async () => {
  delete process.env["CHROMA_API_KEY"];
  delete process.env["CHROMA_EMBED_URL"];
  await Promise.all([served.dispose(), bare.dispose(), rm(folder, { recursive: true })]);
});

const qwen = (task: string | null = null) => new ChromaCloudQwenEmbeddingFunction({ model: QWEN, task });
const splade = () => new ChromaCloudSpladeEmbeddingFunction();

describe("chroma-cloud-qwen", () => {
  it("generate gives one vector of unit length per text", async () => {
    const vectors = await qwen().generate(TEXTS);
    expect(vectors.map(({ length }) => length)).toEqual([48, 48]);
    for (const vector of vectors) expect(Math.hypot(...vector)).toBeCloseTo(1, 5);
    expect(await qwen().generate(TEXTS.slice(1))).toEqual([vectors[1]]);
  });

  it("generateForQueries puts the instruction of its task before the text", async () => {
    const [document] = await qwen("nl_to_code").generate(TEXTS);
    const [query] = await qwen("nl_to_code").generateForQueries(TEXTS);
    const [plain] = await qwen().generateForQueries(TEXTS);
    expect(plain).toEqual(document);
    expect(query).not.toEqual(document);
  });

  it("is stored with a collection, and the server embeds as the client does", async () => {
    const made = await client.createCollection({ name: "qwen", embeddingFunction: qwen("nl_to_code") });
    expect(made.configuration).toMatchObject({
      hnsw: { space: "cosine" },
      embedding_function: { type: "known", name: "chroma-cloud-qwen" },
    });
    await made.add({ ids: ["client"], documents: [TEXTS[0] ?? ""] });
    await ask(served, {
      path: `${DATABASE}/collections/${made.id}/add`,
      json: { ids: ["server"], documents: [TEXTS[0]] },
    });
    const { embeddings } = await made.get({ include: ["embeddings"] });
    expect(embeddings).toHaveLength(2);
    expect(embeddings[0]).toEqual(embeddings[1]);
    const again = await client.getCollection({ name: "qwen" });
    expect(again.embeddingFunction).toBeInstanceOf(ChromaCloudQwenEmbeddingFunction);
    const byClient = await again.query({ queryTexts: ["dawn"], include: ["distances"] });
    const byServer = await ask(served, {
      path: `${DATABASE}/collections/${made.id}/search`,
      json: { searches: [{ rank: { $knn: { query: "dawn" } }, select: { keys: ["#score"] } }] },
    });
    const { scores } = JSON.parse(byServer.text) as { scores: number[][] };
    expect(scores).toEqual(byClient.distances);
  });
});

describe("chroma-cloud-splade", () => {
  it("generate gives sparse vectors in ascending order of index", async () => {
    const vectors = await splade().generate(TEXTS);
    expect(vectors).toHaveLength(2);
    for (const { indices, values } of vectors) {
      expect(indices).toEqual(indices.toSorted((a, b) => a - b));
      expect(values).toHaveLength(indices.length);
    }
  });

  it("fills a sparse index beside the dense one", async () => {
    const schema = new Schema()
      .createIndex(new VectorIndexConfig({ space: "cosine", embeddingFunction: qwen() }))
      .createIndex(
        new SparseVectorIndexConfig({ sourceKey: DOCUMENT_KEY, embeddingFunction: splade() }),
        "splade",
      );
    const made = await client.createCollection({ name: "hybrid", schema });
    await made.add({ ids: ["dawn", "bees"], documents: TEXTS });
    const { metadatas } = await made.get({ ids: ["dawn"] });
    const [dawn, bees] = await splade().generate(TEXTS);
    expect(metadatas[0]?.["splade"]).toEqual(dawn);
    const rank = Knn({ query: TEXTS[1] ?? "", key: "splade" });
    const { ids, scores } = await made.search(new Search().rank(rank).select(K.SCORE));
    expect(ids[0]).toHaveLength(2);
    expect(scores[0]?.[ids[0]?.indexOf("bees") ?? -1]).toBeCloseTo(1 - dot(bees, bees), 4);
    expect(scores[0]?.[ids[0]?.indexOf("dawn") ?? -1]).toBeCloseTo(1 - dot(bees, dawn), 4);
  });
});

describe("chroma_bm25", () => {
  const bm25 = () => new ChromaBm25EmbeddingFunction();
  const schema = () =>
    new Schema().createIndex(
      new SparseVectorIndexConfig({ sourceKey: K.DOCUMENT, embeddingFunction: bm25(), bm25: true }),
      "words",
    );

  it("ranks alike whether client or server embeds", async () => {
    const made = await client.createCollection({ name: "words", schema: schema(), embeddingFunction: null });
    const embeddings = [[1], [2]];
    await made.add({ ids: ["client0", "client1"], embeddings, documents: TEXTS });
    await ask(served, {
      path: `${DATABASE}/collections/${made.id}/add`,
      json: { ids: ["server0", "server1"], embeddings, documents: TEXTS },
    });
    const { metadatas } = await made.get();
    const vectors = metadatas.map((metadata) => metadata?.["words"]);
    expect(vectors.slice(2)).toEqual(vectors.slice(0, 2));
    const found = await made.search(new Search().rank(Knn({ query: "heather bees", key: "words" })));
    expect(found.ids).toEqual([["client1", "server1"]]);
  });
});

describe("without weights", () => {
  it("the 503's text reaches the caller of splade", async () => {
    process.env["CHROMA_EMBED_URL"] = bare.url;
    const refused = splade().generate(TEXTS);
    process.env["CHROMA_EMBED_URL"] = served.url;
    await expect(refused).rejects.toThrow(/HTTP 503 .*prithivida\/Splade_PP_en_v1/u);
  });

  it("qwen says no more than that it failed, and the 503 carries the text", async () => {
    process.env["CHROMA_EMBED_URL"] = bare.url;
    const refused = qwen().generate(TEXTS);
    process.env["CHROMA_EMBED_URL"] = served.url;
    await expect(refused).rejects.toThrow(/Failed to generate embeddings/u);
    const answer = await ask(bare, {
      path: "/",
      json: { texts: TEXTS, instructions: "" },
      headers: { "x-chroma-embedding-model": QWEN },
    });
    expect(answer.status).toBe(503);
    expect(JSON.parse(answer.text)).toEqual({ error: expect.stringContaining(QWEN) });
  });
});

function dot(left: SparseVector | undefined, right: SparseVector | undefined): number {
  const weights = new Map(right?.indices.map((index, i) => [index, right.values[i] ?? 0]));
  return (left?.indices ?? []).reduce(
    (sum, index, i) => sum + (left?.values[i] ?? 0) * (weights.get(index) ?? 0),
    0,
  );
}
