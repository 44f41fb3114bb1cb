import type { Where } from "@sheaf/protocol";
import { describe, expect, it, vi } from "vitest";
import { MetadataRows } from "../../segment/columns/metadata-rows.ts";
import { executeCount, executeGet, executeSearch, selectOffsets } from "../execute.ts";
import { recordsOf } from "../testing/records-of.ts";
import { TestCollection } from "../testing/test-collection.ts";

const COUNT = 5_000;
/** Columns need not cover the newest rows of a segment that still fills. */
const UNCOVERED_ROWS = 256 + 32;

/** Sees how often filters look at the metadata of a row. */
const look = vi.spyOn(MetadataRows.prototype, "value");
const looks = (): number => look.mock.calls.length;

function newCollection(): TestCollection {
  // Nothing is sealed, which would look at rows, too.
  const options = { denseRows: 2 * COUNT };
  const collection = new TestCollection({ space: "l2", embeddingFunction: null, sparse: [] }, options);
  for (let i = 0; i < COUNT; i++) {
    collection.put(`r${i}`, {
      embedding: Float32Array.of(i),
      document: i % 2 === 0 ? `the fox number ${i}` : null,
      uri: null,
      metadata: new Map<string, bigint | string>([
        ["i", BigInt(i)],
        ["even", i % 2 === 0 ? "yes" : "no"],
      ]),
    });
  }
  return collection;
}

const contains = (text: string, negated = false): Where => ({ type: "document_contains", negated, text });
const regex = (pattern: string, negated = false): Where => ({ type: "document_regex", negated, pattern });

