/** What the tour reads of a folder, and what it says it left out. */
import { chmod, mkdir, mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { describeLeftOut, readSections } from "../../scripts/quickstart/sections.ts";

const NOBODY = 65_534;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sheaf-sections-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** The superuser may read everything. */
async function asNobody<T>(work: () => Promise<T>): Promise<T> {
  const own = process.geteuid?.() ?? NOBODY;
  if (own !== 0) return work();
  process.seteuid?.(NOBODY);
  try {
    return await work();
  } finally {
    process.seteuid?.(own);
  }
}

describe("the sections of a folder", () => {
  it("are read of the first 2,000 files, and the others counted", async () => {
    await mkdir(join(folder, "a"));
    await mkdir(join(folder, "b"));
    for (let i = 0; i < 2_003; i++) await writeFile(join(folder, i < 1_500 ? "a" : "b", `${i}.md`), "text");
    const { sections, leftOut } = await readSections(folder);
    expect(sections).toHaveLength(2_000);
    expect(describeLeftOut(leftOut)).toEqual(["left out 3 files beyond the first 2000"]);
  });

  it("leave out files over 2 MiB, without reading them", async () => {
    await writeFile(join(folder, "short.md"), "text");
    await writeFile(join(folder, "long.md"), "");
    await truncate(join(folder, "long.md"), 2 ** 40);
    const { sections, leftOut } = await readSections(folder);
    expect(sections.map(({ path }) => path)).toEqual(["short.md"]);
    expect(describeLeftOut(leftOut)).toEqual(["left out 1 file over 2 MiB"]);
  });

  it("leave out subfolders and files that cannot be read, and name them", async () => {
    await mkdir(join(folder, "closed"));
    await writeFile(join(folder, "closed.md"), "text");
    await writeFile(join(folder, "open.md"), "text");
    await chmod(folder, 0o755);
    await chmod(join(folder, "closed"), 0);
    await chmod(join(folder, "closed.md"), 0);
    const { sections, leftOut } = await asNobody(() => readSections(folder));
    expect(sections.map(({ path }) => path)).toEqual(["open.md"]);
    expect(describeLeftOut(leftOut)).toEqual([
      `left out what cannot be read: ${join(folder, "closed")} (EACCES)`,
      `left out what cannot be read: ${join(folder, "closed.md")} (EACCES)`,
    ]);
    await chmod(join(folder, "closed"), 0o755);
  });

  it("cannot be had of a folder that cannot be read itself", async () => {
    await expect(readSections(join(folder, "none"))).rejects.toThrow("ENOENT");
    expect((await readSections(folder)).sections).toEqual([]);
  });
});
