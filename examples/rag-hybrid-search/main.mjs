/** Retrieval-augmented generation up to the prompt: chunks, hybrid search, sources. Can be run again. */
import { SheafClient, hybridSchema, rrf } from "@sheaf/client";

// A line instead of a stack: most often the server is not there.
process.on("uncaughtException", ({ message }) => {
  console.error(message);
  process.exit(1);
});
if (!process.env.SHEAF_URL)
  throw new Error("set SHEAF_URL to the address of a server, such as http://127.0.0.1:8000");

const HANDBOOK = {
  "harbour.md": `Ships leave the harbour at high tide, about every twelve hours and twenty-five minutes.

The harbour master publishes a tide table each Monday. Code H-17 closes the outer basin.

Ferries do not wait for the tide: they draw less than two metres.`,
  "kitchen.md": `Sourdough rests overnight at eight degrees before it is baked.

The galley serves breakfast from six until nine.`,
  "engine.md": `The diesel engine is started ten minutes before departure.

Fault code E-42 means that the cooling water is too warm: stop the engine and call the harbour office.`,
};

const question = process.argv[2] ?? "What do I do about fault code E-42?";
const client = new SheafClient({ url: process.env.SHEAF_URL, key: process.env.SHEAF_KEY });
const handbook = await client.createCollection({
  name: "handbook",
  schema: hybridSchema(),
  getOrCreate: true,
});

// A paragraph is a chunk. Ids are made from places, so that a second run changes chunks and does not double them.
const chunks = Object.entries(HANDBOOK).flatMap(([file, text]) =>
  text.split("\n\n").map((document, n) => ({ id: `${file}#${n}`, document, metadata: { file } })),
);
await handbook.upsert({ records: chunks });

// Dense finds what means the same, BM25 finds what is written the same, such as the name of a code.
const hits = await handbook.search({
  rank: rrf({ ranks: [{ query: question }, { query: question, key: "bm25" }] }),
  groupBy: { keys: ["file"], aggregate: { $min_k: { keys: ["#score"], k: 2 } } },
  limit: 3,
});

const sources = hits.map(({ id, document }, n) => `[${n + 1}] (${id}) ${document}`);
console.log(`Answer the question from the sources alone, and name the sources by number.
If they do not hold the answer, say so.

Sources:
${sources.join("\n")}

Question: ${question}`);
