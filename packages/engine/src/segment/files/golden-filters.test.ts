import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { FolderFiles } from "../../storage/files/folder-files.ts";
import { MemoryFiles } from "../../storage/files/memory-files.ts";
import { openSections } from "../../storage/files/section-reader.ts";
import { readFile } from "../../storage/files/segment-files.suite.ts";
import { expectSameColumns, expectSameRows, expectSameSignatures } from "../testing/same-block.ts";
import { openBlocks } from "./open-blocks.ts";
import { openPostings } from "./open-postings.ts";
import {
  GOLDEN_CAPACITY,
  GOLDEN_FILTERS,
  goldenBlocks,
  goldenPostings,
  writeGoldenFilters,
} from "./testing/golden-filters.ts";

const golden = new FolderFiles(fileURLToPath(new URL("golden-v1", import.meta.url)));

it("writes what version 1 wrote, to the byte", async () => {
  const written = new MemoryFiles();
  await writeGoldenFilters(written);
  expect((await readFile(written, GOLDEN_FILTERS))?.equals((await readFile(golden, GOLDEN_FILTERS))!)).toBe(
    true,
  );
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
  const { byKey } = await openPostings(reader, GOLDEN_CAPACITY);
  const postings = goldenPostings();
  expect([...byKey.keys()]).toEqual([...postings.keys()]);
  for (const [key, expected] of postings)
    expect(byKey.get(key)!.blocks.map(({ block }) => block.lists)).toStrictEqual(
      expected.blocks.map(({ block }) => block.lists),
    );
  await reader.close();
});
