/** Writes that share an append, on a log in memory. */
import { Cancellation, type CommitOperation, SheafError } from "@sheaf/protocol";
import * as fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { planOperations } from "../../collection/plan-write.ts";
import { MemoryRecordStore } from "../memory-record-store.ts";
import type { StoreChange, StoreView } from "../record-store.ts";
import { runSteps } from "../steps.ts";
import type { AppendOutcome, CommitLog, LogAppend } from "./commit-log.ts";
import { addOne, idsIn, newFolder, oneMore, openLogged } from "./logged-record-store.suite.ts";
import type { LoggedRecordStore } from "./logged-record-store.ts";
import { MemoryCommitLog } from "./memory-commit-log.ts";

/** Remembers what was appended, and gives outcomes that were asked for in place of its own. */
class WatchedLog extends MemoryCommitLog {
  readonly appended: number[] = [];
  readonly outcomes: ((make: () => Promise<AppendOutcome>) => Promise<AppendOutcome>)[] = [];

  override async append(...given: Parameters<CommitLog["append"]>): Promise<AppendOutcome> {
    const { batches }: LogAppend = given[2];
    this.appended.push(batches.length);
    const make = (): Promise<AppendOutcome> => super.append(...given);
    return (this.outcomes.shift() ?? ((made) => made()))(make);
  }
}

async function open(log: CommitLog, most = { records: 0, bytes: 0 }): Promise<LoggedRecordStore> {
  const store = await openLogged(log, newFolder(), Infinity, { most });
  onTestFinished(() => store.close());
  return store;
}

/** What became of each, in words. */
async function outcomesOf(writes: readonly Promise<unknown>[]): Promise<readonly string[]> {
  const settled = await Promise.allSettled(writes);
  return settled.map((one) => (one.status === "fulfilled" ? "done" : (one.reason as SheafError).code));
}

/** Removes a record, or fails where there is none. */
function removeOne(store: LoggedRecordStore, id: string): Promise<StoreChange> {
  return store.apply((view) => {
    const [offset, sequence] = [view.offsetOf(id), view.head.sequence + 1];
    if (offset === null) throw new SheafError("conditional_conflict", "gone");
    return { head: { ...view.head, sequence }, puts: [], removes: [{ id, offset, sequence }] };
  });
}

