/** What a store that asks partitions knows of records after it has followed batches. */
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { type CommitOperation, type WriteRecord, SheafError } from "@sheaf/protocol";
import { AskedView } from "../../storage/log/asked/asked-view.ts";
import { KnownRecords } from "../../storage/log/asked/known-records.ts";
import type { AskPartition } from "../../storage/log/asked/records-question.ts";
import { HeadReader } from "../../storage/log/head-reader.ts";
import { LoggedRecordStore } from "../../storage/log/logged-record-store.ts";
import { newFolder, openLogged } from "../../storage/log/logged-record-store.suite.ts";
import { MemoryCommitLog } from "../../storage/log/memory-commit-log.ts";
import type { StoreChange } from "../../storage/record-store.ts";
import { record } from "../../testing/engine-fixtures.ts";
import { planCommit } from "../planning/plan-commit.ts";
import { needsOfCommit } from "../planning/plan-needs.ts";

const PARTITIONS = 3;
const KINDS = ["add", "update", "upsert", "delete"] as const;

let log: MemoryCommitLog;
let whole: LoggedRecordStore;
let partitions: readonly LoggedRecordStore[];
let known: KnownRecords;

const ask: AskPartition = async (partition, question) => {
  await partitions[partition]!.refresh();
  return partitions[partition]!.answer(question);
};

function openPartitions(): Promise<readonly LoggedRecordStore[]> {
  return Promise.all(
    Array.from({ length: PARTITIONS }, async (_, partition) => {
      const store = await openLogged(log, newFolder(), Infinity, { partitions: PARTITIONS, partition });
      onTestFinished(() => store.close());
      return store;
    }),
  );
}

beforeEach(async () => {
  log = new MemoryCommitLog();
  known = new KnownRecords();
  whole = await openLogged(log, newFolder(), Infinity, { partitions: PARTITIONS });
  onTestFinished(() => whole.close());
  partitions = await openPartitions();
});

async function openAsked(asking = ask): Promise<LoggedRecordStore> {
  const view = await AskedView.open({
    id: "c",
    tenant: "tenant",
    partitions: PARTITIONS,
    ask: asking,
    known,
  });
  const quota = { owner: "tenant", most: { records: 0, bytes: 0 } };
  const places = { id: "c", epoch: "epoch", log, heads: new HeadReader(log), view, quota };
  const store = await LoggedRecordStore.open({ ...places, partitions: PARTITIONS });
  onTestFinished(() => store.close());
  return store;
}

interface Read {
  readonly ids: readonly string[];
  readonly sequence: number;
}

function commit(
  store: LoggedRecordStore,
  operations: readonly CommitOperation[],
  { observed = null, isCut = false }: { readonly observed?: Read | null; readonly isCut?: boolean } = {},
): Promise<StoreChange> {
  return store.apply(
    (view) => planCommit(view, { observed, operations, schema: {}, hasChunks: isCut }),
    () => needsOfCommit(observed, operations, isCut),
  );
}

function add(...records: readonly WriteRecord[]): CommitOperation {
  return { kind: "add", records };
}

function remove(...ids: readonly string[]): CommitOperation {
  return { kind: "delete", ids };
}

/** A document in so many chunks. */
function cut(id: string, count: number): WriteRecord {
  const chunks = Array.from({ length: count }, (_, i) => {
    const part = { start: i, end: i + 1, document: `part ${i} of ${count}` };
    return { ...part, embedding: Float32Array.of(1, 2), metadata: null };
  });
  return record(id, { embedding: null, chunks });
}

/** Numbers below a bound, the same for the same seed. */
function randomBelow(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
}

async function idsOfAll(): Promise<readonly string[]> {
  await whole.refresh();
  return [...whole.scan(0)].map(({ id }) => id);
}

describe("a store that asks for what its plans look at", () => {
  it.each(["itself", "another"])(
    "knows of a record that %s has removed and added in one batch",
    async (who) => {
      const store = await openAsked();
      await commit(store, [add(record("a"))]);
      const other = who === "itself" ? store : whole;
      if (who === "another") await whole.refresh();
      await commit(other, [remove("a"), add(record("a", { document: "again" }))]);
      await store.refresh();
      await commit(store, [add(record("a", { document: "ignored" }))]);
      expect(await idsOfAll()).toEqual(["a"]);
      expect(whole.find("a")?.document).toBe("again");
    },
  );

  it("does not take a removal that a partition has forgotten for none", async () => {
    await commit(whole, [add(record("a"), record("b"))]);
    const { sequence } = whole.head;
    await commit(whole, [remove("a")]);
    const trimming = await openLogged(log, newFolder(), 1, { partitions: PARTITIONS });
    onTestFinished(() => trimming.close());
    await trimming.checkpoint(true);
    expect((await log.checkpoint("c"))?.sequence).toBe(whole.head.sequence);
    partitions = await openPartitions();
    const store = await openAsked();
    const observed = { ids: ["a"], sequence };
    for (let attempt = 0; attempt < 3; attempt++)
      await expect(commit(store, [add(record("x"))], { observed })).rejects.toMatchObject({ status: 412 });
    await whole.refresh();
    expect(whole.head.sequence).toBe(sequence + 1);
  });

  it("does what an oracle does, whoever writes", async () => {
    const stores = [await openAsked(), await openAsked(), whole];
    const expected = new Map<string, string>();
    const below = randomBelow(22);
    for (let round = 0; round < 300; round++) {
      const store = stores[below(stores.length)]!;
      const operations = Array.from({ length: 1 + below(4) }, (_, i): CommitOperation => {
        const [kind, id] = [KINDS[below(KINDS.length)]!, `r${below(6)}`];
        if (kind === "delete") {
          expected.delete(id);
          return remove(id);
        }
        const document = `${round} ${i}`;
        if (kind === "upsert" || (kind === "update") === expected.has(id)) expected.set(id, document);
        return { kind, records: [record(id, { document })] };
      });
      await store.refresh();
      await commit(store, operations);
    }
    await whole.refresh();
    const found = [...whole.scan(0)].map(({ id, document }) => [id, String(document)] as const);
    expect(found).toHaveLength(expected.size);
    expect(new Map(found)).toEqual(expected);
    for (const { kept } of stores.slice(0, 2)) expect(kept?.records).toBeLessThanOrEqual(6);
    expect(whole.kept?.records).toBe(expected.size);
  });

  it("keeps nothing of what a plan has looked at once that is made", async () => {
    const store = await openAsked();
    await commit(store, [add(record("a"))]);
    await store.refresh();
    expect(() => store.find("a")).toThrow("is being read");
    await expect(
      commit(store, [{ kind: "upsert", records: [record("b", { embedding: null })] }]),
    ).rejects.toThrow();
    await store.refresh();
    expect(() => store.find("b")).toThrow("is being read");
  });
});

