/**
 * A cluster for trying out, all of it on this machine: PostgreSQL with a synchronous standby, an S3 server, three search nodes,
 * a node that embeds, one that makes indexes, and two gateways. They go on until Ctrl-C and leave nothing behind.
 */
import { once } from "node:events";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ObjectServer } from "../../packages/engine/src/storage/objects/testing/object-server.ts";
import { PostgresPair } from "../../packages/engine/src/storage/postgres/testing/postgres-pair.ts";
import { PASSWORD, urlOf } from "../../packages/engine/src/storage/postgres/testing/postgres-server.ts";
import { type RunningServer, startServer } from "../quickstart/server.ts";

const LISTENS = { SHEAF_NODE_LISTEN: "0" };
const NODES = [
  { SHEAF_ROLE: "search", ...LISTENS },
  { SHEAF_ROLE: "search", ...LISTENS },
  { SHEAF_ROLE: "search", ...LISTENS },
  { SHEAF_ROLE: "embed", ...LISTENS },
  { SHEAF_ROLE: "index" },
] as const;
const GATEWAYS = 2;
/** Until gateways have found the nodes. */
const FOUND_MS = 30_000;
const COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections";
/** Several of them share the memory of this machine. */
const SMALL = { SHEAF_INDEX_MEMORY: "0.5", SHEAF_UNSEALED_MEMORY: "0.5", SHEAF_MODEL_MEMORY: "0.5" };

process.exitCode = await main();

async function main(): Promise<number> {
  const ended = Promise.race([once(process, "SIGINT"), once(process, "SIGTERM"), once(process, "SIGHUP")]);
  const servers: RunningServer[] = [];
  let database: PostgresPair | null = null;
  let objects: ObjectServer | null = null;
  const folder = await mkdtemp(join(tmpdir(), "sheaf-cluster-"));
  try {
    console.log(`Starting PostgreSQL, an S3 server, ${NODES.length} nodes and ${GATEWAYS} gateways…`);
    database = await PostgresPair.start();
    objects = await ObjectServer.start();
    const key = randomBytes(24).toString("base64url");
    const env = { ...environmentOf(database, objects), SHEAF_ROOT_KEY: key };
    // One after the other, so that a signal finds those that run.
    for (const role of NODES) servers.push(await startServer({ ...env, ...role }));
    for (let i = 0; i < GATEWAYS; i++) servers.push(await startServer({ ...env, SHEAF_ROLE: "gateway" }));
    const gateways = servers.slice(NODES.length);
    await Promise.all(gateways.map((gateway) => untilItFindsNodes(gateway)));
    const settings = { ...env, SHEAF_KEY: key, SHEAF_URL: gateways[0]!.url };
    await writeFile(join(folder, "environment"), exportsOf(settings), { mode: 0o600 });
    console.log(description(servers, { key, folder }));
    await ended;
    console.log("Stopping…");
    return 0;
  } catch (error) {
    console.error(`cluster: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  } finally {
    // Gateways first: what is under way gets its answer.
    for (const some of [servers.splice(NODES.length), servers])
      await Promise.all(some.map((server) => server.stop()));
    await Promise.all([objects?.close(), database?.close()]);
    await rm(folder, { recursive: true, force: true });
    console.log("All of it is stopped, and the data is removed.");
  }
}

function environmentOf(database: PostgresPair, objects: ObjectServer): Record<string, string> {
  const { endpoint, bucket, prefix, region, accessKeyId, secretAccessKey } = objects.settings();
  return {
    ...SMALL,
    SHEAF_CLUSTER_SECRET: randomBytes(32).toString("hex"),
    SHEAF_DATABASE: urlOf(database.ports),
    PGPASSWORD: PASSWORD,
    SHEAF_OBJECTS: `s3://${bucket}/${prefix}`,
    AWS_ENDPOINT_URL_S3: endpoint,
    AWS_REGION: region,
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
  };
}

async function untilItFindsNodes({ client }: RunningServer): Promise<void> {
  for (const deadline = performance.now() + FOUND_MS; ; await sleep(50)) {
    try {
      await client.listTenants();
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
  }
}

/** For a shell. No value has a quote. */
function exportsOf(settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `export ${name}='${value}'\n`)
    .join("");
}

function description(
  servers: readonly RunningServer[],
  { key, folder }: { readonly key: string; readonly folder: string },
): string {
  const gateways = servers.slice(NODES.length);
  const [first, second] = gateways.map(({ url }) => url);
  const curl = `curl -s -H 'x-service-token: ${key}'`;
  const made = `-H 'content-type: application/json' -d '{"name": "notes", "get_or_create": true}'`;
  return [
    ...gateways.map(({ url }) => `A gateway: ${url}  (its console: ${url}/console/)`),
    ...NODES.map(({ SHEAF_ROLE: role }, i) => {
      const { url, pid } = servers[i]!;
      return `A node (${role}): ${url}/metrics  (with the key; process ${pid})`;
    }),
    `The key:   ${key}`,
    "What one gateway makes, the other has:",
    `  ${curl} ${made} ${first}${COLLECTIONS}`,
    `  ${curl} ${second}${COLLECTIONS}`,
    "To list the nodes and add one, in this clone, in another terminal (it ends once this cluster is stopped):",
    `  . ${folder}/environment && npx sheaf nodes`,
    `  npx sheaf serve --role search --node-listen 0 --port 0 --data ${folder}/node`,
    "Ctrl-C stops all of it and removes the data.",
  ].join("\n");
}
