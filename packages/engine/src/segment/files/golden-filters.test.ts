import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { TRAILER_BYTES, decodeFooter, decodeTrailer } from "../../storage/files/footer.ts";
import { FolderFiles } from "../../storage/files/folder-files.ts";
import { MemoryFiles } from "../../storage/files/memory-files.ts";
import { type SectionReader, openSections } from "../../storage/files/section-reader.ts";
import { readFile } from "../../storage/files/segment-files.suite.ts";
import type { SparsePostings } from "../postings/sparse-postings.ts";
import { expectSameColumns, expectSameRows, expectSameSignatures } from "../testing/same-block.ts";
import { openBlocks } from "./open-blocks.ts";
import { type FilePostings, openPostings } from "./open-postings.ts";
import {
  GOLDEN_CAPACITY,
  GOLDEN_FILTERS,
  GOLDEN_LENGTHS,
  goldenBlocks,
  goldenLengths,
  goldenPostings,
  writeGoldenFilters,
  writeGoldenLengths,
} from "./testing/golden-filters.ts";

const golden = new FolderFiles(fileURLToPath(new URL("golden-v1", import.meta.url)));

it("writes what version 1 wrote, to the byte", async () => {
  const written = new MemoryFiles();
  await writeGoldenFilters(written);
  await writeGoldenLengths(written);
  for (const name of [GOLDEN_FILTERS, GOLDEN_LENGTHS])
    expect((await readFile(written, name))?.equals((await readFile(golden, name))!)).toBe(true);
});

it("reads what version 1 wrote", async () => {
  const reader = await openSections(golden, await writeGoldenFilters(new MemoryFiles()));
  const { blocks } = await openBlocks(reader, GOLDEN_CAPACITY);
  for (const [i, twin] of goldenBlocks().entries()) {
    const keys = new Set(["absent"]);
    for (let row = 0; row < twin.metadata.length; row++)
      for (const key of twin.metadata.get(row)?.keys() ?? []) keys.add(key);
    expect(keys.size).toBeGreaterThan(257);
    expectSameRows(blocks[i]!, twin, ["absent"]);
    expectSameColumns(blocks[i]!, twin, keys);
    expectSameSignatures(blocks[i]!, twin, ["", "quick", "QUICK brown", "größe", "xxx", "日本語", "absent"]);
  }
  await expectPostings(reader, goldenPostings());
  await reader.close();
});

it("reads what a version with lengths wrote, which no reader without them takes for its own", async () => {
  const reader = await openSections(golden, await writeGoldenLengths(new MemoryFiles()));
  const bytes = (await readFile(golden, GOLDEN_LENGTHS))!;
  const end =
    TRAILER_BYTES + decodeTrailer(reader.name, bytes.subarray(-TRAILER_BYTES), bytes.length).footerBytes;
  expect(decodeFooter(reader.name, bytes.subarray(-end), bytes.length).features).toEqual(["lengths"]);
  const postings = await expectPostings(reader, goldenLengths());
  expect(["frequencies", "weights", "absent"].map((key) => postings.hasLengths(key))).toEqual([
    true,
    false,
    false,
  ]);
  await reader.close();
});

async function expectPostings(
  reader: SectionReader,
  postings: ReadonlyMap<string, SparsePostings>,
): Promise<FilePostings> {
  const file = await openPostings(reader, GOLDEN_CAPACITY);
  expect([...file.byKey.keys()]).toEqual([...postings.keys()]);
  for (const [key, expected] of postings)
    expect(file.byKey.get(key)!.blocks.map(({ block }) => block.lists)).toStrictEqual(
      expected.blocks.map(({ block }) => block.lists),
    );
  return file;
}
