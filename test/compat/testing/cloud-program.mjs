/**
 * A program as its author wrote it for the hosted service: npm `chromadb`, unchanged, with nothing but the address and
 * the key of another server. Takes `{host, port, apiKey, boundKey}` as JSON in its first argument; `boundKey` reaches
 * one database only. Ends with 0 if everything was as it should be.
 */
import assert from "node:assert/strict";
import {
  AdminCloudClient,
  ChromaNotFoundError,
  ChromaUnauthorizedError,
  CloudClient,
  K,
  Knn,
  Search,
} from "chromadb";

const { host, port, apiKey, boundKey } = JSON.parse(process.argv[2] ?? "{}");
const address = { host, port };

const admin = new AdminCloudClient({ ...address, apiKey });
await admin.createTenant({ name: "cloudy" });
assert.equal(await admin.getTenant({ name: "cloudy" }), "cloudy");
await admin.createDatabase({ name: "skies", tenant: "cloudy" });
assert.equal((await admin.getDatabase({ name: "skies", tenant: "cloudy" })).name, "skies");
assert.deepEqual(
  (await admin.listDatabases({ tenant: "cloudy" })).map(({ name }) => name),
  ["skies"],
);

const client = new CloudClient({ ...address, apiKey, tenant: "cloudy", database: "skies" });
assert.ok((await client.heartbeat()) > 0);
assert.equal(await client.version(), "1.0.0");
const collection = await client.createCollection({ name: "clouds", embeddingFunction: null });
await collection.add({
  ids: ["cirrus", "cumulus"],
  embeddings: [
    [1, 0],
    [0, 1],
  ],
  documents: ["a high wisp", "a low heap"],
  metadatas: [{ height: 8 }, { height: 1 }],
});
assert.equal(await collection.count(), 2);
assert.deepEqual((await collection.get({ where: { height: { $lt: 5 } } })).ids, ["cumulus"]);
assert.deepEqual((await collection.query({ queryEmbeddings: [[1, 0.1]], nResults: 1 })).ids, [["cirrus"]]);
const search = new Search()
  .rank(Knn({ query: [0, 1] }))
  .limit(1)
  .select(K.DOCUMENT);
assert.deepEqual((await collection.search(search)).documents, [["a low heap"]]);
assert.equal((await collection.fork({ name: "more-clouds" })).tenant, "cloudy");
assert.equal(await client.countCollections(), 2);
await client.deleteCollection({ name: "clouds" });
await assert.rejects(client.getCollection({ name: "clouds" }), ChromaNotFoundError);

// The names of tenant and database, asked of the server by the key alone, which may come from the environment.
process.env.CHROMA_API_KEY = boundKey;
const bound = new CloudClient(address);
assert.equal(await bound.countCollections(), 0);
assert.deepEqual([bound.tenant, bound.database], ["default_tenant", "default_database"]);
const wrong = new CloudClient({ ...address, apiKey: "wrong", tenant: "cloudy", database: "skies" });
await assert.rejects(wrong.listCollections(), ChromaUnauthorizedError);

await admin.deleteDatabase({ name: "skies", tenant: "cloudy" });
assert.deepEqual(await admin.listDatabases({ tenant: "cloudy" }), []);