describe("a group of writes", () => {
  it("is planned as if each were alone", async () => {
    const ids = fc.constantFrom("a", "b", "doc#0", "doc#1", "doc#10", "doc#é");
    const put = fc.tuple(
      fc.constantFrom("add", "upsert", "update"),
      fc.array(ids, { minLength: 1, maxLength: 3 }),
    );
    const operation = fc.oneof(
      put.map(([kind, chosen]): CommitOperation => {
        const records = chosen.map((id) => ({
          id,
          embedding: Float32Array.of(1),
          document: null,
          uri: null,
          metadata: null,
        }));
        return { kind: kind as "add", records };
      }),
      fc.array(ids, { maxLength: 3 }).map((chosen): CommitOperation => ({ kind: "delete", ids: chosen })),
    );
    const asSeen = (view: StoreView): unknown => [
      ...[
        view.head,
        view.idsUnder("doc#", null, 2),
        view.idsUnder("doc#", "doc#1", 9),
        [...view.removedAfter(1)],
      ],
      ...["a", "doc#1"].map((id) => [view.offsetOf(id), view.find(id), runSteps(inSteps(view, id))]),
    ];
    const batches = fc.array(fc.array(operation, { minLength: 1, maxLength: 3 }), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(batches, fc.nat(12), async (history, alone) => {
        const [store, plain] = [await openLogged(new WatchedLog()), new MemoryRecordStore()];
        const [seen, expected]: [unknown[], unknown[]] = [[], []];
        const apply =
          (to: Pick<LoggedRecordStore, "apply">, list: unknown[]) => (operations: CommitOperation[]) =>
            to.apply((view) => {
              list.push(asSeen(view));
              return planOperations(view, operations);
            });
        for (const operations of history) await apply(plain, expected)(operations);
        for (const operations of history.slice(0, alone)) await apply(store, seen)(operations);
        await Promise.all(history.slice(alone).map(apply(store, seen)));
        expect(seen).toEqual(expected);
        expect([...store.scan(0)]).toEqual([...plain.scan(0)]);
        await store.close();
      }),
      { numRuns: 40 },
    );
  });

  it("lets those fail alone that cannot be planned, also where it is planned again", async () => {
    const log = new WatchedLog();
    const [one, two] = [await open(log), await open(log)];
    await addOne(one, "kept");
    await two.refresh();
    // Another takes it away while the group is under way: then its first one fails, and the second as before.
    log.outcomes.push(async (make) => {
      await removeOne(two, "kept");
      return make();
    });
    const group = [removeOne(one, "kept"), removeOne(one, "kept"), addOne(one, "a"), addOne(one, "b")];
    expect(await outcomesOf(group)).toEqual(["conditional_conflict", "conditional_conflict", "done", "done"]);
    expect(log.appended).toEqual([1, 3, 1, 2]);
    expect(idsIn(one)).toEqual(["a", "b"]);
  });

  it("is not told of a conflict with a write that was never made", async () => {
    const log = new WatchedLog();
    const one = await open(log);
    log.outcomes.push(() => Promise.reject(new SheafError("unavailable", "away")));
    await addOne(one, "a").catch(() => undefined);
    log.outcomes.push(() => Promise.reject(new SheafError("unavailable", "away")));
    const group = [addOne(one, "b"), removeOne(one, "a"), removeOne(one, "a")];
    expect(await outcomesOf(group)).toEqual(["unavailable", "unavailable", "unavailable"]);
    expect(idsIn(one)).toEqual([]);
  });

  it("lets those pass that fit the quota of their owner", async () => {
    const log = new WatchedLog();
    const one = await open(log, { records: 5, bytes: 0 });
    await addOne(one, "first");
    const group = ["a", "b", "c", "d", "e", "f"].map((id) => addOne(one, id));
    const expected = [...Array<string>(4).fill("done"), "unprocessable", "unprocessable"];
    expect(await outcomesOf(group)).toEqual(expected);
    expect(await log.usageOf("tenant")).toMatchObject({ records: 5 });
    // What makes room passes, and what needs it comes after it.
    expect(await outcomesOf([removeOne(one, "a"), addOne(one, "g"), addOne(one, "h")])).toEqual([
      ...["done", "done", "unprocessable"],
    ]);
    expect(idsIn(one)).toEqual(["first", "b", "c", "d", "g"]);
    expect(await log.usageOf("tenant")).toMatchObject({ records: 5, bytes: one.kept?.bytes });
  });

  it("lets those pass that have room in the log", async () => {
    const log = new WatchedLog(1_000);
    const one = await open(log);
    const group = Array.from({ length: 24 }, (_, i) => addOne(one, `r${i}`));
    const outcomes = await outcomesOf(group);
    const count = outcomes.indexOf("storage_full");
    expect(count).toBeGreaterThan(2);
    expect(outcomes.slice(count)).toEqual(Array<string>(24 - count).fill("storage_full"));
    expect(idsIn(one)).toEqual(Array.from({ length: count }, (_, i) => `r${i}`));
  });

  it("says that it may have been made where nobody knows, whatever comes next", async () => {
    const busy = new SheafError("unavailable", "the database is too busy");
    for (const next of [
      () => Promise.reject(busy),
      async () => "over" as const,
      async () => "full" as const,
    ]) {
      const log = new WatchedLog();
      const one = await open(log);
      let late: (() => Promise<AppendOutcome>) | null = null;
      const unknown = async (make: () => Promise<AppendOutcome>): Promise<AppendOutcome> => {
        late = make;
        return "unknown";
      };
      log.outcomes.push(unknown, next);
      const writes = [addOne(one, "a"), addOne(one, "b")];
      for (const write of writes)
        await expect(write).rejects.toMatchObject({
          code: "unavailable",
          message: "the database did not answer in time; the write may or may not have been made",
        });
      expect(await late!()).toBe("done");
      await one.refresh();
      expect(idsIn(one)).toEqual(["a", "b"]);
    }
  });

  it("stores nothing after a batch that the view could not store", async () => {
    const log = new WatchedLog();
    const one = await open(log);
    one.follow({ *before() {}, after: async () => {} });
    // A log can have an id of this length, and LMDB cannot.
    const group = ["a", "x".repeat(5_000), "b"].map((id) => addOne(one, id));
    expect((await Promise.allSettled(group)).map(({ status }) => status)).toEqual([
      "fulfilled",
      "rejected",
      "rejected",
    ]);
    expect(one.broken).toBe(true);
    expect(idsIn(one)).toEqual(["a"]);
    expect(one.head.sequence).toBe(1);
  });
});

