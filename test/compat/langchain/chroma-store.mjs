/**
 * LangChain's `Chroma` of npm `@langchain/community`, unchanged, against a served Sheaf. `npm run compat:langchain`
 * installs what this folder's lockfile pins, starts the server and sets the variables read here.
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { before, describe, it } from "node:test";
import { Chroma } from "@langchain/community/vectorstores/chroma";
import { Document } from "@langchain/core/documents";
import { Embeddings } from "@langchain/core/embeddings";
import { ChromaClient } from "chromadb";

const { SHEAF_URL: url = "", SHEAF_KEY: key = "" } = process.env;
const { hostname, port } = new URL(url);
const clientParams = {
  host: hostname,
  port: Number(port),
  ssl: false,
  headers: { "x-chroma-token": key },
};
const WORDS = "red apple green pear cherry blue plum yellow melon".split(" ");
const TEXTS = ["red apple", "green pear", "red cherry", "blue plum"];
const METADATAS = TEXTS.map((text, n) => ({ n, color: text.split(" ")[0] }));

/** One dimension per word: texts are near when they share words. */
class WordEmbeddings extends Embeddings {
  async embedDocuments(texts) {
    return texts.map((text) => WORDS.map((word) => (text.split(" ").includes(word) ? 1 : 0)));
  }

  async embedQuery(text) {
    const [vector] = await this.embedDocuments([text]);
    return vector;
  }
}

/** What a program writes that lets Sheaf embed for LangChain. */
class SheafEmbeddings extends WordEmbeddings {
  async embedDocuments(texts) {
    const response = await fetch(`${url}/embed`, {
      method: "POST",
      headers: {
        "x-service-token": key,
        "x-service-embedding-model": "sentence-transformers/all-MiniLM-L6-v2",
      },
      body: JSON.stringify({ texts, instructions: "" }),
    });
    const body = await response.json();
    assert.equal(response.status, 200, body.error);
    return body.embeddings;
  }
}

const embeddings = new WordEmbeddings({});
const settings = (more = {}) => ({ collectionName: `langchain-${randomUUID()}`, clientParams, ...more });
const idsOf = (found) => found.map(({ id }) => id);

before(async () => {
  const { version } = JSON.parse(
    readFileSync(new URL("node_modules/chromadb/package.json", import.meta.url), "utf8"),
  );
  console.log(`The store uses chromadb ${version}.`);
  assert.equal((await Chroma.imports()).ChromaClient, ChromaClient);
});

describe("making a store", () => {
  it("fromTexts, with metadata for each text and with one for all", async () => {
    const store = await Chroma.fromTexts(TEXTS, METADATAS, embeddings, settings());
    const [found] = await store.similaritySearch("green pear", 1);
    assert.deepEqual([found.pageContent, found.metadata], ["green pear", { n: 1, color: "green" }]);
    const alike = await Chroma.fromTexts(TEXTS, { shelf: "fruit" }, embeddings, settings());
    const all = await alike.similaritySearch("red", 4);
    assert.deepEqual(new Set(all.map(({ metadata }) => metadata.shelf)), new Set(["fruit"]));
  });

  it("fromDocuments keeps the lines that a text comes from", async () => {
    const metadata = { source: "list.txt", loc: { lines: { from: 3, to: 4 } } };
    const documents = [new Document({ pageContent: "red apple", metadata })];
    const store = await Chroma.fromDocuments(documents, embeddings, settings());
    const [found] = await store.similaritySearch("red apple", 1);
    assert.deepEqual(found.metadata, metadata);
  });

  it("fromExistingCollection reads what another store wrote, and leaves it as it is", async () => {
    const collectionMetadata = { "hnsw:space": "cosine", owner: "first" };
    const first = await Chroma.fromTexts(TEXTS, METADATAS, embeddings, settings({ collectionMetadata }));
    const { collectionName } = first;
    const second = await Chroma.fromExistingCollection(embeddings, settings({ collectionName }));
    assert.equal((await second.similaritySearch("blue plum", 1))[0].metadata.n, 3);
    assert.deepEqual(second.collection.metadata, collectionMetadata);
    assert.equal(await second.collection.count(), 4);
  });

  it("with a client of one's own, and with an address and a cloud key", async () => {
    const index = new ChromaClient(clientParams);
    const own = await Chroma.fromTexts(TEXTS, METADATAS, embeddings, settings({ index }));
    const addressed = await Chroma.fromExistingCollection(embeddings, {
      collectionName: own.collectionName,
      url,
      chromaCloudAPIKey: key,
    });
    assert.equal((await addressed.similaritySearch("red cherry", 1))[0].metadata.n, 2);
  });

  it("without a key is refused with the server's reason", async () => {
    const store = Chroma.fromTexts(TEXTS, [], embeddings, { url });
    await assert.rejects(store, /Unauthorized|key is required/u);
  });
});

