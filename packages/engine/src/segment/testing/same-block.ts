/** Whether two blocks have the same rows, columns and signatures, for all that they may be asked. */
import type { MetadataScalar, MetadataValue } from "@sheaf/protocol";
import { expect } from "vitest";
import type { ColumnQuery } from "../columns/metadata-column.ts";
import { scalarKey } from "../columns/scalar-key.ts";
import type { DocBlock } from "../doc-block.ts";
import { containing } from "../trigrams/trigram-query.ts";
import { runSteps } from "../../storage/steps.ts";

export function expectSameRows(block: DocBlock, twin: DocBlock, keys: Iterable<string>): void {
  expect(block.metadata.length).toBe(twin.metadata.length);
  for (let row = 0; row < twin.metadata.length; row++) {
    const expected = twin.metadata.get(row);
    const found = block.metadata.get(row);
    expect(found).toStrictEqual(expected);
    expect([...(found?.keys() ?? [])]).toEqual([...(expected?.keys() ?? [])]);
    expect(block.metadata.bytes(row)).toBe(twin.metadata.bytes(row));
    for (const key of [...(expected?.keys() ?? []), ...keys])
      expect(block.metadata.value(row, key)).toStrictEqual(twin.metadata.value(row, key));
  }
}

export function expectSameSignatures(block: DocBlock, twin: DocBlock, texts: readonly string[]): void {
  for (const text of texts) {
    const query = containing(text);
    expect(block.signatures.having(query)).toStrictEqual(twin.signatures.having(query));
  }
}

/** More than a column has values. */
const MANY = Array.from({ length: 5_000 }, (_, i) => i);

/** What columns may be asked for of the values of a key, and some more. */
function queriesOf(values: readonly (MetadataValue | undefined)[]): readonly ColumnQuery[] {
  const scalars = new Set<MetadataScalar>([0, 1, "a", true, 2 ** 60]);
  for (const value of values) {
    if (value === undefined || (typeof value === "object" && "indices" in value)) continue;
    if (typeof value !== "object") scalars.add(value);
    else for (const member of [...(value as Iterable<MetadataScalar>)].slice(0, 5)) scalars.add(member);
  }
  const keys = [...scalars].map(scalarKey);
  const single = keys.flatMap((key): readonly ColumnQuery[] => [
    { type: "equal", values: new Set([key]) },
    { type: "member", value: key },
  ]);
  const ranges = [...scalars].flatMap((bound): readonly ColumnQuery[] =>
    typeof bound === "number" || typeof bound === "bigint"
      ? (["$gt", "$gte", "$lt", "$lte"] as const).map((operator) => ({ type: "range", operator, bound }))
      : [],
  );
  const lists = [keys, [...keys, ...MANY]].map((list): ColumnQuery => ({
    type: "equal",
    values: new Set(list),
  }));
  return [...single, ...ranges, ...lists];
}

function isEqual(found: Uint32Array, expected: Uint32Array): boolean {
  return found.length === expected.length && found.every((word, i) => word === expected[i]);
}

export function expectSameColumns(block: DocBlock, twin: DocBlock, keys: Iterable<string>): void {
  const { metadata, columns } = twin;
  expect(block.columns.rows).toBe(columns.rows);
  for (const key of new Set(keys)) {
    const values = Array.from({ length: metadata.length }, (_, row) => metadata.value(row, key));
    for (const query of queriesOf(values)) {
      const [found, expected] = [block, twin].map((one) => runSteps(one.columns.column(key))!.select(query));
      const isSame = found!.count === expected!.count && isEqual(found!.bits(), expected!.bits());
      if (!isSame) expect.fail(`${key}: other rows than in memory`);
    }
  }
}
