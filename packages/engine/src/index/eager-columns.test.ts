/** Which columns are there before a filter asks for them. */
import { expect, it } from "vitest";
import { CollectionIndex } from "./collection-index.ts";

const MUTABLE_ROWS = 4_096;
/** Too few for a segment to be sealed at rest. */
const ROWS = 300;

function indexOf(rows: number): CollectionIndex {
  const index = new CollectionIndex(
    { space: "cosine", embeddingFunction: null, sparse: [] },
    { read: () => null, readVector: () => null },
    { sizes: { mutableRows: MUTABLE_ROWS, sealedRows: 4 * MUTABLE_ROWS }, denseRows: 24 },
  );
  put(index, 0, rows);
  return index;
}

function put(index: CollectionIndex, from: number, to: number): void {
  for (let offset = from; offset < to; offset++)
    index.put({
      ...{ offset, sequence: offset + 1, id: `r${offset}`, document: null, uri: null },
      embedding: Float32Array.of(1, offset),
      metadata: new Map<string, bigint | string>([
        ["year", BigInt(offset)],
        ...(offset === 7 ? [["rare", "x"] as const] : []),
      ]),
    });
}

function columnOf(index: CollectionIndex, key: string): number | undefined {
  const { columns } = index.snapshot().blocks[0]!;
  return columns.peek(key) === undefined ? undefined : columns.rows;
}

it("makes those of a block that is being filled while no row comes, of keys that many rows hold", () => {
  const index = indexOf(ROWS);
  while (index.maintain(false));
  expect(columnOf(index, "year")).toBeUndefined();
  while (index.maintain(true));
  // Rows beyond a multiple of 32 are looked at one by one.
  expect(columnOf(index, "year")).toBe(288);
  expect(columnOf(index, "rare")).toBeUndefined();
  index.close();
});

it("makes them anew once many rows have come since", () => {
  const index = indexOf(ROWS);
  while (index.maintain(true));
  put(index, ROWS, ROWS + 20);
  while (index.maintain(true));
  expect(columnOf(index, "year")).toBe(288);
  put(index, ROWS + 20, 2 * ROWS);
  while (index.maintain(false));
  expect(columnOf(index, "year")).toBeUndefined();
  while (index.maintain(true));
  expect(columnOf(index, "year")).toBe(576);
  index.close();
});

it("makes those of a full block before its rows get codes", () => {
  const index = indexOf(MUTABLE_ROWS);
  const { segment } = index.segments[0]!;
  const waiting = (): number => (segment.isSealed ? 0 : segment.vectors.waiting);
  const before = waiting();
  expect(before).toBeGreaterThan(0);
  while (columnOf(index, "year") === undefined) expect(index.maintain(false)).toBe(true);
  expect(waiting()).toBe(before);
  index.close();
});