describe("using a store", () => {
  let store;

  before(async () => {
    store = new Chroma(embeddings, settings());
    const documents = TEXTS.map((pageContent, n) => new Document({ pageContent, metadata: METADATAS[n] }));
    assert.deepEqual(await store.addDocuments(documents, { ids: ["a", "b", "c", "d"] }), [
      "a",
      "b",
      "c",
      "d",
    ]);
  });

  it("similaritySearch", async () => {
    assert.deepEqual(idsOf(await store.similaritySearch("red apple", 2)), ["a", "c"]);
  });

  it("similaritySearchWithScore and similaritySearchVectorWithScore", async () => {
    const [[nearest, distance], [, next]] = await store.similaritySearchWithScore("red apple", 2);
    assert.deepEqual([nearest.id, distance, next], ["a", 0, 2]);
    const vector = await embeddings.embedQuery("blue plum");
    const [[found, score]] = await store.similaritySearchVectorWithScore(vector, 1);
    assert.deepEqual([found.id, score], ["d", 0]);
  });

  it("filters, of a call and of the store", async () => {
    for (const [filter, expected] of [
      [{ color: "red" }, ["a", "c"]],
      [{ n: { $gte: 2 } }, ["c", "d"]],
      [{ $and: [{ color: { $ne: "red" } }, { n: { $lt: 3 } }] }, ["b"]],
      [{ color: { $in: ["blue", "green"] } }, ["b", "d"]],
    ]) {
      assert.deepEqual(idsOf(await store.similaritySearch("red", 4, filter)).toSorted(), expected);
    }
    const { collectionName } = store;
    const narrow = new Chroma(embeddings, settings({ collectionName, filter: { color: "blue" } }));
    assert.deepEqual(idsOf(await narrow.similaritySearch("red apple", 4)), ["d"]);
  });

  it("asRetriever", async () => {
    const retriever = store.asRetriever({ k: 1, filter: { color: "red" } });
    assert.deepEqual(idsOf(await retriever.invoke("blue cherry")), ["c"]);
  });

  it("addVectors replaces what has the id, and makes ids where none are given", async () => {
    const own = await Chroma.fromTexts(TEXTS, METADATAS, embeddings, settings());
    const document = new Document({ pageContent: "yellow melon", metadata: { n: 9 } });
    const vectors = [await embeddings.embedQuery("yellow melon")];
    const [id] = await own.addVectors(vectors, [document]);
    assert.equal((await own.similaritySearch("yellow melon", 1))[0].id, id);
    const changed = new Document({ pageContent: "melon", metadata: { n: 10 } });
    assert.deepEqual(await own.addVectors(vectors, [changed], { ids: [id] }), [id]);
    const [found] = await own.similaritySearch("yellow melon", 1);
    assert.deepEqual([found.pageContent, found.metadata], ["melon", { n: 10 }]);
    assert.equal(await own.collection.count(), 5);
  });

  it("delete, by ids and by a filter", async () => {
    const own = await Chroma.fromTexts(TEXTS, METADATAS, embeddings, settings());
    const [apple] = await own.similaritySearch("red apple", 1);
    await own.delete({ ids: [apple.id] });
    await own.delete({ filter: { n: { $gt: 2 } } });
    const left = await own.similaritySearch("red", 4);
    assert.deepEqual(
      left.map(({ metadata }) => metadata.n).toSorted((a, b) => a - b),
      [1, 2],
    );
  });

  it("with Sheaf as the one that embeds", async () => {
    const texts = ["The harbour wakes at dawn", "Bees gather on the heather", "He repairs old clocks"];
    const own = await Chroma.fromTexts(texts, { kind: "line" }, new SheafEmbeddings({}), settings());
    const [found] = await own.similaritySearch("insects visiting flowers", 1);
    assert.equal(found.pageContent, texts[1]);
  });
});
