/**
 * Run in a folder that has @sheaf/server: starts it with `npx`, embeds a text, searches by text, and prints what came as
 * JSON. Plain JavaScript, for nothing of the repository is there.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { get } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

const server = spawn("npx", ["sheaf", "serve", "--port", "0", "--data", process.argv[2]], {
  stdio: ["ignore", "pipe", "inherit"],
});
let output = "";
const key = process.env.SHEAF_ROOT_KEY;
const url = await new Promise((resolve, reject) => {
  server.stdout.on("data", (chunk) => {
    output += chunk;
    const found = /listens on (http:\S+)/.exec(output);
    if (found) resolve(found[1]);
  });
  server.once("exit", (code) => reject(new Error(`sheaf serve ended with ${code}: ${output}`)));
});

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

/** Whether anything beyond this machine can be reached: a name server counts. */
const hasNetwork = await new Promise((resolve) => {
  get("http://1.1.1.1", () => resolve(true)).once("error", (error) => resolve(error.code !== "ENETUNREACH"));
});
for (let ready = false; !ready;)
  ready = await fetch(`${url}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  );
const page = await fetch(`${url}/`, { headers: { accept: "text/html" } });
const pageText = await page.text();
const script = /src="(?<file>[^"]+)"/u.exec(pageText)?.groups?.file ?? "";
const consoleStatus = (await fetch(new URL(script, page.url))).status;
const model = "sentence-transformers/all-MiniLM-L6-v2";
const embedded = await ask(
  "/embed",
  { texts: ["ships"], instructions: "" },
  { "x-service-embedding-model": model },
);
const collections = "/api/v2/tenants/default_tenant/databases/default_database/collections";
const { id } = await ask(collections, {
  name: "notes",
  configuration: { embedding_function: { type: "known", name: "sheaf", config: { model } } },
});
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
server.kill("SIGTERM");
await once(server, "exit");
const answers = () =>
  fetch(`${url}/livez`).then(
    () => true,
    () => false,
  );
/** npx ends before the server, which ends because npx has. */
let stopped = false;
for (let attempts = 0; !stopped && attempts < 100; attempts++) {
  stopped = !(await answers());
  await sleep(100);
}
console.log(
  JSON.stringify({
    hasNetwork,
    dimensions: embedded.embeddings[0].length,
    found: found.documents[0],
    console: script === "" ? "no script" : consoleStatus,
    stopped,
  }),
);
