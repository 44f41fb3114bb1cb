/** The behaviour of stores that have one partition of a collection, whatever keeps its log. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Cancellation } from "@sheaf/protocol";
import { storedRecord } from "../record-store.suite.ts";
import type { StoreView } from "../record-store.ts";
import { StoredRecords } from "./changed/record-source.ts";
import { writeCheckpoint } from "./checkpoint-log.ts";
import { type CommitLog, partitionsOfLog } from "./commit-log.ts";
import { type LoggedStoreSuite, addOne, idsIn, newFolder, openLogged } from "./logged-record-store.suite.ts";
import type { LoggedRecordStore } from "./logged-record-store.ts";
import { partitionOf } from "./partition-of.ts";

const PARTITIONS = 3;
const IDS = Array.from({ length: 30 }, (_, i) => `r${i}`);

function isOf(partition: number): (id: string) => boolean {
  return (id) => partitionOf(id, PARTITIONS) === partition;
}

export function partitionViewSuite({ name, openLog }: LoggedStoreSuite): void {
  const opened = async (
    log: CommitLog,
    partition?: number,
    leastBytes = Infinity,
  ): Promise<LoggedRecordStore> => {
    const parts = { partitions: PARTITIONS, ...(partition !== undefined && { partition }) };
    const store = await openLogged(log, newFolder(), leastBytes, parts);
    onTestFinished(() => store.close());
    return store;
  };
  const openAll = (log: CommitLog): Promise<LoggedRecordStore[]> =>
    Promise.all(Array.from({ length: PARTITIONS }, (_, partition) => opened(log, partition)));

  describe(`views of partitions on one ${name}`, () => {
    it("have the records of their partitions, and all heads", async () => {
      const log = openLog();
      const whole = await opened(log);
      const before = await openAll(log);
      for (const id of IDS) await addOne(whole, id);
      const after = await openAll(log);
      for (const views of [before, after]) {
        for (const [partition, view] of views.entries()) {
          await view.refresh();
          expect(idsIn(view)).toEqual(IDS.filter(isOf(partition)));
          expect(view.head).toEqual(whole.head);
          expect(view.position).toEqual(whole.position);
          view.requireWhole(IDS.filter(isOf(partition)).length);
        }
      }
    });

    it("follow changes and removals of a batch, and know which operations made them", async () => {
      const log = openLog();
      const whole = await opened(log);
      for (const id of IDS) await addOne(whole, id);
      const views = await openAll(log);
      const { sequence } = whole.head;
      const half = IDS.length / 2;
      await whole.apply(({ head }: StoreView) => ({
        head: { ...head, sequence: head.sequence + IDS.length },
        puts: IDS.slice(half).map((id, i) =>
          storedRecord(half + i, { id, sequence: head.sequence + half + i + 1, document: "second" }),
        ),
        removes: IDS.slice(0, half).map((id, offset) => ({
          id,
          offset,
          sequence: head.sequence + offset + 1,
        })),
      }));
      for (const [partition, view] of views.entries()) {
        await view.refresh();
        const own = isOf(partition);
        expect(idsIn(view)).toEqual(IDS.slice(half).filter(own));
        expect(view.head).toEqual(whole.head);
        expect([...view.removedAfter(sequence)]).toEqual(IDS.slice(0, half).filter(own));
        const changes = view.changesAfter(sequence);
        const numbers = changes === "trimmed" ? [] : Array.from(changes, (change) => change.sequence);
        expect(numbers).toEqual(IDS.flatMap((id, i) => (own(id) ? [sequence + i + 1] : [])));
      }
    });

    /** All views are made anew of a checkpoint. Whose part of it each has asked for. */
    const beginAnew = async (log: CommitLog, whole: LoggedRecordStore): Promise<unknown[]> => {
      const asked = vi.spyOn(log, "read");
      for (const [partition, view] of (await openAll(log)).entries()) {
        expect(idsIn(view)).toEqual(idsIn(whole).filter(isOf(partition)));
        expect(view.head).toEqual(whole.head);
      }
      const { place } = (await log.checkpoint("c"))!;
      return asked.mock.calls.flatMap(([name_, , partition]) => (name_ === place ? [partition] : []));
    };

    it("begin with what a checkpoint has of them", async () => {
      const log = openLog();
      const whole = await opened(log, undefined, 1_000);
      for (const id of IDS) await addOne(whole, id);
      await addOne(whole, "last");
      // A view that is opened while the log is trimmed has to begin anew.
      await vi.waitFor(() => expect(whole.settled).toBe(true), { timeout: 30_000 });
      expect(new Set(await beginAnew(log, whole))).toEqual(new Set([0, 1, 2]));
      await log.copy("c", { collection: "copy", epoch: "other" });
      const { place } = (await log.checkpoint("copy"))!;
      expect(partitionsOfLog(place)).toBe(PARTITIONS);
    });

    it("read all of a checkpoint that was not divided, as programs of before have written it", async () => {
      const log = openLog();
      const whole = await opened(log);
      for (const id of IDS) await addOne(whole, id);
      const at = { collection: "c", state: whole.position };
      await writeCheckpoint({ log }, at, new StoredRecords(whole), new Cancellation());
      expect(await beginAnew(log, whole)).toEqual([undefined, undefined, undefined]);
    });

    it("are not written to: a plan needs all records", async () => {
      const log = openLog();
      const view = await opened(log, 1);
      expect(() => addOne(view, "a")).toThrow("a plan needs all records");
    });
  });
}
