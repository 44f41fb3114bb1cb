import type { Where } from "@sheaf/protocol";
import { describe, expect, it } from "vitest";
import { executeCount } from "./execute.ts";
import { TestCollection } from "./testing/test-collection.ts";

const COUNT = 5_000;

function newCollection(): TestCollection {
  const collection = new TestCollection({ space: "l2", embeddingFunction: null, sparse: [] });
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
    expect(collection.reads - before).toBeLessThan(1_000);
  });

  it("reads every document where a pattern gives nothing to go by", async () => {
    const before = collection.reads;
    expect(await count(regex("(?i)FOX"))).toBe(COUNT / 2);
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
});
