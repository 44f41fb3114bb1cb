import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { type CancelSignal, Cancellation } from "@sheaf/protocol";
import { MemoryFiles } from "../../storage/files/memory-files.ts";
import { createDiskSpace } from "../../storage/folder/disk-space.ts";
import { ownEnvironment } from "../../storage/lmdb/own-environment.ts";
import { type RecordSource, StoredRecords } from "../../storage/log/changed/record-source.ts";
import type { CheckpointFiles } from "../../storage/log/checkpoint-files.ts";
import { writeCheckpoint } from "../../storage/log/checkpoint-log.ts";
import type { RecordsCopy } from "../../storage/log/log-checkpoints.ts";
import type { LoggedRecordStore } from "../../storage/log/logged-record-store.ts";
import { addOne, idsIn } from "../../storage/log/logged-record-store.suite.ts";
import { MemoryCommitLog } from "../../storage/log/memory-commit-log.ts";
import { partitionOf } from "../../storage/log/partition-of.ts";
import { MemoryView, recordFilesIn } from "../../storage/log/testing/memory-view.ts";
import { NO_USAGE } from "../../storage/usage.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { CollectionLogs, type LogName, type ViewPlace } from "./collection-logs.ts";

const IDS = ["a", "b", "c", "d"];

/** Of a view of a log that needs no checkpoint. */
function emptyPlace(): ViewPlace {
  return {
    open: () => new MemoryView(),
    copy: () => expect.fail("no checkpoint is due"),
    onProblem: (error) => expect.fail(String(error)),
    remove: () => Promise.resolve(),
  };
}

it("has two collections at a time answer before their records are here, also of those that are opened at once", async () => {
  const [log, files] = [new MemoryCommitLog(), recordFilesIn(new MemoryFiles())];
  const logs = new CollectionLogs(log, { most: NO_USAGE, files, coldFromBytes: 1 });
  const open = async (id: string): Promise<LoggedRecordStore> => {
    const store = await logs.open({ id, epoch: "epoch", tenant: "tenant" }, emptyPlace());
    onTestFinished(() => store.close());
    return store;
  };
  for (const id of IDS) {
    const store = await open(id);
    await addOne(store, "one");
    const at = { collection: id, state: store.position };
    await writeCheckpoint({ log, files }, at, new StoredRecords(store), new Cancellation());
  }
  const opened = await Promise.all(IDS.map(open));
  const cold = opened.filter(({ isCold }) => isCold);
  expect(cold).toHaveLength(2);
  await cold[0]!.warming!.filled();
  await cold[1]!.close();
  expect((await Promise.all(IDS.map(open))).filter(({ isCold }) => isCold)).toHaveLength(2);
});

it("counts partitions that answer before their records are here by their share, and each has its own then", async () => {
  const [log, files] = [new MemoryCommitLog(), recordFilesIn(new MemoryFiles())];
  const logs = new CollectionLogs(log, { most: NO_USAGE, files, coldFromBytes: 0.1 });
  const partitions = 4;
  const open = async (id: string, partition?: number): Promise<LoggedRecordStore> => {
    const store = await logs.open(
      { id, epoch: "epoch", tenant: "tenant", partitions, ...(partition !== undefined && { partition }) },
      emptyPlace(),
    );
    onTestFinished(() => store.close());
    return store;
  };
  const opened: LoggedRecordStore[] = [];
  const ids = Array.from({ length: 20 }, (_, i) => `r${i}`);
  for (const id of ["a", "b", "c"]) {
    const whole = await open(id);
    for (const each of ids) await addOne(whole, each);
    const at = { collection: id, state: whole.position };
    await writeCheckpoint({ log, files }, at, new StoredRecords(whole, partitions), new Cancellation());
    await addOne(whole, "later");
    expect((await open(id)).isCold).toBe(false);
    opened.push(...(await Promise.all(Array.from({ length: partitions }, (_, n) => open(id, n)))));
  }
  expect(opened.map(({ isCold }) => isCold)).toEqual([...Array(8).fill(true), ...Array(4).fill(false)]);
  const found: string[] = [];
  for (const [n, store] of opened.slice(0, partitions).entries()) {
    await store.warming!.filled();
    const own = idsIn(store);
    expect(own.every((id) => partitionOf(id, partitions) === n)).toBe(true);
    found.push(...own);
  }
  expect(new Set(found)).toEqual(new Set([...ids, "later"]));
  expect(found).toHaveLength(ids.length + 1);
});

it("trims a log that nobody writes any more to what others have written last, and only once", async () => {
  const [log, files] = [new MemoryCommitLog(), recordFilesIn(new MemoryFiles())];
  let written = 0;
  const counting: CheckpointFiles = {
    ...files,
    write: (...asked) => {
      written++;
      return files.write(...asked);
    },
  };
  const open = (isLeft: boolean): Promise<LoggedRecordStore> => {
    const view = new MemoryView();
    const rules = { files: counting, checkpointAfterBytes: 1_000, checkpointQuietMs: 20 };
    const logs = new CollectionLogs(log, { most: NO_USAGE, ...rules, isLeft: () => isLeft });
    return logs.open(
      { id: "a", epoch: "epoch", tenant: "tenant" },
      {
        open: () => view,
        copy: async () => ({
          ...{ source: new StoredRecords(view), batch: view.batch },
          remove: () => Promise.resolve(),
        }),
        onProblem: (error) => expect.fail(String(error)),
        remove: () => Promise.resolve(),
      },
    );
  };
  const [one, two] = [await open(false), await open(true)];
  onTestFinished(() => one.close());
  for (const id of ["a", "b"]) await addOne(one, id);
  for (const id of ["c", "d"]) await addOne(two, id);
  await two.close();
  await expect.poll(async () => (await log.checkpoint("a"))?.sequence).toBe(4);
  const before = written;
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(written).toBe(before);
});

