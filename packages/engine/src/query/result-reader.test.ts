/** What a read hands out in batches is one state, however the collection changes between them. */
import type { GetRequest, Include, ResultRecord, Search, Select, Where } from "@sheaf/protocol";
import { describe, expect, it } from "vitest";
import { HistoryMemory } from "../storage/version-history.ts";
import { type StartedRead, executeGet, executeNext, executeSearch } from "./execute.ts";
import { recordsOf } from "./testing/records-of.ts";
import { SEARCH, knn } from "./testing/searches.ts";
import { type RecordContent, TestCollection } from "./testing/test-collection.ts";

const INCLUDE: Include = {
  documents: true,
  embeddings: false,
  metadatas: false,
  uris: false,
  distances: true,
  keys: [],
};

function filled(count: number, document: (i: number) => string, history?: HistoryMemory): TestCollection {
  const options = history === undefined ? {} : { history };
  const collection = new TestCollection({ space: "l2", embeddingFunction: null, sparse: [] }, options);
  for (let i = 0; i < count; i++) collection.put(`r${i}`, content(i, document(i)));
  return collection;
}

function content(i: number, document: string | null): RecordContent {
  return { embedding: Float32Array.of(i, 0), document, uri: null, metadata: null };
}

function searched(
  { context }: TestCollection,
  ...searches: readonly Partial<Search>[]
): Promise<StartedRead> {
  return executeSearch(context, {
    searches: searches.map((one) => ({ ...SEARCH, ...one })),
    readLevel: "index_and_wal",
  });
}

function ids(records: readonly ResultRecord[] | undefined): string[] {
  return (records ?? []).map(({ id }) => id);
}

describe("reads that begin together", () => {
  const content = { ...INCLUDE, embeddings: true };
  const get: GetRequest = { ids: null, where: null, limit: null, offset: 0, include: content };
  const lengthOf = ({ first }: StartedRead): number =>
    first.lists[0]!.reduce((sum, { document }) => sum + (document?.length ?? 0), 0);

  it("share what answers may hold, and leave the rest to next batches", async () => {
    const { context } = filled(200, (i) => `${i}`.padEnd(10_000, "x"));
    const alone = await executeGet(context, get);
    expect(lengthOf(alone)).toBeGreaterThan(400_000);
    const reads = await Promise.all(Array.from({ length: 200 }, () => executeGet(context, get)));
    const bytes = 2 * reads.reduce((sum, read) => sum + lengthOf(read), 0);
    expect(bytes).toBeLessThan(40 * 2 ** 20);
    const records = [...reads[0]!.first.lists[0]!];
    for (const { rest } = reads[0]!; !rest!.reader.isDone;)
      records.push(...(await executeNext(rest!)).lists.flat());
    expect(ids(records)).toEqual(Array.from({ length: 200 }, (_, i) => `r${i}`));
    for (const { rest } of [alone, ...reads]) rest?.ticket.close();
    expect(lengthOf(await executeGet(context, get))).toBe(lengthOf(alone));
  });
});

