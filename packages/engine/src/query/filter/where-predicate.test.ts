import type { Metadata, MetadataValue, Where } from "@sheaf/protocol";
import { describe, expect, it } from "vitest";
import { NO_LIST_KEYS } from "./list-keys.ts";
import { type TestedClause, compileClause, requiredIds } from "./where-predicate.ts";

function matches(where: TestedClause, value: MetadataValue | undefined, text: string | null = null): boolean {
  const metadata: Metadata = new Map(value === undefined ? [] : [["k", value]]);
  const document = text === null ? null : Buffer.from(text);
  return compileClause(
    where,
    NO_LIST_KEYS,
  )({
    id: "a",
    value: (key: string) => metadata.get(key),
    document: () => document,
  });
}

function compare(
  operator: Extract<Where, { type: "compare" }>["operator"],
  value: bigint | number | string,
): TestedClause {
  return { type: "compare", key: "k", operator, value };
}

describe("comparisons", () => {
  const big = 2n ** 53n;
  it.each([
    ["$eq", 3n, 3, true],
    ["$eq", 3.5, 3n, false],
    ["$eq", big + 1n, 2 ** 53, false],
    ["$eq", 2 ** 53, big, true],
    ["$eq", 2 ** 63, -(2n ** 63n), false],
    ["$eq", 0, -0, true],
    ["$eq", "1", 1n, false],
    ["$eq", 1n, true, false],
    ["$ne", "1", 1n, true],
    ["$gte", 1.5, 1n, false],
    ["$lt", 2.5, 2n, true],
    ["$gt", -5.5, -5n, true],
    ["$gt", 2 ** 53, big + 1n, true],
    ["$lte", big, 2 ** 53, true],
    ["$gt", 0n, "1", false],
    ["$lte", 0n, "1", false],
    ["$gt", 0n, Int8Array.of(1), false],
  ] as const)("%s %s against a stored %s", (operator, operand, stored, expected) => {
    expect(matches(compare(operator, operand), stored)).toBe(expected);
  });

  it.each([
    ["$eq", false],
    ["$ne", true],
    ["$gt", false],
    ["$gte", false],
    ["$lt", false],
    ["$lte", false],
  ] as const)("%s on a missing key", (operator, expected) => {
    expect(matches(compare(operator, 1n), undefined)).toBe(expected);
  });
});

describe("$in and $nin", () => {
  const where = (negated: boolean, ...values: (bigint | number | string)[]): TestedClause => ({
    type: "in",
    key: "k",
    negated,
    values,
  });

  it("compares as $eq does", () => {
    expect(matches(where(false, 1n, 2n), 2)).toBe(true);
    expect(matches(where(false, 2, 1), 1n)).toBe(true);
    expect(matches(where(false, 2 ** 53), 2n ** 53n + 1n)).toBe(false);
    expect(matches(where(false, "2"), 2n)).toBe(false);
    expect(matches(where(true, 1n, 2n), 2)).toBe(false);
    expect(matches(where(false, 1.5, 2n ** 53n + 1n), 2n ** 53n + 1n)).toBe(true);
    expect(matches(where(false, 1.5, 2n ** 53n + 1n), 2n ** 53n)).toBe(false);
  });

  it("matches a missing key only negated", () => {
    expect(matches(where(false, 1n), undefined)).toBe(false);
    expect(matches(where(true, 1n), undefined)).toBe(true);
  });
});

describe("$contains of a metadata key", () => {
  const where = (value: bigint | number | string, negated = false): TestedClause => ({
    type: "contains",
    key: "k",
    negated,
    value,
  });

  it("compares members by value", () => {
    expect(matches(where(1), Int8Array.of(3, 1))).toBe(true);
    expect(matches(where(1n), Float64Array.of(1, 2.5))).toBe(true);
    expect(matches(where(2n ** 53n + 1n), BigInt64Array.of(2n ** 53n + 1n))).toBe(true);
    expect(matches(where(2 ** 53), BigInt64Array.of(2n ** 53n + 1n))).toBe(false);
    expect(matches(where("1"), Int8Array.of(1))).toBe(false);
    expect(matches(where(1n), [])).toBe(false);
  });

  it("matches scalars, sparse vectors and missing keys only negated", () => {
    const sparse = { indices: Uint32Array.of(1), values: Float32Array.of(1) };
    for (const stored of ["abc", 1n, sparse, undefined]) {
      expect(matches(where(1n), stored)).toBe(false);
      expect(matches(where(1n, true), stored)).toBe(true);
    }
  });
});

describe("$contains of a document", () => {
  const contains = (text: string, negated = false): TestedClause => ({
    type: "document_contains",
    negated,
    text,
  });

  it("finds substrings literally", () => {
    expect(matches(contains("50%_"), undefined, "50%_ off")).toBe(true);
    expect(matches(contains("50%_"), undefined, "50 1 off")).toBe(false);
    expect(matches(contains("A"), undefined, "a")).toBe(false);
    expect(matches(contains("語"), undefined, "日本語")).toBe(true);
    expect(matches(contains(""), undefined, "")).toBe(true);
  });

  it("knows no lone surrogates but as halves of a character", () => {
    expect(matches(contains("\ud83d"), undefined, "\u{1f600}")).toBe(true);
    expect(matches(contains("\ud83d"), undefined, "a \ufffd")).toBe(false);
    expect(matches(contains("\ufffd"), undefined, "a \ufffd")).toBe(true);
  });

  it("matches a missing document only negated", () => {
    expect(matches(contains(""), undefined, null)).toBe(false);
    expect(matches(contains("", true), undefined, null)).toBe(true);
  });
});

describe("requiredIds", () => {
  it("knows which ids a match must be among", () => {
    const ids = (...list: string[]): Where => ({ type: "id", negated: false, ids: list });
    const not: Where = { type: "id", negated: true, ids: ["z"] };
    expect(requiredIds(ids("a"))).toStrictEqual(["a"]);
    expect(requiredIds(not)).toBeNull();
    expect(
      requiredIds({ type: "and", children: [compare("$eq", 1n), ids("a", "b"), ids("c")] }),
    ).toStrictEqual(["c"]);
    expect(requiredIds({ type: "or", children: [ids("a"), compare("$eq", 1n)] })).toBeNull();
  });
});
