import { type MetadataScalar, type MetadataValue, integerArray } from "@sheaf/protocol";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DocColumns } from "./doc-columns.ts";
import type { ColumnQuery, MetadataColumn } from "./metadata-column.ts";
import { MetadataRows } from "./metadata-rows.ts";
import { BLOCK_DOCS } from "../block-docs.ts";
import { listBits } from "../bits.ts";
import { scalarKey } from "./scalar-key.ts";
import { runSteps } from "../../storage/steps.ts";

const scalars: fc.Arbitrary<MetadataScalar> = fc.oneof(
  fc.constantFrom(0n, 1n, -3n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 63n)),
  fc.constantFrom(0, -0, 1, 1.5, -3, 2 ** 53, -(2 ** 63), 1e300),
  fc.constantFrom(
    "",
    "a",
    "b",
    "ä",
    "日本",
    "\ud800",
    "\udfff",
    "x".repeat(256),
    "x".repeat(257),
    "y".repeat(257),
  ),
  fc.boolean(),
);
const values: fc.Arbitrary<MetadataValue | undefined> = fc.oneof(
  scalars,
  fc.array(fc.constantFrom("a", "b"), { maxLength: 3 }),
  fc.array(fc.constantFrom(1n, 300n, 2n ** 53n + 1n), { minLength: 1, maxLength: 3 }).map(integerArray),
  fc
    .array(fc.constantFrom(1, 1.5, 2 ** 53), { minLength: 1, maxLength: 3 })
    .map((list) => Float64Array.from(list)),
  fc.constant({ indices: Uint32Array.of(1), values: Float32Array.of(1) }),
  fc.constant(undefined),
);
const queries: fc.Arbitrary<ColumnQuery> = fc.oneof(
  fc.record({
    type: fc.constant("equal" as const),
    values: fc.array(scalars, { maxLength: 12 }).map((list) => new Set(list.map(scalarKey))),
  }),
  fc.record({ type: fc.constant("member" as const), value: scalars.map(scalarKey) }),
  fc.record({
    type: fc.constant("range" as const),
    operator: fc.constantFrom("$gt", "$gte", "$lt", "$lte"),
    bound: fc.constantFrom<bigint | number>(0n, 1.25, 1n, 2 ** 53, 2n ** 53n, 2n ** 53n + 1n, -1e301),
  }),
);

function columnOf(list: readonly (MetadataValue | undefined)[]): MetadataColumn {
  const metadata = new MetadataRows();
  for (const value of list) runSteps(metadata.push(new Map(value === undefined ? [] : [["k", value]])));
  // Columns are of words of rows.
  while (metadata.length % 32 > 0) runSteps(metadata.push(null));
  return runSteps(new DocColumns(metadata).column("k"))!;
}

function matches(value: MetadataValue | undefined, query: ColumnQuery): boolean {
  if (value === undefined) return false;
  if (query.type === "member")
    return (
      typeof value === "object" &&
      !("indices" in value) &&
      [...(value as Iterable<MetadataScalar>)].some((item) => scalarKey(item) === query.value)
    );
  if (typeof value === "object") return false;
  if (query.type === "equal") return query.values.has(scalarKey(value));
  if (typeof value !== "number" && typeof value !== "bigint") return false;
  if (query.operator === "$gt") return value > query.bound;
  if (query.operator === "$gte") return value >= query.bound;
  return query.operator === "$lt" ? value < query.bound : value <= query.bound;
}

describe("MetadataColumn", () => {
  it("finds what a look at every value finds", () => {
    fc.assert(
      fc.property(fc.array(values, { maxLength: 40 }), fc.array(queries), (list, asked) => {
        const column = columnOf(list);
        for (const query of asked) {
          const found = column.select(query);
          const expected = [...list.keys()].filter((row) => matches(list[row], query));
          expect(listBits(found.bits())).toStrictEqual(expected);
          expect(found.count).toBe(expected.length);
        }
      }),
    );
  });

  it("finds values that many rows hold, and more wanted values than there are", () => {
    const list = Array.from({ length: BLOCK_DOCS }, (_, row) => (row % 3 === 0 ? row : "common"));
    const column = columnOf(list);
    expect(column.select({ type: "equal", values: new Set(["common"]) }).count).toBe(2_730);
    const wanted = new Set<MetadataScalar>(Array.from({ length: 9_000 }, (_, i) => i * 2));
    const found = listBits(column.select({ type: "equal", values: wanted }).bits());
    expect(found).toStrictEqual([...list.keys()].filter((row) => row % 6 === 0));
  });
});
