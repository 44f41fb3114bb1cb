import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { readDeadRows } from "./dead-rows.ts";
import { FolderFiles } from "./folder-files.ts";
import { readManifest } from "./manifest.ts";
import { MemoryFiles } from "./memory-files.ts";
import { openSections } from "./section-reader.ts";
import { readFile } from "./segment-files.suite.ts";
import {
  GOLDEN_BITMAP,
  GOLDEN_ROWS,
  GOLDEN_ROW_BYTES,
  GOLDEN_STREAMS,
  writeGoldenIndex,
} from "./testing/golden-index.ts";

const golden = new FolderFiles(fileURLToPath(new URL("golden-v1", import.meta.url)));

it("writes what version 1 wrote, to the byte", async () => {
  const written = new MemoryFiles();
  await writeGoldenIndex(written);
  expect(await written.list()).toEqual(await golden.list());
  expect(await golden.list()).toHaveLength(4);
  for (const name of await golden.list())
    expect((await readFile(written, name))?.equals((await readFile(golden, name))!), name).toBe(true);
});

it("reads what version 1 wrote", async () => {
  const { manifest, damaged, nextN } = await readManifest(golden);
  expect(damaged).toEqual([]);
  expect(nextN).toBe(8);
  expect(manifest).toEqual(await writeGoldenIndex(new MemoryFiles()));
  for (const segment of manifest!.segments) {
    const reader = await openSections(golden, segment);
    for (const [name, bytes] of GOLDEN_STREAMS) {
      const into = new Uint8Array(bytes.length);
      expect(reader.stream(name).tryRead(into, 0)).toBe(true);
      expect(into).toEqual(bytes);
    }
    const rows = new Uint8Array(GOLDEN_ROWS.length);
    expect(reader.rows("bf16", GOLDEN_ROW_BYTES).tryRead(rows, 0)).toBe(true);
    expect(rows).toEqual(GOLDEN_ROWS);
    await reader.close();
  }
  const dead = await readDeadRows(golden, manifest!);
  expect([...dead]).toEqual([[manifest!.segments[1]!.name, GOLDEN_BITMAP]]);
});
