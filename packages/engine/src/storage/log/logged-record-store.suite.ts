/** The behaviour of a store that follows a log, whatever keeps the log. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { SheafError } from "@sheaf/protocol";
import { createDiskSpace } from "../folder/disk-space.ts";
import { LmdbRecordStore } from "../lmdb/lmdb-record-store.ts";
import { ownEnvironment } from "../lmdb/own-environment.ts";
import { recordStoreSuite, storedRecord } from "../record-store.suite.ts";
import type { StoreChange, StoreHead, StoreView } from "../record-store.ts";
import type { Usage } from "../usage.ts";
import { StoredRecords } from "./changed/record-source.ts";
import { type CommitLog, type LogBatch, firstHead } from "./commit-log.ts";
import { HeadReader } from "./head-reader.ts";
import { LogCheckpoints, type RecordsCopy } from "./log-checkpoints.ts";
import { LoggedRecordStore } from "./logged-record-store.ts";
import type { LoggedStoreOptions } from "./logged-store-options.ts";

export interface LoggedStoreSuite {
  readonly name: string;
  /** With nothing in it. */
  readonly openLog: (maxBytes?: number) => CommitLog;
}

const UNBOUNDED = { records: 0, bytes: 0 };
const root = mkdtempSync(join(tmpdir(), "sheaf-logged-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let folders = 0;

export function newFolder(): string {
  return join(root, String(folders++));
}

function viewIn(folder: string): LmdbRecordStore {
  return new LmdbRecordStore(ownEnvironment({ folder, name: "view", disk: createDiskSpace(root) }));
}

interface OpenOptions extends Pick<LoggedStoreOptions, "callersWait" | "partition" | "partitions"> {
  readonly most?: Usage;
}

/** @param leastBytes Of a log that gets a checkpoint; none does if it is left out. */
export function openLogged(
  log: CommitLog,
  folder = newFolder(),
  leastBytes = Infinity,
  { most = UNBOUNDED, ...parts }: OpenOptions = {},
): Promise<LoggedRecordStore> {
  const view = viewIn(folder);
  const copy = async (): Promise<RecordsCopy> => {
    const to = newFolder();
    await view.copyTo(to);
    const copied = viewIn(to);
    const source = new StoredRecords(copied, parts.partitions);
    return { source, batch: copied.batch, remove: () => copied.close() };
  };
  const onProblem = (error: unknown): void => {
    throw error;
  };
  const common = { id: "c", epoch: "epoch", log };
  const checkpoints =
    leastBytes === Infinity ? undefined : new LogCheckpoints({ ...common, copy, leastBytes, onProblem });
  const quota = { owner: "tenant", most };
  const places = { ...common, ...parts, heads: new HeadReader(log), view, checkpoints, quota };
  return LoggedRecordStore.open(places).catch(async (error: unknown) => {
    await view.close();
    throw error;
  });
}

/** Adds a record behind what is there. */
export function addOne(store: LoggedRecordStore, id: string): Promise<StoreChange> {
  return store.apply(({ head }) => oneMore(head, id));
}

export function oneMore({ sequence, nextOffset }: StoreHead, id: string): StoreChange {
  return {
    head: { sequence: sequence + 1, nextOffset: nextOffset + 1, dimension: 2 },
    puts: [storedRecord(nextOffset, { id, sequence: sequence + 1 })],
    removes: [],
  };
}

export function idsIn(store: LoggedRecordStore): readonly string[] {
  return [...store.scan(0)].map(({ id }) => id);
}

export function loggedStoreSuite({ name, openLog }: LoggedStoreSuite): void {
  recordStoreSuite({ name, open: () => openLogged(openLog()) });

  describe(`several stores on one ${name}`, () => {
    const open = async (log: CommitLog, folder?: string): Promise<LoggedRecordStore> => {
      const store = await openLogged(log, folder);
      onTestFinished(() => store.close());
      return store;
    };

    it("have what another has written once they have asked", async () => {
      const log = openLog();
      const [one, two] = [await open(log), await open(log)];
      await addOne(one, "a");
      expect(idsIn(two)).toEqual([]);
      await two.refresh();
      expect(idsIn(two)).toEqual(["a"]);
      await addOne(two, "b");
      await one.refresh();
      expect(idsIn(one)).toEqual(["a", "b"]);
      expect(one.head).toEqual(two.head);
    });

    it("come to a state that they are told, and no further", async () => {
      const log = openLog();
      const [one, two] = [await open(log), await open(log)];
      for (const id of ["a", "b", "c"]) await addOne(one, id);
      await two.refresh(2);
      expect(idsIn(two)).toEqual(["a", "b"]);
      await two.refresh();
      expect(idsIn(two)).toEqual(["a", "b", "c"]);
    });

    it("plan again on what others have written, and lose and double nothing", async () => {
      const log = openLog();
      const stores = [await open(log), await open(log), await open(log)];
      const ids = stores.flatMap((_, i) => Array.from({ length: 8 }, (_unused, n) => `${i}:${n}`));
      await Promise.all(ids.map((id) => addOne(stores[Number(id[0])]!, id)));
      for (const store of stores) await store.refresh();
      const found = idsIn(stores[0]!);
      expect(found.toSorted()).toEqual(ids.toSorted());
      for (const store of stores) expect([...store.scan(0)]).toEqual([...stores[0]!.scan(0)]);
      for (const i of ["0", "1", "2"])
        expect(found.filter((id) => id.startsWith(i))).toEqual(ids.filter((id) => id.startsWith(i)));
      for (const store of stores) store.requireWhole(ids.length);
    });

    it("share an append where writes come while another is under way, each a batch of its own", async () => {
      const log = openLog();
      let appends = 0;
      const append = log.append.bind(log);
      log.append = (...given) => {
        appends += 1;
        return append(...given);
      };
      const [store, other] = [await open(log), await open(log)];
      const ids = Array.from({ length: 33 }, (_, i) => `r${i}`);
      await Promise.all(ids.map((id) => addOne(store, id)));
      expect(appends).toBeLessThanOrEqual(2);
      const batches: LogBatch[] = [];
      const found = await log.read("c", firstHead("epoch"));
      if (found !== "trimmed") for await (const batch of found) batches.push(batch);
      expect(new Set(batches.map(({ id }) => id)).size).toBe(ids.length);
      expect(batches.map(({ sequence }) => sequence)).toEqual(ids.map((_, i) => i + 1));
      await other.refresh();
      expect([...other.scan(0)]).toEqual([...store.scan(0)]);
      expect(await log.usageOf("tenant")).toEqual({ records: ids.length, bytes: other.kept?.bytes });
      expect(store.kept?.bytes).toBe(other.kept?.bytes);
    });

    it("tell who follows of each batch of another, before and after it is stored", async () => {
      const log = openLog();
      const [one, two] = [await open(log), await open(log)];
      const heard: string[] = [];
      const say = (when: string, view: StoreView, { puts: [put] }: StoreChange): void =>
        void heard.push(`${when} ${put!.id}: ${view.head.sequence}`);
      two.follow({
        *before(view, change) {
          yield;
          say("before", view, change);
        },
        after: async (change) => say("stored", two, change!),
      });
      await addOne(one, "a");
      await addOne(one, "b");
      await addOne(two, "own");
      expect(heard).toEqual(["before a: 0", "stored a: 1", "before b: 1", "stored b: 2"]);
    });

    it("wait for room before they store what another has written, and read it again where there was none", async () => {
      const log = openLog();
      const [one, two] = [await open(log), await open(log)];
      const waiting: { readonly goOn: () => void; readonly refuse: (error: Error) => void }[] = [];
      const room = (): Promise<void> => new Promise((goOn, refuse) => void waiting.push({ goOn, refuse }));
      two.follow({ room, *before() {}, after: async () => {} });
      await addOne(one, "a");
      const refused = two.refresh().catch((error: unknown) => error);
      await expect.poll(() => waiting.length).toBe(1);
      expect(idsIn(two)).toEqual([]);
      waiting.pop()!.refuse(new SheafError("unavailable", "there is no room"));
      expect(await refused).toMatchObject({ code: "unavailable" });
      await addOne(one, "b");
      const refreshing = two.refresh();
      for (const id of ["a", "b"]) {
        await expect.poll(() => waiting.length).toBe(1);
        expect(idsIn(two)).not.toContain(id);
        waiting.pop()!.goOn();
      }
      await refreshing;
      expect(idsIn(two)).toEqual(["a", "b"]);
    });

    it("read everything again where the disk is lost, and only the rest where it is not", async () => {
      const log = openLog();
      const one = await open(log);
      for (let i = 0; i < 100; i++) await addOne(one, `r${i}`);
      const folder = newFolder();
      const two = await openLogged(log, folder);
      expect([...two.scan(0)]).toEqual([...one.scan(0)]);
      await two.close();
      await addOne(one, "late");
      const again = await open(log, folder);
      expect(idsIn(again)).toEqual(idsIn(one));
      again.requireWhole(101);
    });

    it("keep the log small, begin with what was written down of it, and are void where they lack what was trimmed", async () => {
      const log = openLog();
      const slow = await open(log);
      const folder = newFolder();
      const old = await openLogged(log, folder);
      await old.close();
      const one = await openLogged(log, newFolder(), 4_000);
      onTestFinished(() => one.close());
      const checkpoint = async (): Promise<number> => (await log.checkpoint("c"))?.sequence ?? 0;
      for (let i = 0; i < 60; i++) await addOne(one, `r${i}`);
      await one.apply(({ head }) => ({
        head: { ...head, sequence: head.sequence + 1 },
        puts: [],
        removes: [{ id: "r7", offset: 7, sequence: head.sequence + 1 }],
      }));
      const removed = one.head.sequence;
      while ((await checkpoint()) < removed) {
        await addOne(one, `s${one.head.nextOffset}`);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      await addOne(one, "late");
      // One that is opened while a checkpoint is replaced would be opened again.
      await expect.poll(() => one.settled).toBe(true);
      const [head] = await log.heads(["c"]);
      expect(head!.bytes).toBeLessThan(20 * 4_000);
      const other = await openLogged(log, newFolder());
      onTestFinished(() => other.close());
      expect([...other.scan(0)]).toEqual([...one.scan(0)]);
      expect(other.head).toEqual(one.head);
      expect(idsIn(other)).not.toContain("r7");
      other.requireWhole(idsIn(one).length);
      await addOne(other, "more");
      await one.refresh();
      expect(idsIn(one)).toEqual(idsIn(other));
      // It would not know what was changed before.
      expect(other.changesAfter(0)).toBe("trimmed");
      await expect(slow.refresh()).rejects.toMatchObject({ name: "ViewVoid" });
      const again = await openLogged(log, folder);
      onTestFinished(() => again.close());
      expect(idsIn(again)).toEqual(idsIn(other));
    });

    it("do not trim the log to a checkpoint that lacks records", async () => {
      const log = openLog();
      const view = viewIn(newFolder());
      const copy = async (): Promise<RecordsCopy> => {
        const to = newFolder();
        await view.copyTo(to);
        const copied = viewIn(to);
        const lost = { id: "r3", offset: 3, sequence: 4 };
        await copied.follow(({ head }) => ({ head, puts: [], removes: [lost] }), copied.batch!);
        return { source: new StoredRecords(copied), batch: copied.batch, remove: () => copied.close() };
      };
      const problems: unknown[] = [];
      const common = { id: "c", epoch: "epoch", log };
      const checkpoints = new LogCheckpoints({
        ...{ ...common, copy, leastBytes: 1 },
        onProblem: (error) => problems.push(error),
      });
      const quota = { owner: "tenant", most: UNBOUNDED };
      const places = { ...common, heads: new HeadReader(log), view, checkpoints, quota };
      const one = await LoggedRecordStore.open(places);
      onTestFinished(() => one.close());
      for (let i = 0; i < 20; i++) await addOne(one, `r${i}`);
      await expect.poll(() => problems).not.toEqual([]);
      expect(String(problems[0])).toMatch(/this server has \d+ records .* by its log there are \d+/u);
      expect((await log.checkpoint("c"))?.sequence ?? 0).toBeLessThan(4);
      const other = await open(log);
      expect(idsIn(other)).toContain("r3");
    });

    it("do not begin with half of a checkpoint", async () => {
      const log = openLog();
      const one = await openLogged(log, newFolder(), 1);
      onTestFinished(() => one.close());
      for (let i = 0; i < 20; i++) await addOne(one, `r${i}`);
      await expect.poll(() => log.checkpoint("c")).not.toBeNull();
      // Another one that is being written would take the place of the one that is read.
      await expect.poll(() => one.settled).toBe(true);
      const view = viewIn(newFolder());
      const follow = view.follow.bind(view);
      let batches = 0;
      view.follow = (plan, batch) => {
        if (++batches === 2) throw new Error("killed");
        return follow(plan, batch);
      };
      const quota = { owner: "tenant", most: UNBOUNDED };
      const places = { id: "c", epoch: "epoch", log, heads: new HeadReader(log), view, quota };
      await expect(LoggedRecordStore.open(places)).rejects.toThrow("killed");
      await expect(LoggedRecordStore.open(places)).rejects.toMatchObject({ name: "ViewVoid" });
      await view.close();
    });

    it("are void where the log is another one now, whether they are open or not", async () => {
      const log = openLog();
      const folder = newFolder();
      const one = await openLogged(log, folder);
      await addOne(one, "a");
      expect(one.broken).toBe(false);
      // As after a restore to an earlier time, with the same sequence number again.
      await log.drop("c");
      await addOne(await open(log), "another");
      await expect(one.refresh()).rejects.toMatchObject({ code: "unavailable" });
      expect(one.broken).toBe(true);
      await expect(addOne(one, "b")).rejects.toMatchObject({ code: "unavailable" });
      await one.close();
      await expect(openLogged(log, folder)).rejects.toMatchObject({ name: "ViewVoid" });
    });

    it("are void where their records came from elsewhere", async () => {
      const folder = newFolder();
      const alone = viewIn(folder);
      const head = { sequence: 1, nextOffset: 1, dimension: 2 };
      await alone.apply(() => ({ head, puts: [storedRecord(0)], removes: [] }));
      await alone.close();
      await expect(openLogged(openLog(), folder)).rejects.toMatchObject({ name: "ViewVoid" });
    });

    it("are void once the log is gone, and answer 507 once it is full", async () => {
      const log = openLog(2_000);
      const store = await open(log);
      const fill = async (): Promise<void> => {
        for (let i = 0; i < 100; i++) await addOne(store, `r${i}`);
      };
      await expect(fill()).rejects.toMatchObject({ code: "storage_full" });
      const before = idsIn(store);
      await store.refresh();
      expect(idsIn(store)).toEqual(before);
      await log.drop("c");
      await expect(addOne(store, "a")).rejects.toMatchObject({ name: "ViewVoid" });
      await expect(store.refresh()).rejects.toMatchObject({ name: "ViewVoid" });
    });
  });
}
