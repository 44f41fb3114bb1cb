/**
 * Transformers.js behind a small HTTP server, as one would write it in an afternoon: the peer of `npm run bench:embed`.
 * One process, the library's default threads, requests one after the other, eight texts a run in order of arrival.
 */
import { createServer } from "node:http";
import { dirname } from "node:path";
import { AutoModel, AutoTokenizer, env } from "@huggingface/transformers";

const TEXTS_PER_RUN = 8;

const folder = process.argv[2];
env.allowRemoteModels = false;
env.localModelPath = dirname(folder);
const tokenizer = await AutoTokenizer.from_pretrained(folder);
const model = await AutoModel.from_pretrained(folder, { dtype: "fp32" });

let queue = Promise.resolve();

async function embed(texts) {
  const embeddings = [];
  let tokens = 0;
  for (let start = 0; start < texts.length; start += TEXTS_PER_RUN) {
    const inputs = tokenizer(texts.slice(start, start + TEXTS_PER_RUN), { padding: true, truncation: true });
    tokens += inputs.attention_mask.data.reduce((sum, value) => sum + Number(value), 0);
    const { sentence_embedding: pooled } = await model(inputs);
    embeddings.push(...pooled.tolist());
  }
  return { embeddings, num_tokens: tokens };
}

async function answer(request, response) {
  let body = "";
  for await (const chunk of request) body += chunk;
  const { texts } = JSON.parse(body);
  const turn = queue.then(() => embed(texts));
  queue = turn.then(
    () => undefined,
    () => undefined,
  );
  response.end(JSON.stringify(await turn));
}

const server = createServer((request, response) => {
  answer(request, response).catch((error) => response.writeHead(500).end(String(error)));
});

server.listen(0, "127.0.0.1", () => {
  process.send({ type: "listening", url: `http://127.0.0.1:${server.address().port}` });
});
process.on("disconnect", () => process.exit(0));
