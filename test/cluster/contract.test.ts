/** Chroma's own client, as it is tried everywhere, against servers whose data is in PostgreSQL. */
import { afterAll } from "vitest";
import {
  PASSWORD,
  PostgresServer,
} from "../../packages/engine/src/storage/postgres/testing/postgres-server.ts";
import { TEST_DATABASE } from "../e2e/testing/served-sheaf.ts";

const server = await PostgresServer.start();
process.env[TEST_DATABASE] = server.url;
process.env["PGPASSWORD"] = PASSWORD;
afterAll(async () => {
  delete process.env[TEST_DATABASE];
  delete process.env["PGPASSWORD"];
  await server.close();
});

await import("../compat/js-admin.test.ts");
await import("../compat/js-collections.test.ts");
await import("../compat/js-fork-and-transactions.test.ts");
await import("../compat/js-records.test.ts");
await import("../compat/js-search.test.ts");
