import { LIMITS, type Where } from "@sheaf/protocol";
import { describe, expect, it } from "vitest";
import { executeCount, selectOffsets } from "../execute.ts";
import { RegexPool } from "./regex-pool.ts";
import { RequestPatterns } from "./request-patterns.ts";
import { TestCollection } from "../testing/test-collection.ts";

const regex = (pattern: string, negated = false): Where => ({ type: "document_regex", negated, pattern });

function collectionOf(documents: readonly (string | null)[]): TestCollection {
  const collection = new TestCollection({ space: "l2", embeddingFunction: null, sparse: [] });
  for (const [i, document] of documents.entries()) {
    collection.put(`r${i}`, { embedding: Float32Array.of(i), document, uri: null, metadata: null });
  }
  return collection;
}

describe("$regex", () => {
  const collection = collectionOf(["a fox", "FOX", "füchse", "straße", "a\u212a", "maſs", null, ""]);
  const rows = (where: Where): Promise<number[]> =>
    selectOffsets(collection.context, { ids: null, where }, null);

  it.each([
    ["(?i)FOX", [0, 1]],
    ["(?i)mass", [5]],
    ["(?i)ak", [4]],
    ["^\\w+$", [1, 2, 3, 4, 5]],
    ["(?x) f o x # spaced", [0]],
    ["^fox$", []],
    ["fox|stra(ß|ss)e", [0, 3]],
    ["f[uü]c?hse", [2]],
    ["^(fox|)$", [7]],
    ["(a |)fox", [0]],
    ["o{1}x", [0]],
    ["", [0, 1, 2, 3, 4, 5, 7]],
  ])("searches by Rust's rules: %s", async (pattern, expected) => {
    expect(await rows(regex(pattern))).toEqual(expected);
    const others = [0, 1, 2, 3, 4, 5, 6, 7].filter((row) => !expected.includes(row));
    expect(await rows(regex(pattern, true))).toEqual(others);
  });

  it("runs several of them, and beside other clauses", async () => {
    const or: Where = { type: "or", children: [regex("fox"), regex("FOX"), regex("^$")] };
    expect(await rows(or)).toEqual([0, 1, 7]);
    const ids: Where = { type: "id", negated: false, ids: ["r0", "r2", "r6"] };
    expect(await rows({ type: "and", children: [regex("f"), ids, regex("x$", true)] })).toEqual([2]);
  });

  it("stays linear where backtracking explodes", async () => {
    const { context } = collectionOf([`${"a".repeat(50_000)}b`]);
    expect(await executeCount(context, { ids: null, where: regex("^(a+)+$") })).toBe(0);
  });

  it.each(["(", "a(?=b)", "(a)\\1", "(a{100}){100}{100}", "\\w{400}"])(
    "refuses %s with the library's reason and the path, also where there is nothing to search",
    async (pattern) => {
      const where: Where = {
        type: "and",
        children: [
          regex("fine"),
          { type: "document_regex", negated: false, pattern, path: "where.$and[1].#document.$regex" },
        ],
      };
      for (const { context } of [collection, collectionOf([])]) {
        const counted = executeCount(context, { ids: null, where });
        await expect(counted).rejects.toMatchObject({
          status: 400,
          message: expect.stringMatching(/^where\.\$and\[1\]\.#document\.\$regex: .*[rR]egex/s),
        });
      }
    },
  );

  it("says what it may compile to", async () => {
    await expect(rows(regex("\\w{400}"))).rejects.toThrow(`exceeds size limit of ${LIMITS.regexBytes} bytes`);
  });

  it("takes only so many in a request, the same ones again", () => {
    const patterns = new RequestPatterns(new RegexPool().forTenant("t"), undefined);
    for (let i = 0; i < LIMITS.regexPatterns; i++) patterns.add(`p${i}`, "where");
    patterns.add("p0", "where");
    expect(() => patterns.add("one more", "where")).toThrow(/^where: a request takes at most/);
  });

  it("searches documents of any length", async () => {
    const lengths = [0, 1, 100_000, 300_000, 16_385, 262_144, 5, 700_000];
    const { context } = collectionOf(lengths.map((length) => `${"x".repeat(length)}end`));
    const found = await selectOffsets(context, { ids: null, where: regex("^(?:xx)*end$") }, null);
    expect(found).toEqual([0, 2, 3, 5, 7]);
  });
});
