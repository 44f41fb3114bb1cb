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
  "harbour.md": `# Tides
Ships leave the harbour at high tide, about every twelve hours and twenty-five minutes.

# Notices
The harbour master publishes a tide table each Monday. Code H-17 closes the outer basin.

# Ferries
Ferries do not wait for the tide: they draw less than two metres.`,
  "kitchen.md": `# Bread
Sourdough rests overnight at eight degrees before it is baked.

# Meals
The galley serves breakfast from six until nine.`,
  "engine.md": `# Departure
The diesel engine is started ten minutes before departure.

# Faults
Fault code E-42 means that the cooling water is too warm: stop the engine and call the harbour office.`,
};

const question = process.argv[2] ?? "What do I do about fault code E-42?";
const client = new SheafClient({ url: process.env.SHEAF_URL, key: process.env.SHEAF_KEY });
// The server cuts documents at their headings, and longer sections between sentences.
const handbook = await client.createCollection({
  name: "ships-handbook",
  schema: hybridSchema({ chunking: { by: "headings", size: 200 } }),
  getOrCreate: true,
});

// A second run replaces the chunks of each document, and leaves none of an older version.
await handbook.upsert({
  records: Object.entries(HANDBOOK).map(([id, document]) => ({ id, document })),
});

// Dense finds what means the same, BM25 finds what is written the same, such as the name of a code.
const hits = await handbook.search({
  rank: rrf({ ranks: [{ query: question }, { query: question, key: "bm25" }] }),
  groupBy: { keys: ["parent"], aggregate: { $min_k: { keys: ["#score"], k: 2 } } },
  limit: 3,
});

const sources = hits.map(
  ({ id, document }, n) => `[${n + 1}] (${id}) ${document.replace(/\s+/gu, " ").trim()}`,
);
console.log(`Answer the question from the sources alone, and name the sources by number.
If they do not hold the answer, say so.

Sources:
${sources.join("\n")}

Question: ${question}`);