describe("a write whose caller is gone", () => {
  const gone = new SheafError("cancelled", "the caller has gone");
  const addFor = (store: LoggedRecordStore, id: string, caller: Cancellation): Promise<StoreChange> =>
    store.apply(({ head }) => oneMore(head, id), undefined, caller);

  it("is not planned where it waits for others, which go on", async () => {
    const log = new WatchedLog();
    const one = await open(log);
    const caller = new Cancellation();
    const waiting: Promise<StoreChange>[] = [];
    log.outcomes.push((make) => {
      waiting.push(addFor(one, "late", caller), addOne(one, "b"));
      caller.abort(gone);
      return make();
    });
    await addOne(one, "a");
    expect(await outcomesOf(waiting)).toEqual(["cancelled", "done"]);
    expect(idsIn(one)).toEqual(["a", "b"]);
  });

  it("is not planned again on what others have written meanwhile", async () => {
    const log = new WatchedLog();
    const [one, two] = [await open(log), await open(log)];
    await addOne(one, "first");
    await two.refresh();
    const caller = new Cancellation();
    log.outcomes.push(async (make) => {
      await addOne(two, "between");
      caller.abort(gone);
      return make();
    });
    const lead = addFor(one, "late", caller);
    expect(await outcomesOf([lead])).toEqual(["cancelled"]);
    expect(await outcomesOf([addOne(one, "after")])).toEqual(["done"]);
    expect(idsIn(one)).toEqual(["first", "between", "after"]);
  });

  it("stays as it is while an append may be made that has it", async () => {
    const log = new WatchedLog();
    const one = await open(log);
    const caller = new Cancellation();
    log.outcomes.push(async (make) => {
      caller.abort(gone);
      await make();
      return "unknown";
    });
    expect(await outcomesOf([addFor(one, "a", caller)])).toEqual(["done"]);
    expect(idsIn(one)).toEqual(["a"]);
  });

  it("is known as such before each plan", async () => {
    const log = new WatchedLog();
    const caller = new Cancellation();
    let isInDoubt = false;
    const callersWait = async (): Promise<void> => {
      if (isInDoubt) caller.abort(gone);
    };
    const one = await openLogged(log, newFolder(), Infinity, { callersWait });
    onTestFinished(() => one.close());
    expect(await outcomesOf([addFor(one, "a", caller)])).toEqual(["done"]);
    isInDoubt = true;
    expect(await outcomesOf([addFor(one, "b", caller), addOne(one, "c")])).toEqual(["cancelled", "done"]);
    expect(idsIn(one)).toEqual(["a", "c"]);
  });
});

function* inSteps(view: StoreView, id: string): Generator<void, unknown> {
  const found = view.findInSteps(id);
  return typeof found === "object" && found !== null && "next" in found ? yield* found : found;
}
