/** Columns of long arrays: made in many steps, or not at all. */
import { type MetadataScalar, type MetadataValue, integerArray } from "@sheaf/protocol";
import { describe, expect, it } from "vitest";
import { listBits } from "../bits.ts";
import { scalarKey } from "./scalar-key.ts";
import { MemoryFiles } from "../../storage/files/memory-files.ts";
import { openSections } from "../../storage/files/section-reader.ts";
import { writeSections } from "../../storage/files/section-writer.ts";
import { runSteps } from "../../storage/steps.ts";
import { openBlocks } from "../files/open-blocks.ts";
import { writeBlocks } from "../files/write-blocks.ts";
import { MemoryBlock } from "../memory-block.ts";
import { expectSameColumns } from "../testing/same-block.ts";

const ROWS = 32;
/** Values that may be looked at between two pauses. */
const PER_STEP = 16_384;

function blockOf(keys: Readonly<Record<string, (row: number) => MetadataValue>>): MemoryBlock {
  const block = new MemoryBlock();
  for (let row = 0; row < ROWS; row++) {
    block.signatures.add(row, null);
    runSteps(block.push(new Map(Object.entries(keys).map(([key, valueOf]) => [key, valueOf(row)]))));
  }
  block.seal();
  return block;
}

/** So many in each row, of which every third is in the next row, too. */
function numbers(length: number, step = 1): (row: number) => MetadataValue {
  return (row) =>
    integerArray(
      Array.from({ length }, (_, i) =>
        BigInt(step * (i % 3 === 0 ? i + length * row : i + length * (row >>> 1))),
      ),
    );
}

const texts = (row: number): MetadataValue =>
  Array.from({ length: 6_000 }, (_, i) => `text ${i * (1 + (row >>> 1))}`);

describe("a column of long arrays", () => {
  it("is made in steps of so many values, and says what the rows say", () => {
    const block = blockOf({ numbers: numbers(7_000), texts });
    for (const key of ["numbers", "texts"]) {
      const steps = block.columns.column(key);
      let pauses = 0;
      let step = steps.next();
      for (; step.done !== true; step = steps.next()) pauses++;
      const values = Array.from(
        { length: ROWS },
        (_, row) => block.metadata.value(row, key) as MetadataScalar[],
      );
      const count = values.reduce((sum, { length }) => sum + length, 0);
      // Added, and then packed: brought into order, and put in their places.
      expect(pauses).toBeGreaterThan((2 * count) / PER_STEP);
      const holders = new Map<MetadataScalar, number[]>();
      for (const [row, members] of values.entries()) {
        for (const member of new Set(Array.from(members, scalarKey)))
          holders.set(member, [...(holders.get(member) ?? []), row]);
      }
      for (const [value, rows] of holders) {
        const found = step.value!.select({ type: "member", value });
        if (found.count !== rows.length) expect.fail(`${String(value)}: ${found.count} rows`);
      }
      for (const [value, rows] of [...holders].slice(0, 500))
        expect(listBits(step.value!.select({ type: "member", value }).bits())).toEqual(rows);
    }
  });

  it("is left out where it would be too large, in memory and in a file", async () => {
    const block = blockOf({ many: numbers(20_000, 300), few: (row) => BigInt(row) });
    expect(runSteps(block.columns.column("many"))).toBeNull();
    expect(block.columns.packed("many")).toBeNull();
    expect(runSteps(block.columns.column("many"))).toBeNull();
    for (const blocks of [[block], [blockOf({ many: numbers(20_000, 300), few: (row) => BigInt(row) })]]) {
      const files = new MemoryFiles();
      const identity = await writeSections(files, "large.seg", (writer) => writeBlocks(writer, blocks));
      const {
        blocks: [file],
      } = await openBlocks(await openSections(files, identity), ROWS);
      expect(runSteps(file!.columns.preload("many"))).toBe(false);
      expect(runSteps(file!.columns.column("many"))).toBeNull();
      expectSameColumns(file!, block, ["few"]);
      expect(file!.metadata.get(3)).toStrictEqual(block.metadata.get(3));
    }
  });
});
