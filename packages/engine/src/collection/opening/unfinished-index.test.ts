/** A collection that opened without its index has it made for whoever reads first, who may leave before it is there. */
import { Cancellation, parseCreateCollection } from "@sheaf/protocol";
import { expect, it } from "vitest";
import { DocumentMemory } from "../../index/document-memory.ts";
import { RegexPool } from "../../query/regex/regex-pool.ts";
import { createDiskSpace } from "../../storage/folder/disk-space.ts";
import { LmdbRecordStore } from "../../storage/lmdb/lmdb-record-store.ts";
import { ownEnvironment } from "../../storage/lmdb/own-environment.ts";
import { AT, record } from "../../testing/engine-fixtures.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { OpenCollection } from "../open-collection.ts";
import { OpeningProgress } from "./opening-progress.ts";

it("is closed after its index is there, and not before that to make room", async () => {
  const folder = temporaryFolder();
  const store = new LmdbRecordStore(
    ownEnvironment({ folder, name: "records", disk: createDiskSpace(folder) }),
  );
  const problems: unknown[] = [];
  const options = {
    ...{ store, schema: parseCreateCollection({ name: "notes" }, AT).schema, tells: true, dirty: false },
    ...{ progress: new OpeningProgress(() => {}), log: () => {}, tenant: "a tenant" },
    ...{ copyTo: async () => {}, usedBytes: () => 0, storedRecords: () => store.size },
    ...{ regexes: new RegexPool().forTenant("a tenant"), documents: new DocumentMemory() },
    ...{ advance: async () => {}, markDirty: async () => {}, onWhole: () => {} },
    onProblem: (error: unknown) => void problems.push(error),
  };
  const collection = await OpenCollection.open(options, new Cancellation(), true);
  await collection.write({ kind: "add", records: [record("a"), record("b")] });
  await expect.poll(() => collection.settled).toBe(true);
  const made: string[] = [];
  const indexing = collection.index()!.then(() => made.push("index"));
  expect(collection.settled).toBe(false);
  await collection.close();
  expect(made).toEqual(["index"]);
  await indexing;
  expect(problems).toEqual([]);
});
