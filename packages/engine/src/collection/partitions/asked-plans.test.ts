/** Plans on what partitions say, on a log in memory, beside a store that has all records. */
import { type WriteKind, type WriteRecord, SheafError } from "@sheaf/protocol";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { HeadReader } from "../../storage/log/head-reader.ts";
import { AskedView } from "../../storage/log/asked/asked-view.ts";
import { KnownRecords } from "../../storage/log/asked/known-records.ts";
import type { AskPartition } from "../../storage/log/asked/records-question.ts";
import type { CommitLog } from "../../storage/log/commit-log.ts";
import { LoggedRecordStore } from "../../storage/log/logged-record-store.ts";
import { MemoryCommitLog } from "../../storage/log/memory-commit-log.ts";
import { partitionOf } from "../../storage/log/partition-of.ts";
import { newFolder, openLogged } from "../../storage/log/logged-record-store.suite.ts";
import type { StoreChange } from "../../storage/record-store.ts";
import { record } from "../../testing/engine-fixtures.ts";
import { planRemove, planWrite } from "../plan-write.ts";
import { planCommit } from "../planning/plan-commit.ts";
import { needsOfCommit, needsOfRemoval, needsOfWrite } from "../planning/plan-needs.ts";

const PARTITIONS = 3;
const KNOWN_BYTES = 32 * 1024;

let log: MemoryCommitLog;
let whole: LoggedRecordStore;
let partitions: readonly LoggedRecordStore[];
let known: KnownRecords;
/** Partitions that do not answer. */
let away: Set<number>;
let asked: { readonly partition: number; readonly ids: readonly string[] }[];

const ask: AskPartition = async (partition, question) => {
  if (away.has(partition)) throw new SheafError("unavailable", "away", { retryAfterSeconds: 1 });
  if (question.kind === "facts") asked.push({ partition, ids: question.ids });
  await partitions[partition]!.refresh();
  return partitions[partition]!.answer(question);
};

beforeEach(async () => {
  log = new MemoryCommitLog();
  known = new KnownRecords(KNOWN_BYTES);
  [away, asked] = [new Set(), []];
  whole = await openLogged(log, newFolder(), Infinity, { partitions: PARTITIONS });
  partitions = await Promise.all(
    Array.from({ length: PARTITIONS }, (_, partition) =>
      openLogged(log, newFolder(), Infinity, { partitions: PARTITIONS, partition }),
    ),
  );
  onTestFinished(async () => void (await Promise.all([whole, ...partitions].map((store) => store.close()))));
});

async function openAsked(on: CommitLog = log): Promise<LoggedRecordStore> {
  const view = await AskedView.open({ id: "c", tenant: "tenant", partitions: PARTITIONS, ask, known });
  const quota = { owner: "tenant", most: { records: 0, bytes: 0 } };
  const places = { id: "c", epoch: "epoch", log: on, heads: new HeadReader(on), view, quota };
  const store = await LoggedRecordStore.open({ ...places, partitions: PARTITIONS });
  onTestFinished(() => store.close());
  return store;
}

function write(
  store: LoggedRecordStore,
  kind: WriteKind,
  ...records: readonly WriteRecord[]
): Promise<StoreChange> {
  const request = { kind, records };
  return store.apply(
    (view) => planWrite(view, request),
    () => needsOfWrite(request, false),
  );
}

function remove(store: LoggedRecordStore, ...ids: readonly string[]): Promise<StoreChange> {
  return store.apply(
    (view) => planRemove(view, ids),
    () => needsOfRemoval(ids, false),
  );
}

/** A transaction that has read these ids at this state, and adds a record. */
function commitAfter(
  store: LoggedRecordStore,
  sequence: number,
  ids: readonly string[],
  added: string,
): Promise<StoreChange> {
  const observed = { ids, sequence };
  const operations = [{ kind: "add", records: [record(added)] }] as const;
  return store.apply(
    (view) => planCommit(view, { observed, operations, schema: {}, hasChunks: false }),
    () => needsOfCommit(observed, operations, false),
  );
}

