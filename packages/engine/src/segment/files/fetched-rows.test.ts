import { expect, it } from "vitest";
import { DataAbsent } from "../../storage/data-absent.ts";
import { LateFiles } from "../../storage/files/testing/late-files.ts";
import { MemoryFiles } from "../../storage/files/memory-files.ts";
import { openSections } from "../../storage/files/section-reader.ts";
import { writeSections } from "../../storage/files/section-writer.ts";
import { FetchedRows } from "./fetched-rows.ts";

it("stay as long as a read that begins again asks for them, whatever comes beside them", async () => {
  const [rowBytes, count] = [1_024, 20_000];
  const files = new LateFiles(new MemoryFiles());
  const bytes = Buffer.alloc(rowBytes * count);
  for (let row = 0; row < count; row++) bytes.writeUInt32LE(row, row * rowBytes);
  const identity = await writeSections(files, "a.seg", async (writer) => {
    await writer.rows("r", rowBytes);
    await writer.write(bytes);
  });
  const fetched = new FetchedRows((await openSections(files, identity)).rows("r", rowBytes));
  // Each time more rows, and all of those before: with what lies between them 18 MiB, of which 8 are kept.
  const wanted: number[] = [];
  for (let from = 0; from < 18_000; from += 3_000) {
    for (let row = from; row < from + 3_000; row += 40) wanted.push(row);
    const rows = Uint32Array.from(wanted);
    const absent = absentOf(fetched, rows);
    expect(absent).not.toBe(null);
    await absent!.fetch!();
    expect(absentOf(fetched, rows)).toBe(null);
    const into = Buffer.alloc(rows.length * rowBytes);
    expect(fetched.tryReadEach(into, rows)).toBe(true);
    expect([...rows].every((row, i) => into.readUInt32LE(i * rowBytes) === row)).toBe(true);
  }
});

function absentOf(fetched: FetchedRows, rows: Uint32Array): DataAbsent | null {
  try {
    fetched.require(rows);
    return null;
  } catch (error) {
    if (error instanceof DataAbsent) return error;
    throw error;
  }
}
