/**
 * Copies collections from a Chroma server to Sheaf. Safe to run again.
 *
 * What one server says of a page of records is what the other one takes, so the text goes over as it is: no number and no
 * gap in a column is read and written again.
 */
import { setTimeout as sleep } from "node:timers/promises";

const RECORDS = 1_000;
const NAMES = 100;
const ATTEMPTS = 10;
const INCLUDE = ["embeddings", "documents", "metadatas", "uris"];
const { env } = process;

// A line instead of a stack: most often the server is not there.
process.on("uncaughtException", ({ message, cause }) => {
  console.error(cause === undefined ? message : `${message}: ${cause.code ?? cause.message}`);
  process.exit(1);
});
const from = server("CHROMA_URL", 8001, env.CHROMA_TOKEN, env.CHROMA_TENANT);
const to = server("SHEAF_URL", 8000, env.SHEAF_KEY, env.SHEAF_TENANT);
const asked = process.argv.slice(2);
const seen = new Set();

const names = env.CHROMA_DATABASE ? [env.CHROMA_DATABASE] : await list(from, "");
for (const name of names) {
  const target = (env.CHROMA_DATABASE && env.SHEAF_DATABASE) || name;
  await send(to, "", JSON.stringify({ name: target }), [409]);
  await copyDatabase(name, target);
}
for (const name of asked) if (!seen.has(name)) report(`${name}: there is no such collection`, false);
if (asked.length === 0 && seen.size === 0) {
  const place = env.CHROMA_DATABASE ? `database ${env.CHROMA_DATABASE} of ` : "";
  report(`there are no collections in ${place}tenant ${from.tenant} of ${env.CHROMA_URL}`, false);
}

async function copyDatabase(name, target) {
  const [source, destination] = [`/${name}/collections`, `/${target}/collections`];
  for (const collection of await list(from, source)) {
    if (asked.length > 0 && !asked.includes(collection)) continue;
    seen.add(collection);
    try {
      await copy(collection, source, destination);
    } catch (error) {
      report(`${name}/${collection}: ${error.message}`, false);
    }
  }
}

async function copy(name, source, destination) {
  const described = await send(from, `${source}/${encodeURIComponent(name)}`);
  const there = JSON.parse(await send(to, destination, alike(described)));
  const [read, written] = [`${source}/${JSON.parse(described).id}`, `${destination}/${there.id}`];
  let size = RECORDS;
  for (let offset = 0; ;) {
    const page = await send(from, `${read}/get`, JSON.stringify({ limit: size, offset, include: INCLUDE }));
    const { length } = JSON.parse(page).ids;
    if (length === 0) break;
    const reply = await send(to, `${written}/upsert`, page, [413]).catch((error) => {
      throw new Error(`${recordOf(error.message, page, offset)}; the first ${offset} records were copied`);
    });
    if (reply === null && length === 1) throw new Error(`record ${offset} is too large`);
    // A page that is too large is read again in halves.
    if (reply === null) size = Math.ceil(length / 2);
    else offset += length;
  }
  const [before, after] = await Promise.all([send(from, `${read}/count`), send(to, `${written}/count`)]);
  report(
    `${source.slice(1, -"/collections".length)}/${name}: ${before} there, ${after} here`,
    before === after,
  );
}

/** The message of a refusal, which counts records from the first of its page, with the number and the id of the record. */
function recordOf(message, page, offset) {
  const [, place] = /\b(?:ids|embeddings|documents|metadatas|uris)\[(\d+)\]/u.exec(message) ?? [];
  if (place === undefined) return message;
  return `record ${offset + Number(place)} (${JSON.stringify(JSON.parse(page).ids[place])}): ${message}`;
}

/** The description of a collection as a request for one. Older servers have no schema. */
function alike(described) {
  const named = JSON.parse(described).schema
    ? described
    : described.replace('"configuration_json"', '"configuration"');
  return named.replace(/\}\s*$/u, ',"get_or_create":true}');
}

/** All names of a list, page by page. */
async function list(at, path) {
  const found = [];
  for (;;) {
    const page = JSON.parse(await send(at, `${path}?limit=${NAMES}&offset=${found.length}`));
    found.push(...page.map(({ name }) => name));
    if (page.length < NAMES) return found;
  }
}

function report(line, isRight) {
  console.log(line);
  if (!isRight) process.exitCode = 1;
}

/** `variable`: of its address. */
function server(variable, port, token, tenant = "default_tenant") {
  const url = env[variable];
  if (!url) throw new Error(`set ${variable} to the address of a server, such as http://127.0.0.1:${port}`);
  return {
    variable,
    tenant,
    databases: `${url}/api/v2/tenants/${encodeURIComponent(tenant)}/databases`,
    headers: token ? { "x-chroma-token": token } : {},
  };
}

/** The text of the answer; `null` for a status that is `expected`. */
async function send(at, path, body, expected = []) {
  const response = await request(at, path, body);
  const text = await response.text();
  if (expected.includes(response.status)) return null;
  if (!response.ok) throw new Error(`${at.variable} answered ${response.status} at ${path || "/"}: ${text}`);
  return text;
}

/** Sends again what a server was too busy for. */
async function request({ variable, databases, headers }, path, body) {
  for (let attempt = 1; ; attempt++) {
    const response = await fetch(`${databases}${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { ...headers, "content-type": "application/json" },
      body,
    }).catch(({ message, cause }) => {
      throw new Error(`${variable} (${env[variable]}): ${message}`, { cause });
    });
    const isBusy = response.status === 429 || response.status === 503;
    if (!isBusy || attempt === ATTEMPTS) return response;
    await response.arrayBuffer();
    await sleep(1_000 * Number(response.headers.get("retry-after") ?? 1));
  }
}