/** What each record says, of a store that has them all. */
async function documents(): Promise<ReadonlyMap<string, string | null>> {
  await whole.refresh();
  return new Map([...whole.scan(0)].map(({ id, document }) => [id, document as string | null]));
}

/** An id of this partition. */
function idIn(partition: number): string {
  for (let i = 0; ; i++) if (partitionOf(`id ${i}`, PARTITIONS) === partition) return `id ${i}`;
}

describe("a store that asks for what its plans look at", () => {
  it("adds, changes and removes as one that has all records", async () => {
    const store = await openAsked();
    await write(store, "add", record("a", { document: "one" }), record("b"));
    await write(store, "add", record("a", { document: "ignored" }), record("c"));
    await write(store, "update", record("b", { embedding: null, document: "two" }), record("absent"));
    await write(store, "upsert", record("c", { embedding: null, document: "three" }), record("d"));
    const { removes } = await remove(store, "d", "absent");
    expect(removes.map(({ id }) => id)).toEqual(["d"]);
    expect(await documents()).toEqual(
      new Map([
        ["a", "one"],
        ["b", "two"],
        ["c", "three"],
      ]),
    );
    await expect(write(store, "upsert", record("e", { embedding: null }))).rejects.toMatchObject({
      status: 400,
    });
    expect(store.kept).toEqual(whole.kept);
  });

  it("keeps of far more records than fit a bounded amount, and changes each of them rightly", async () => {
    const store = await openAsked();
    const ids = Array.from({ length: 2_000 }, (_, i) => `r${i}`);
    for (let from = 0; from < ids.length; from += 500)
      await write(store, "add", ...ids.slice(from, from + 500).map((id) => record(id, { document: id })));
    expect(known.bytes).toBeLessThanOrEqual(KNOWN_BYTES);
    const changed = ids.filter((_, i) => i % 7 === 0);
    const bare = (id: string): WriteRecord =>
      record(id, { embedding: null, metadata: new Map([["seen", true]]) });
    await write(store, "update", ...changed.map(bare));
    expect(known.bytes).toBeLessThanOrEqual(KNOWN_BYTES);
    expect([...(await documents())]).toEqual(ids.map((id) => [id, id]));
    const seen = [...whole.scan(0)].filter(({ metadata }) => metadata?.get("seen") === true);
    expect(seen.map(({ id }) => id)).toEqual(changed);
  });

  it("asks nobody for what it has written last", async () => {
    const store = await openAsked();
    await write(store, "add", record("a"));
    asked.length = 0;
    await write(store, "update", record("a", { embedding: null, document: "again" }));
    await remove(store, "a");
    await write(store, "add", record("a", { document: "new" }));
    expect(asked).toEqual([]);
    expect(await documents()).toEqual(new Map([["a", "new"]]));
  });

  it("asks each partition once for several writes that come together", async () => {
    const store = await openAsked();
    const ids = Array.from({ length: 30 }, (_, i) => `r${i}`);
    await Promise.all(ids.map((id) => write(store, "add", record(id))));
    expect(asked).toHaveLength(PARTITIONS);
    expect([...(await documents()).keys()]).toEqual(ids);
  });

  it("plans again on what others have written since it asked", async () => {
    const stores = [await openAsked(), await openAsked(), whole];
    const rounds = Array.from({ length: 12 }, (_, i) => i);
    const counted = async (store: LoggedRecordStore, n: number): Promise<void> => {
      const key = `${n % 3} ${rounds.length}`;
      await write(store, "upsert", record("shared", { metadata: new Map([[`${n}`, 1]]) }), record(key));
    };
    await Promise.all(
      stores.map(async (store, writer) => {
        for (const round of rounds) await counted(store, writer + stores.length * round);
      }),
    );
    await whole.refresh();
    const keys = [...(whole.find("shared")?.metadata?.keys() ?? [])];
    expect(keys.map(Number).sort((a, b) => a - b)).toEqual(
      Array.from({ length: stores.length * rounds.length }, (_, i) => i),
    );
    await Promise.all(partitions.map((each) => each.refresh()));
    for (const { id, sequence } of whole.scan(0)) {
      const partition = partitions[partitionOf(id, PARTITIONS)]!;
      expect(partition.find(id)?.sequence).toBe(sequence);
    }
  });

  it("sees what another one changes and removes of what it knows", async () => {
    const store = await openAsked();
    await write(store, "add", record("a", { document: "one" }), record("b"));
    await write(whole, "update", record("a", { embedding: null, document: "two" }));
    await remove(whole, "b");
    await write(whole, "add", record("c"));
    await store.refresh();
    await write(store, "update", record("a", { embedding: null, metadata: new Map([["seen", true]]) }));
    await write(store, "add", record("b", { document: "new" }), record("c", { document: "ignored" }));
    expect([...(await documents())]).toEqual([
      ["a", "two"],
      ["c", null],
      ["b", "new"],
    ]);
  });

  it("tells the writers that need a partition which does not answer, and no others", async () => {
    const store = await openAsked();
    const [here, there] = [idIn(0), idIn(1)];
    away.add(1);
    const unavailable = { status: 503, retryAfterSeconds: 1 };
    await Promise.all([
      write(store, "add", record(here)),
      expect(write(store, "add", record(there))).rejects.toMatchObject(unavailable),
      expect(remove(store, there, here)).rejects.toMatchObject(unavailable),
      write(store, "add", record(idIn(2))),
    ]);
    away.clear();
    await write(store, "add", record(there));
    expect([...(await documents()).keys()].toSorted()).toEqual([here, idIn(2), there].toSorted());
  });

  it("begins at the state of the log, and not before it", async () => {
    await write(whole, "add", record("a", { document: "one" }));
    const store = await openAsked();
    expect(store.head).toEqual(whole.head);
    expect(store.position).toEqual(whole.position);
    await write(store, "upsert", record("a", { embedding: null, metadata: new Map([["k", 1]]) }));
    await whole.refresh();
    expect(whole.find("a")).toMatchObject({ offset: 0, document: "one" });
  });

  it("refuses what partitions say of another log, and asks again", async () => {
    const store = await openAsked();
    await write(store, "add", record("a"));
    const honest = ask;
    let isLying = true;
    const view = await AskedView.open({
      ...{ id: "c", tenant: "tenant", partitions: PARTITIONS, known },
      ask: async (...question) => {
        const answer = await honest(...question);
        if (!isLying || question[1].kind !== "facts") return answer;
        return { ...answer, state: { ...answer.state, batch: "of a log that was lost" } };
      },
    });
    const quota = { owner: "tenant", most: { records: 0, bytes: 0 } };
    const places = { id: "c", epoch: "epoch", log, heads: new HeadReader(log), view, quota };
    const misled = await LoggedRecordStore.open({ ...places, partitions: PARTITIONS });
    onTestFinished(() => misled.close());
    await expect(write(misled, "add", record("b"))).rejects.toMatchObject({ status: 503 });
    isLying = false;
    await write(misled, "add", record("b"));
    expect([...(await documents()).keys()]).toEqual(["a", "b"]);
  });
});

describe("a transaction of such a store", () => {
  it("hears of what was changed, removed and added since its read, also before the store was opened", async () => {
    await write(whole, "add", record("kept"), record("changed"), record("removed"));
    const { sequence } = whole.head;
    await write(whole, "update", record("changed", { embedding: null, document: "two" }));
    await remove(whole, "removed");
    await write(whole, "add", record("new"));
    const store = await openAsked();
    for (const id of ["changed", "removed", "new"])
      await expect(commitAfter(store, sequence, [id], "x")).rejects.toMatchObject({ status: 409 });
    await commitAfter(store, sequence, ["kept", "never there"], "x");
    // Since a later state, the same are as they were.
    await commitAfter(store, store.head.sequence, ["changed", "removed", "new"], "y");
    expect([...(await documents()).keys()]).toEqual(["kept", "changed", "new", "x", "y"]);
  });

  it("hears of what it has removed itself", async () => {
    const store = await openAsked();
    await write(store, "add", record("a"));
    const { sequence } = store.head;
    await remove(store, "a");
    const after = store.head.sequence;
    await expect(commitAfter(store, sequence, ["a"], "x")).rejects.toMatchObject({ status: 409 });
    await commitAfter(store, after, ["a"], "x");
  });
});
