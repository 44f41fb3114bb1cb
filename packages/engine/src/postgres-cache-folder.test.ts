/** The data folder of a server with a database is a cache, and nothing that is only in it can be lost. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { createLocalEngine } from "./create-local-engine.ts";
import { compactFolder } from "./doctor/compact-folder.ts";
import { examineFolder } from "./doctor/examine-folder.ts";
import { PostgresServer } from "./storage/postgres/testing/postgres-server.ts";
import { idsOf, makeCollection, record, write } from "./testing/engine-fixtures.ts";
import { temporaryFolder } from "./testing/temporary-folder.ts";

let server: PostgresServer;
beforeAll(async () => {
  server = await PostgresServer.start();
});
afterAll(() => server?.close());

it("is called a cache by the doctor, by compact and by a server without the database", async () => {
  const dataFolder = temporaryFolder();
  const database = server.settings();
  const engine = await createLocalEngine({ dataFolder, database });
  const ref = await makeCollection(engine);
  await write(engine, ref, "add", record("a"));
  const examine = () => examineFolder({ dataFolder, diskReserve: 0 });
  const note = { severity: "note", subject: dataFolder, problem: expect.stringContaining("the cache of") };
  const cache = { findings: [note], collections: 0, records: 0, usedBy: null, isCache: true };
  expect(await examine()).toMatchObject(cache);
  await engine.close();
  expect(await examine()).toMatchObject(cache);
  const isRefused = { code: "failed_precondition", message: expect.stringContaining("is the cache of") };
  await expect(compactFolder({ dataFolder })).rejects.toMatchObject(isRefused);
  await expect(createLocalEngine({ dataFolder })).rejects.toMatchObject(isRefused);

  const again = await createLocalEngine({ dataFolder, database });
  expect(await idsOf(again, ref)).toEqual(["a"]);
  await again.close();
});
