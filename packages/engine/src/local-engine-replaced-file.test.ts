/** A file that is replaced under a running engine: writes to it are refused, for they would be gone with the next start. */
import { copyFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createLocalEngine } from "./create-local-engine.ts";
import type { EngineLogEntry } from "./engine-log.ts";
import { sharedName } from "./storage/folder/shared-names.ts";
import { makeCollection, readAll, record, write } from "./testing/engine-fixtures.ts";
import { temporaryFolder } from "./testing/temporary-folder.ts";

it("refuses writes to a file that has another one in its place, by name, until it is back", async () => {
  const dataFolder = temporaryFolder();
  const logged: EngineLogEntry[] = [];
  const engine = await createLocalEngine({ dataFolder, log: (entry) => void logged.push(entry) });
  onTestFinished(() => engine.close());
  const ref = await makeCollection(engine);
  await write(engine, ref, "add", record("first"));
  const path = join(dataFolder, sharedName(ref.id), "data.mdb");
  copyFileSync(path, `${path}.older`);
  renameSync(path, `${path}.away`);
  renameSync(`${path}.older`, path);
  const refused = write(engine, ref, "add", record("second"));
  await expect(refused).rejects.toMatchObject({ code: "collection_unavailable" });
  expect(logged.map(({ error }) => error)).toContainEqual(
    expect.stringContaining(`${sharedName(ref.id)}: its data.mdb was replaced while it was open`),
  );
  renameSync(`${path}.away`, path);
  await write(engine, ref, "add", record("third"));
  expect((await readAll(engine, ref)).map(({ id }) => id)).toEqual(["first", "third"]);
});
