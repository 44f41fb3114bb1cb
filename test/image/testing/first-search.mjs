/**
 * Asks the server at http://127.0.0.1:8000, with the key in the first argument: embeds a text, writes two records unless
 * they are there, searches by text, and prints what came as JSON. Plain JavaScript: it is run in another network.
 */
const url = "http://127.0.0.1:8000";
const [, , key] = process.argv;
const model = "sentence-transformers/all-MiniLM-L6-v2";
const collections = "/api/v2/tenants/default_tenant/databases/default_database/collections";

async function ask(path, body, headers = {}) {
  const response = await fetch(url + path, {
    method: "POST",
    headers: { "content-type": "application/json", "x-chroma-token": key, ...headers },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}

const embedding = { texts: ["ships"], instructions: "" };
const { embeddings } = await ask("/embed", embedding, { "x-service-embedding-model": model });
const { id } = await ask(collections, {
  name: "notes",
  get_or_create: true,
  configuration: { embedding_function: { type: "known", name: "sheaf", config: { model } } },
});
const { ids } = await ask(`${collections}/${id}/get`, {});
if (ids.length === 0)
  await ask(`${collections}/${id}/upsert`, {
    ids: ["1", "2"],
    documents: ["Ships wait for the tide.", "Bread rises."],
  });
const search = {
  rank: { $knn: { query: "boats in port" } },
  limit: { limit: 1 },
  select: { keys: ["#document"] },
};
const found = await ask(`${collections}/${id}/search`, { searches: [search] });
const unauthorized = await fetch(`${url}${collections}`);
console.log(
  JSON.stringify({
    dimensions: embeddings[0].length,
    recordsBefore: ids.length,
    found: found.documents[0],
    withoutKey: unauthorized.status,
  }),
);
