/** A collection, some documents, a question: npm `chromadb` against Sheaf. Can be run again. */
import { ChromaClient } from "chromadb";
import { SheafEmbeddingFunction } from "./sheaf-embedding.mjs";

// A line instead of a stack: most often the server is not there.
process.on("uncaughtException", ({ message, cause }) => {
  console.error(cause === undefined ? message : `${message}: ${cause.code ?? cause.message}`);
  process.exit(1);
});
if (!process.env.SHEAF_URL)
  throw new Error("set SHEAF_URL to the address of a server, such as http://127.0.0.1:8000");
const { protocol, hostname, port } = new URL(process.env.SHEAF_URL);
const ssl = protocol === "https:";
const client = new ChromaClient({
  host: hostname,
  port: Number(port) || (ssl ? 443 : 80),
  ssl,
  headers: { "x-chroma-token": process.env.SHEAF_KEY },
});

const notes = await client.getOrCreateCollection({
  name: "quick-start",
  embeddingFunction: new SheafEmbeddingFunction(),
});

await notes.upsert({
  ids: ["tide", "bees", "bread"],
  documents: [
    "Ships wait in the harbour until the tide rises.",
    "Honey bees dance to tell each other where flowers are.",
    "Sourdough bread rises for a whole night.",
  ],
  metadatas: [{ topic: "sea" }, { topic: "nature" }, { topic: "food" }],
});

const found = await notes.query({ queryTexts: ["boats in port"], nResults: 2 });
for (const row of found.rows()[0]) console.log(`${row.distance.toFixed(3)}  ${row.document}`);

const filtered = await notes.query({
  queryTexts: ["what rises?"],
  nResults: 1,
  where: { topic: { $ne: "sea" } },
});
console.log(`not about the sea: ${filtered.ids[0][0]}`);
