/** One tenant and one key per customer; neither can see the other's things. */
import { AdminClient, ChromaClient } from "chromadb";

const { hostname, port } = new URL(process.env.SHEAF_URL);
const address = { host: hostname, port: Number(port), ssl: false };
const operator = { "x-chroma-token": process.env.SHEAF_KEY };

/** Makes what a customer needs, and gives the customer's key. It is shown this once. */
async function signUp(customer) {
  const admin = new AdminClient({ ...address, headers: operator });
  await admin.createTenant({ name: customer });
  await admin.createDatabase({ name: "app", tenant: customer });
  const response = await fetch(`${process.env.SHEAF_URL}/api/v2/keys`, {
    method: "POST",
    headers: { ...operator, "content-type": "application/json" },
    body: JSON.stringify({ name: `app of ${customer}`, tenant: customer, scopes: ["read", "write"] }),
  });
  const reply = await response.json();
  if (!response.ok) throw new Error(reply.message);
  return reply.key;
}

function clientOf(tenant, key) {
  return new ChromaClient({ ...address, tenant, database: "app", headers: { "x-chroma-token": key } });
}

const keys = { acme: await signUp("acme"), globex: await signUp("globex") };

for (const customer of ["acme", "globex"]) {
  const orders = await clientOf(customer, keys[customer]).createCollection({
    name: "orders",
    embeddingFunction: null,
  });
  await orders.add({ ids: ["1"], embeddings: [[1, 0]], documents: [`an order of ${customer}`] });
}

const own = await clientOf("acme", keys.acme).getCollection({ name: "orders" });
console.log(`acme sees: ${(await own.get()).documents.join(", ")}`);

try {
  await clientOf("globex", keys.acme).getCollection({ name: "orders" });
  console.log("acme sees the orders of globex");
} catch (error) {
  console.log(`acme at globex: ${error.name}`);
}