describe("filterRows", () => {
  const collection = newCollection();
  const count = (where: Where): Promise<number> => executeCount(collection.context, { ids: null, where });

  it("reads only documents whose trigrams allow a match", async () => {
    const before = collection.reads;
    expect(await count(contains("number 1234"))).toBe(1);
    expect(await count(contains("number 1234", true))).toBe(COUNT - 1);
    expect(await count(regex("number 4[0-9]98$|^nowhere"))).toBe(10);
    expect(await count(regex("zebra|lion", true))).toBe(COUNT);
    expect(await count(regex("(?i)(zebra|the fox) number (12|13)34$"))).toBe(2);
    expect(await count(regex("FOX NUMBER 1234"))).toBe(0);
    expect(collection.reads - before).toBeLessThan(1_000);
  });

  it("reads every document where a pattern gives nothing to go by", async () => {
    const before = collection.reads;
    expect(await count(regex("f.x"))).toBe(COUNT / 2);
    expect(collection.reads - before).toBe(COUNT / 2);
  });

  it("reads only documents that the other clauses leave over", async () => {
    const before = collection.reads;
    const few: Where = { type: "compare", key: "i", operator: "$lt", value: 20n };
    const even: Where = { type: "compare", key: "even", operator: "$eq", value: "yes" };
    expect(await count({ type: "and", children: [contains("fox"), even, few] })).toBe(10);
    expect(await count({ type: "or", children: [contains("fox"), even] })).toBe(COUNT / 2);
    expect(collection.reads - before).toBe(10);
  });

  it("sees rows that columns do not cover yet", async () => {
    const even: Where = { type: "compare", key: "even", operator: "$ne", value: "yes" };
    expect(await count(even)).toBe(COUNT / 2);
    collection.put("late", { embedding: Float32Array.of(0), document: null, uri: null, metadata: null });
    expect(await count(even)).toBe(COUNT / 2 + 1);
    collection.remove("late");
    expect(await count(even)).toBe(COUNT / 2);
  });

  it("looks at the rows where a column would be too large", async () => {
    const large = new TestCollection({ space: "l2", embeddingFunction: null, sparse: [] });
    for (let i = 0; i < 128; i++) {
      const members = Float64Array.from({ length: 4_000 }, (_, m) => (m % 4 === 0 ? m : i * 4_000 + m) + 0.5);
      const metadata = new Map([["members", members]]);
      large.put(`r${i}`, { embedding: Float32Array.of(i), document: null, uri: null, metadata });
    }
    const holding = (value: number, negated = false): Promise<number> =>
      executeCount(large.context, { ids: null, where: { type: "contains", key: "members", negated, value } });
    expect(await holding(4.5)).toBe(128);
    expect(await holding(7 * 4_000 + 5.5)).toBe(1);
    expect(await holding(7 * 4_000 + 5.5, true)).toBe(127);
    expect(await holding(5)).toBe(0);
  });

  it("remembers what a filter on metadata left, until a write", async () => {
    const is = (value: bigint | number | string): Where => ({
      type: "compare",
      key: "i",
      operator: "$eq",
      value,
    });
    const both: Where = { type: "or", children: [is(7n), is(4_999n)] };
    expect(await count(both)).toBe(2);
    const [looksBefore, readsBefore] = [looks(), collection.reads];
    expect(await count(both)).toBe(2);
    expect(looks()).toBe(looksBefore);
    // Values that look alike are other filters.
    expect(await count(is(7n))).toBe(1);
    expect(await count(is("7"))).toBe(0);
    expect(await count(is("7n"))).toBe(0);
    expect(await count({ type: "compare", key: "i", operator: "$ne", value: 7n })).toBe(COUNT - 1);
    // Ids leave fewer candidates, so what was remembered is not asked for.
    const ids = ["r7", "r8"];
    expect(await executeCount(collection.context, { ids, where: both })).toBe(1);
    collection.remove("r7");
    expect(await count(both)).toBe(1);
    collection.put("r7", {
      embedding: Float32Array.of(7),
      document: null,
      uri: null,
      metadata: new Map([["i", 7n]]),
    });
    expect(await count(both)).toBe(2);
    expect(collection.reads).toBe(readsBefore);
  });

  it("remembers no more filters than it may, the ones asked last", async () => {
    const at = (i: number): Where => ({ type: "compare", key: "i", operator: "$gte", value: BigInt(i) });
    for (let i = 0; i < 40; i++) expect(await count(at(i))).toBe(COUNT - i);
    const before = looks();
    for (let i = 39; i >= 8; i--) expect(await count(at(i))).toBe(COUNT - i);
    expect(looks()).toBe(before);
    await count(at(0));
    expect(looks()).toBeGreaterThan(before);
  });

  it("looks at few rows to count, delete, get or page through what columns tell", async () => {
    const { context } = collection;
    const few: Where = { type: "compare", key: "i", operator: "$lt", value: 20n };
    const even: Where = { type: "compare", key: "even", operator: "$eq", value: "yes" };
    const where: Where = { type: "and", children: [even, few] };
    const [selector, keys] = [{ ids: null, where }, [] as string[]];
    const include = { documents: false, embeddings: false, metadatas: false, uris: false, distances: false };
    const select = { document: false, embedding: false, metadata: false, score: false, fields: [], keys };
    const search = { where, rank: null, groupBy: null, offset: 0, limit: null, select };
    const reads: (() => Promise<number>)[] = [
      () => executeCount(context, selector),
      async () => (await selectOffsets(context, selector, null)).length,
      async () => {
        const request = { ...selector, limit: null, offset: 0, include: { ...include, keys } };
        return (await recordsOf(executeGet(context, request)))[0]?.length ?? 0;
      },
      async () => {
        const request = { searches: [search], readLevel: "index_and_wal" as const };
        return (await recordsOf(executeSearch(context, request)))[0]?.length ?? 0;
      },
    ];
    // Makes the columns.
    expect(await count({ type: "or", children: [even, few] })).toBe(COUNT / 2 + 10);
    for (const read of reads) {
      const [looksBefore, readsBefore] = [looks(), collection.reads];
      expect(await read()).toBe(10);
      expect(looks() - looksBefore).toBeLessThan(UNCOVERED_ROWS);
      expect(collection.reads - readsBefore).toBe(0);
    }
  });
});
