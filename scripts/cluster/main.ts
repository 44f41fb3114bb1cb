/** Three servers on one database, all of it on this machine. They go on until Ctrl-C and leave nothing behind. */
import { once } from "node:events";
import { randomBytes } from "node:crypto";
import {
  PASSWORD,
  PostgresServer,
} from "../../packages/engine/src/storage/postgres/testing/postgres-server.ts";
import { type RunningServer, startServer } from "../quickstart/server.ts";

const SERVERS = 3;
const COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections";

process.exitCode = await main();

async function main(): Promise<number> {
  const ended = Promise.race([once(process, "SIGINT"), once(process, "SIGTERM"), once(process, "SIGHUP")]);
  const servers: RunningServer[] = [];
  let database: PostgresServer | null = null;
  try {
    console.log("Starting PostgreSQL and three servers…");
    database = await PostgresServer.start();
    const key = randomBytes(24).toString("base64url");
    const env = { SHEAF_ROOT_KEY: key, SHEAF_DATABASE: database.url, PGPASSWORD: PASSWORD };
    // One after the other, so that a signal finds those that run.
    for (let i = 0; i < SERVERS; i++) servers.push(await startServer(env));
    console.log(description(servers, key));
    await ended;
    return 0;
  } catch (error) {
    console.error(`cluster: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
    await database?.close();
  }
}

function description(servers: readonly RunningServer[], key: string): string {
  const [first, second] = servers.map(({ url }) => url);
  const curl = `curl -s -H 'x-service-token: ${key}'`;
  const made = `-H 'content-type: application/json' -d '{"name": "notes", "get_or_create": true}'`;
  return [
    ...servers.map(({ url }) => `A server: ${url}  (its console: ${url}/console/)`),
    `The key:  ${key}`,
    "What one server makes, the others have:",
    `  ${curl} ${made} ${first}${COLLECTIONS}`,
    `  ${curl} ${second}${COLLECTIONS}`,
    "Ctrl-C stops all of it and removes the data.",
  ].join("\n");
}