describe("a read of several batches", () => {
  const RECORDS = 12;
  const text = (i: number, version = 0): string => `${version} of ${i} `.padEnd(200_000, "x");
  const large = (history?: HistoryMemory): TestCollection => filled(RECORDS, text, history);
  const get: GetRequest = { ids: null, where: null, limit: null, offset: 0, include: INCLUDE };
  const select: Select = {
    document: true,
    embedding: false,
    metadata: false,
    score: true,
    fields: [],
    keys: [],
  };

  it("reads no record in the slice that another read has used up, though both begin in one turn", async () => {
    const collection = large();
    const order: string[] = [];
    const read = collection.readInSteps.bind(collection);
    collection.readInSteps = (offset) => {
      order.push("read");
      const until = performance.now() + 6;
      while (performance.now() < until);
      return read(offset);
    };
    // Due in every turn, for each read takes longer.
    const ticking = setInterval(() => order.push("turn"), 1);
    const reads = Array.from({ length: 6 }, () => executeGet(collection.context, { ...get, limit: 1 }));
    await Promise.all(reads);
    clearInterval(ticking);
    expect(order.filter((what) => what === "read")).toHaveLength(6);
    expect(order.filter((what, i) => what === "read" && order[i - 1] === "read")).toEqual([]);
  });

  it("hands out about a MiB at a time, and nothing that is not asked for", async () => {
    const collection = large();
    const { first, rest } = await executeGet(collection.context, { ...get, offset: 1, limit: 8 });
    const sizes = [first.lists[0]?.length];
    if (rest === null) expect.fail("one batch");
    while (!rest.reader.isDone) sizes.push((await executeNext(rest)).lists[0]?.length);
    expect(sizes).toStrictEqual([2, 3, 3]);
    rest.ticket.close();
    expect(collection.versions.openReads).toBe(0);
  });

  it("begins with an empty batch where the first record is long by itself", async () => {
    const collection = filled(2, () => "x".repeat(3_000_000));
    const { first, rest } = await executeGet(collection.context, get);
    expect(first).toStrictEqual({ first: 0, lists: [[]] });
    expect(rest?.reader.isDone).toBe(false);
    rest?.ticket.close();
    const [records] = await recordsOf(executeGet(collection.context, get));
    expect(records?.map(({ document }) => document?.length)).toStrictEqual([3_000_000, 3_000_000]);
  });

  it("keeps lists apart, empty ones too", async () => {
    const collection = large();
    const none: Where = { type: "document_contains", negated: false, text: "nowhere" };
    const payloads = [
      { limit: 4 },
      { where: none },
      { offset: 10 },
      { where: none },
      { limit: 1 },
      { where: none },
    ];
    const lists = await recordsOf(
      searched(collection, ...payloads.map((payload) => ({ ...payload, select }))),
    );
    expect(lists.map(ids)).toStrictEqual([["r0", "r1", "r2", "r3"], [], ["r10", "r11"], [], ["r0"], []]);
  });

  it("says how much will follow where that is much", async () => {
    const collection = filled(10, () => "é".repeat(3_000_000));
    const searches = Array.from({ length: 9 }, () => ({ select }));
    const { rest } = await searched(collection, ...searches);
    expect(rest?.leastBytes).toBe(9 * 10 * 6_000_000);
    rest?.ticket.close();
    const some = await searched(large(), { select });
    expect(some.rest?.leastBytes).toBe(0);
    some.rest?.ticket.close();
  });

  it("shows the state at its beginning, whatever is written between two batches", async () => {
    const collection = large();
    let version = 0;
    const change = (): void => {
      version++;
      for (const i of [1, 4, 7, 11]) collection.put(`r${i}`, content(i, text(i, version)));
      collection.remove(`r${8 + (version % 3)}`);
      collection.put(`new ${version}`, content(100, null));
    };
    const payloads = [{ select }, { select, rank: knn({ limit: RECORDS }) }];
    const lists = await recordsOf(searched(collection, ...payloads), change);
    expect(version).toBeGreaterThan(5);
    const expected = Array.from({ length: RECORDS }, (_, i) => text(i));
    for (const list of lists) expect(list.map(({ document }) => document)).toStrictEqual(expected);
    expect(collection.versions.openReads).toBe(0);
  });

  it("starts over once where something was under way as it began", async () => {
    const collection = large();
    const changed = collection.store("r11", content(11, text(11, 1)));
    const found = recordsOf(executeGet(collection.context, get));
    await new Promise(setImmediate);
    collection.hear(changed);
    expect((await found)[0]?.[11]?.document).toBe(text(11, 1));
  });

  it.each([
    ["429 where more of its collection changes than can be kept", 0, "rate_limited"],
    ["503 where other collections have used up the memory for that", 300 * 2 ** 20, "unavailable"],
  ])("ends with %s", async (_, heldByOthers, code) => {
    const history = new HistoryMemory();
    history.held = heldByOthers;
    const collection = large(history);
    const context = { ...collection.context };
    const { rest } = await executeGet(context, get);
    if (rest === null) expect.fail("one batch");
    for (let version = 1; version < 400; version++) {
      collection.put("r11", content(11, text(11, version)));
    }
    const finish = async (): Promise<void> => {
      while (!rest.reader.isDone) await executeNext(rest);
    };
    await expect(finish()).rejects.toMatchObject({ code, retryAfterSeconds: 1 });
    expect(collection.versions.openReads).toBe(0);
  });
});