it("opens a few partitions of a tenant at a time, and those of another one beside them", async () => {
  const log = new MemoryCommitLog();
  const logs = new CollectionLogs(log, { most: NO_USAGE });
  for (const id of ["hog", "other"])
    await log.create(id, { epoch: "epoch", state: new Uint8Array(0), owner: id });
  let release = (): void => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  const heads = log.heads.bind(log);
  log.heads = async (asked) => {
    await held;
    return heads(asked);
  };
  const begun: string[] = [];
  const open = async (id: string, partition?: number): Promise<void> => {
    const part = partition === undefined ? {} : { partition, partitions: 64 };
    const store = await logs.open(
      { id, epoch: "epoch", tenant: id, ...part },
      {
        ...emptyPlace(),
        open: () => {
          begun.push(`${id} ${partition ?? "whole"}`);
          return new MemoryView();
        },
      },
    );
    await store.close();
  };
  const opened = Array.from({ length: 64 }, (_, partition) => open("hog", partition));
  opened.push(open("hog"), open("other", 0));
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(begun).toEqual(["hog 0", "hog 1", "hog 2", "hog 3", "hog whole", "other 0"]);
  release();
  await Promise.all(opened);
  expect(new Set(begun).size).toBe(66);
});

it("trims a tenant's log that nobody writes any more while those of another one wait for each other", async () => {
  const [log, files] = [new MemoryCommitLog(), recordFilesIn(new MemoryFiles())];
  const rules = { files, checkpointAfterBytes: 1_000, checkpointQuietMs: 20 };
  const logs = new CollectionLogs(log, { most: NO_USAGE, ...rules });
  let release = (): void => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  const stores: LoggedRecordStore[] = [];
  onTestFinished(async () => {
    release();
    await Promise.all(stores.map((store) => store.close()));
  });
  const ids = ["hog 1", "hog 2", "hog 3", "other"];
  for (const id of ids) {
    const [view, tenant] = [new MemoryView(), id.split(" ")[0]!];
    const copy: ViewPlace["copy"] = async (signal) => {
      const leave = await logs.turns.enter(tenant, signal);
      if (tenant === "hog") await held;
      return { source: new StoredRecords(view, 2), batch: view.batch, remove: async () => leave() };
    };
    const place = { ...emptyPlace(), open: () => view, copy };
    const store = await logs.open({ id, epoch: "epoch", tenant, partitions: 2 }, place);
    stores.push(store);
    // The others wait for their turns by then.
    if (id === "other") await new Promise((resolve) => setTimeout(resolve, 200));
    for (const each of IDS) await addOne(store, each);
  }
  await expect.poll(() => log.checkpoint("other")).not.toBeNull();
  for (const id of ids.slice(0, 3)) expect(await log.checkpoint(id)).toBeNull();
  release();
  for (const id of ids) await expect.poll(() => log.checkpoint(id)).toMatchObject({ sequence: IDS.length });
});

const DIVIDED = { id: "a", epoch: "epoch", tenant: "tenant", partitions: 2 };

/** Of a log whose records are not here, as index nodes and search nodes make them. */
async function copyOf(
  logs: CollectionLogs,
  name: LogName,
  options: { readonly until?: number; readonly signal: CancelSignal },
): Promise<RecordsCopy> {
  const scratch = { folder: join(temporaryFolder(), "scratch"), disk: createDiskSpace("/tmp") };
  const entries = ownEnvironment({ ...scratch, name: "changes" });
  const source = await logs.changed(name, { ...options, scratch, entries });
  return { source, batch: source.batch, count: source.count, remove: () => source.close() };
}

it("never trims a log to fewer records than it had at that state, whatever was written since", async () => {
  const [log, objects] = [new MemoryCommitLog(), recordFilesIn(new MemoryFiles())];
  let isLossy = true;
  const files: CheckpointFiles = {
    ...objects,
    write: (source, signal) => objects.write(isLossy ? withoutFirst(source) : source, signal),
  };
  const logs = new CollectionLogs(log, { most: NO_USAGE, files, checkpointAfterBytes: 1 });
  const store = await logs.open(DIVIDED, leftPlace());
  onTestFinished(() => store.close());
  for (const id of IDS) await addOne(store, id);
  const problems: string[] = [];
  const trim = (): Promise<void> =>
    logs.trim(DIVIDED, {
      copy: (until, signal) => copyOf(logs, DIVIDED, { until, signal }),
      onProblem: (error) => void problems.push(String(error)),
      ...{ isQuiet: false, signal: new Cancellation() },
      // Partitions take long, and writes go on.
      before: async () => void (await addOne(store, `later ${problems.length}`)),
    });
  await expect(trim()).rejects.toMatchObject({ code: "unavailable" });
  expect(problems).toEqual([expect.stringContaining("the log is not trimmed")]);
  expect(await log.checkpoint("a")).toBeNull();
  isLossy = false;
  await trim();
  expect(await log.checkpoint("a")).toMatchObject({ sequence: IDS.length + 1 });
});

function withoutFirst(source: RecordSource): RecordSource {
  let isFirst = true;
  const { head, partitions } = source;
  return {
    ...{ head, partitions },
    async *pieces(...asked) {
      for await (const piece of source.pieces(...asked)) {
        yield isFirst ? piece.slice(1) : piece;
        if (piece.length > 0) isFirst = false;
      }
    },
  };
}

/** Of a view that writes no checkpoint before it is asked again. */
function leftPlace(): ViewPlace {
  return {
    ...emptyPlace(),
    copy: () => Promise.reject(new Error("another one writes it")),
    onProblem: () => {},
  };
}