describe("stores that ask for large records", () => {
  /** Of a partition that says it has whatever it is asked for, and that each takes so many bytes. */
  const large = (bytes: number, onAsked: () => Promise<void>): AskPartition => {
    const value = new Uint8Array(bytes);
    return async (partition, question) => {
      const answer = await ask(partition, question);
      if (question.kind !== "facts") return answer;
      await onAsked();
      const one = { offsets: Float64Array.of(0), sizes: Float64Array.of(bytes), values: value };
      return { ...answer, ...one };
    };
  };
  const MIB = 2 ** 20;
  const change = (id: string): CommitOperation => ({ kind: "upsert", records: [record(id)] });

  it("have a bound together, and one for each write", async () => {
    let release = (): void => {};
    const until = new Promise<void>((resolve) => (release = resolve));
    let asked = 0;
    const stores = await Promise.all(
      [1, 2, 3].map(() =>
        openAsked(large(150 * MIB, () => (++asked === 3 ? Promise.resolve(release()) : until))),
      ),
    );
    const outcomes = await Promise.allSettled(stores.map((store) => commit(store, [change("a")])));
    const refused = outcomes.flatMap((one) => (one.status === "rejected" ? [one.reason as SheafError] : []));
    expect(refused.filter(({ status }) => status === 429).length).toBeGreaterThan(0);
    const [store] = stores;
    const operations = ["a", "b"].map(change);
    await expect(commit(store!, operations)).rejects.toMatchObject({ status: 413 });
    // None of it is held any more.
    expect(known.held).toBe(0);
  });
});

describe("documents in chunks of such a store", () => {
  it("are planned again with the chunks that others have written meanwhile", async () => {
    const isCut = true;
    await commit(whole, [add(cut("d", 1))], { isCut });
    let answered = 0;
    const store = await openAsked(async (partition, question) => {
      const answer = await ask(partition, question);
      if (question.kind === "chunks" && ++answered === PARTITIONS)
        await commit(whole, [{ kind: "upsert", records: [cut("d", 9)] }], { isCut });
      return answer;
    });
    await commit(store, [{ kind: "update", records: [cut("d", 2)] }], { isCut });
    expect((await idsOfAll()).toSorted()).toEqual(["d#0", "d#1"]);
  });

  it("are looked for by all operations behind the first that is cut", async () => {
    const store = await openAsked();
    await commit(store, [add(cut("d", 2)), add(record("e")), remove("d")]);
    expect(await idsOfAll()).toEqual(["e"]);
  });

  it("are as many as there are", async () => {
    const many = Array.from({ length: 3_000 }, (_, i) => record(`d#${i}`));
    await commit(whole, [add(...many)]);
    const store = await openAsked();
    await commit(store, [remove("d"), add(record("d"))], { isCut: true });
    expect(await idsOfAll()).toHaveLength(3_001);
  });

  it("are asked of a partition that does not answer once for all of a group", async () => {
    let asked = 0;
    const store = await openAsked(async (partition, question) => {
      if (partition === 1 && question.kind !== "offsets") {
        asked += 1;
        throw new SheafError("unavailable", "away", { retryAfterSeconds: 1 });
      }
      return ask(partition, question);
    });
    const operations = Array.from({ length: 20 }, (_, i) => add(cut(`d${i}`, 2)));
    await expect(commit(store, operations, { isCut: true })).rejects.toMatchObject({ status: 503 });
    expect(asked).toBe(1);
    await Promise.all(
      operations.map((operation) =>
        expect(commit(store, [operation], { isCut: true })).rejects.toMatchObject({ status: 503 }),
      ),
    );
    expect(asked).toBeLessThanOrEqual(3);
  });
});

describe("the opening of such a store", () => {
  it("does not wait for a partition that does not answer where another one does", async () => {
    const store = await openAsked((partition, question) =>
      partition === 0 ? new Promise(() => {}) : ask(partition, question),
    );
    expect(store.head.sequence).toBe(0);
  });

  it("tells why where none answers", async () => {
    const away = new SheafError("unavailable", "away", { retryAfterSeconds: 1 });
    await expect(openAsked(() => Promise.reject(away))).rejects.toBe(away);
  });
});
