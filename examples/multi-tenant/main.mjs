/** One tenant and one key per customer; neither can see the other's things. Can be run again. */
import { AdminClient, ChromaClient, ChromaForbiddenError, ChromaUniqueError } from "chromadb";

// A line instead of a stack: most often the server is not there.
process.on("uncaughtException", ({ message, cause }) => {
  console.error(cause === undefined ? message : `${message}: ${cause.code ?? cause.message}`);
  process.exit(1);
});
if (!process.env.SHEAF_URL)
  throw new Error("set SHEAF_URL to the address of a server, such as http://127.0.0.1:8000");
const { protocol, hostname, port } = new URL(process.env.SHEAF_URL);
const ssl = protocol === "https:";
const address = { host: hostname, port: Number(port) || (ssl ? 443 : 80), ssl };
const operator = { "x-chroma-token": process.env.SHEAF_KEY ?? "" };

/** Creates what a customer needs, and returns the customer's key, which the server shows only once. */
async function signUp(customer) {
  const admin = new AdminClient({ ...address, headers: operator });
  await unlessItExists(admin.createTenant({ name: customer }));
  await unlessItExists(admin.createDatabase({ name: "app", tenant: customer }));
  const response = await fetch(`${process.env.SHEAF_URL}/api/v2/keys`, {
    method: "POST",
    headers: { ...operator, "content-type": "application/json" },
    body: JSON.stringify({ name: `app of ${customer}`, tenant: customer, scopes: ["read", "write"] }),
  });
  const reply = await response.json();
  if (!response.ok) throw new Error(reply.message);
  return reply.key;
}

/** A second run finds tenant and database of the first one. */
async function unlessItExists(created) {
  try {
    await created;
  } catch (error) {
    if (!(error instanceof ChromaUniqueError)) throw error;
  }
}

function clientOf(tenant, key) {
  return new ChromaClient({ ...address, tenant, database: "app", headers: { "x-chroma-token": key } });
}

const identity = await fetch(`${process.env.SHEAF_URL}/api/v2/auth/identity`, { headers: operator });
if (!identity.ok) throw new Error((await identity.json()).message);
if ((await identity.json()).user_id === "")
  throw new Error("this example makes keys; the server runs with --auth off");

const keys = { acme: await signUp("acme"), globex: await signUp("globex") };

for (const customer of ["acme", "globex"]) {
  const orders = await clientOf(customer, keys[customer]).getOrCreateCollection({
    name: "orders",
    embeddingFunction: null,
  });
  await orders.upsert({ ids: ["1"], embeddings: [[1, 0]], documents: [`an order of ${customer}`] });
}

const own = await clientOf("acme", keys.acme).getCollection({ name: "orders" });
console.log(`acme sees: ${(await own.get()).documents.join(", ")}`);

const refused = await clientOf("globex", keys.acme)
  .getCollection({ name: "orders" })
  .then(
    () => null,
    (error) => error,
  );
if (!(refused instanceof ChromaForbiddenError)) throw refused ?? new Error("acme's key can read globex");
console.log("acme's key cannot read globex");
