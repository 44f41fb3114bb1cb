/** Copies collections from a Chroma server to Sheaf through the npm client. Safe to run again. */
import { ChromaClient } from "chromadb";

const PAGE = 1_000;
const { env } = process;

const from = connect({
  url: env.CHROMA_URL,
  token: env.CHROMA_TOKEN,
  tenant: env.CHROMA_TENANT,
  database: env.CHROMA_DATABASE,
});
const to = connect({
  url: env.SHEAF_URL,
  token: env.SHEAF_KEY,
  tenant: env.SHEAF_TENANT,
  database: env.SHEAF_DATABASE,
});

const asked = process.argv.slice(2);
const names = asked.length > 0 ? asked : (await from.client.listCollections()).map(({ name }) => name);
for (const name of names) await copy(name);

async function copy(name) {
  await createAlike(name);
  const source = await from.client.getCollection({ name });
  const target = await to.client.getCollection({ name });
  let copied = 0;
  for (;;) {
    const include = ["embeddings", "documents", "metadatas", "uris"];
    const page = await source.get({ limit: PAGE, offset: copied, include });
    for (const run of runs(page)) await target.upsert(run);
    copied += page.ids.length;
    if (page.ids.length < PAGE) break;
  }
  console.log(`${name}: ${copied} read, ${await target.count()} there`);
}

/** By hand, because the client would drop an embedding function that is not installed beside this program. */
async function createAlike(name) {
  const {
    metadata,
    schema,
    configuration_json: configuration,
  } = await ask(from, `/${encodeURIComponent(name)}`);
  const described = schema ? { schema } : { configuration };
  await ask(to, "", { name, metadata, ...described, get_or_create: true });
}

function connect({ url, token, tenant = "default_tenant", database = "default_database" }) {
  const { hostname, port, protocol } = new URL(url);
  const ssl = protocol === "https:";
  const headers = token ? { "x-chroma-token": token } : {};
  return {
    client: new ChromaClient({
      host: hostname,
      port: port === "" ? (ssl ? 443 : 80) : Number(port),
      ssl,
      tenant,
      database,
      headers,
    }),
    headers,
    collections: `${url}/api/v2/tenants/${tenant}/databases/${database}/collections`,
  };
}

async function ask({ collections, headers }, path, body) {
  const response = await fetch(`${collections}${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { ...headers, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const reply = await response.json();
  if (!response.ok) throw new Error(`${collections}${path}: ${reply.message}`);
  return reply;
}

/**
 * The page in runs of records that have the same columns: the client takes no gaps in a column, and a gap is not an
 * empty text.
 */
function runs(page) {
  const found = [];
  let last = "";
  for (const [i, id] of page.ids.entries()) {
    const record = {
      embeddings: page.embeddings[i],
      documents: page.documents[i],
      uris: page.uris[i],
      metadatas: page.metadatas[i],
    };
    const present = Object.entries(record).filter(([, value]) => value !== null);
    const shape = present.map(([column]) => column).join();
    if (shape !== last) {
      found.push(Object.fromEntries([["ids", []], ...present.map(([column]) => [column, []])]));
      last = shape;
    }
    const run = found.at(-1);
    run.ids.push(id);
    for (const [column, value] of present) run[column].push(value);
  }
  return found;
}
