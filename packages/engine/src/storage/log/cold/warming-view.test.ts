/** A store that answers before its records are on this disk, beside others that write the same log. */
import { beforeEach, expect, it, onTestFinished } from "vitest";
import { Cancellation } from "@sheaf/protocol";
import { DataAbsent } from "../../data-absent.ts";
import { MemoryFiles } from "../../files/memory-files.ts";
import { storedRecord } from "../../record-store.suite.ts";
import type { StoreChange } from "../../record-store.ts";
import { HistoryMemory, VersionHistory } from "../../version-history.ts";
import { followerOf } from "../../../collection/logged/follower.ts";
import { StoredRecords } from "../changed/record-source.ts";
import type { CheckpointFiles } from "../checkpoint-files.ts";
import { writeCheckpoint } from "../checkpoint-log.ts";
import { HeadReader } from "../head-reader.ts";
import { addOne } from "../logged-record-store.suite.ts";
import { LoggedRecordStore } from "../logged-record-store.ts";
import type { LoggedStoreOptions } from "../logged-store-options.ts";
import { MemoryCommitLog } from "../memory-commit-log.ts";
import { MemoryView, recordFilesIn } from "../testing/memory-view.ts";

const RECORDS = 300;
const [NEAR, FAR] = [5, 290];

let log: MemoryCommitLog;
let objects: MemoryFiles;
let files: CheckpointFiles;
beforeEach(() => {
  [log, objects] = [new MemoryCommitLog(), new MemoryFiles()];
  files = recordFilesIn(objects);
});

async function open(more: Partial<LoggedStoreOptions> = {}): Promise<LoggedRecordStore> {
  const quota = { owner: "tenant", most: { records: 0, bytes: 0 } };
  const places = { id: "c", epoch: "epoch", log, files, quota, heads: new HeadReader(log) };
  const store = await LoggedRecordStore.open({ ...places, view: new MemoryView(), ...more });
  onTestFinished(() => store.close());
  return store;
}

/** Its records are in a file. */
async function written(): Promise<LoggedRecordStore> {
  const store = await open();
  for (let i = 0; i < RECORDS; i++) await addOne(store, `r${i}`);
  await trim(store);
  return store;
}

async function trim(store: LoggedRecordStore): Promise<void> {
  const at = { collection: "c", state: store.position };
  expect(await writeCheckpoint({ log, files }, at, new StoredRecords(store), new Cancellation())).toBe(
    "done",
  );
}

function openCold(more: Partial<LoggedStoreOptions> = {}): Promise<LoggedRecordStore> {
  return open({ claimCold: () => () => {}, ...more });
}

/** One operation for each. */
function replace(store: LoggedRecordStore, ...offsets: readonly number[]): Promise<StoreChange> {
  return store.apply(({ head }) => ({
    head: { ...head, sequence: head.sequence + offsets.length },
    puts: offsets.map((offset, i) =>
      storedRecord(offset, { id: `r${offset}`, sequence: head.sequence + 1 + i }),
    ),
    removes: [],
  }));
}

it("keeps what others replace for reads that are open, and nothing of it any longer", async () => {
  const one = await written();
  const two = await openCold();
  const memory = new HistoryMemory();
  const versions = new VersionHistory(memory);
  two.follow(followerOf(versions, async () => {}));
  const ticket = await versions.open();
  await replace(one, NEAR, FAR);
  await two.refresh();
  expect(two.isCold).toBe(true);
  expect(ticket.find(NEAR, NEAR + 1)?.id).toBe("r5");
  expect(ticket.find(FAR, FAR + 1)?.id).toBe("r290");
  expect(memory.held).toBeGreaterThan(0);
  ticket.close();
  expect(memory.held).toBe(0);
  expect(two.broken).toBe(false);
});

it("follows others later where what they replace cannot be fetched now", async () => {
  const one = await written();
  let isAway = false;
  const away: CheckpointFiles = {
    ...files,
    open: async (name, options) => {
      const file = await files.open(name, options);
      const read = file.read.bind(file);
      file.read = (...asked) => (isAway ? Promise.reject(new Error("away")) : read(...asked));
      return file;
    },
  };
  const two = await openCold({ files: away });
  const memory = new HistoryMemory();
  const versions = new VersionHistory(memory);
  two.follow(followerOf(versions, async () => {}));
  const ticket = await versions.open();
  await replace(one, NEAR);
  isAway = true;
  await expect(two.refresh()).rejects.toThrow("away");
  isAway = false;
  await two.refresh();
  expect(two.head).toEqual(one.head);
  ticket.close();
  expect(memory.held).toBe(0);
  expect(two.broken).toBe(false);
});

it("holds up nobody while what others replace is fetched, and can be closed meanwhile", async () => {
  const one = await written();
  let isHanging = false;
  const hanging: CheckpointFiles = {
    ...files,
    open: async (name, options) => {
      const file = await files.open(name, options);
      const read = file.read.bind(file);
      file.read = (...asked) => (isHanging ? new Promise(() => {}) : read(...asked));
      return file;
    },
  };
  const two = await openCold({ files: hanging });
  const versions = new VersionHistory(new HistoryMemory());
  const ignored = async (): Promise<void> => {};
  two.follow(followerOf(versions, ignored));
  const ticket = await versions.open();
  await replace(one, NEAR);
  isHanging = true;
  const following = two.refresh().catch((error: unknown) => error);
  await new Promise((resolve) => setTimeout(resolve, 20));
  await two.close();
  expect(await following).toMatchObject({ message: "the collection is being closed" });
  ticket.close();
});

it("is opened anew, and nothing is wrong, where its log was trimmed beyond it meanwhile", async () => {
  const one = await written();
  const two = await openCold({ onProblem: (error) => expect.fail(String(error)) });
  await replace(one, NEAR, FAR);
  await trim(one);
  await expect(two.warming!.filled()).rejects.toThrow("read anew");
  expect(two.settled).toBe(true);
});

it("says so where its records cannot be had, and can be closed then", async () => {
  await written();
  const problems: unknown[] = [];
  let claims = 0;
  const claimCold = (): (() => void) => {
    claims++;
    return () => void claims--;
  };
  const two = await openCold({ claimCold, onProblem: (error) => void problems.push(error) });
  expect([two.isCold, two.settled, claims]).toEqual([true, false, 1]);
  for (const name of await objects.list()) await objects.remove(name);
  await expect(two.warming!.filled()).rejects.toMatchObject({ code: "collection_unavailable" });
  await expect.poll(() => problems).toHaveLength(1);
  expect([two.isCold, two.settled, claims]).toEqual([false, true, 0]);
});

it("has everything once it is warm, for those, too, who have waited", async () => {
  const one = await written();
  const two = await openCold();
  await replace(one, NEAR);
  await addOne(one, "new");
  expect(() => two.read(NEAR)).toThrow(DataAbsent);
  await two.refresh();
  await Promise.all([addOne(two, "own"), addOne(two, "another")]);
  expect(two.isCold).toBe(false);
  await one.refresh();
  expect([...two.scan(0)]).toEqual([...one.scan(0)]);
});
