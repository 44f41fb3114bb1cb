/** What the tour reads of a folder, and what it says it left out. */
import { chmod, mkdir, mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { describeLeftOut, findFiles } from "../../scripts/quickstart/found-files.ts";

const NOBODY = 65_534;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sheaf-found-"));
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

describe("the files of a folder", () => {
  it("are read of the first 2,000 files, and the others counted", async () => {
    await mkdir(join(folder, "a"));
    await mkdir(join(folder, "b"));
    for (let i = 0; i < 2_003; i++) await writeFile(join(folder, i < 1_500 ? "a" : "b", `${i}.md`), "text");
    const { files, leftOut } = await findFiles(folder);
    expect(files).toHaveLength(2_000);
    expect(describeLeftOut(leftOut)).toEqual(["left out 3 files beyond the first 2000"]);
  });

  it("leave out files over 2 MiB, without reading them", async () => {
    await writeFile(join(folder, "short.md"), "text");
    await writeFile(join(folder, "long.md"), "");
    await truncate(join(folder, "long.md"), 2 ** 40);
    const { files, leftOut } = await findFiles(folder);
    expect(files.map(({ path }) => path)).toEqual(["short.md"]);
    expect(describeLeftOut(leftOut)).toEqual(["left out 1 file over 2 MiB"]);
  });

  it("leave out subfolders that cannot be read, and name them", async () => {
    await mkdir(join(folder, "closed"));
    await writeFile(join(folder, "open.md"), "text");
    await chmod(folder, 0o755);
    await chmod(join(folder, "closed"), 0);
    const { files, leftOut } = await asNobody(() => findFiles(folder));
    expect(files.map(({ path }) => path)).toEqual(["open.md"]);
    expect(describeLeftOut(leftOut)).toEqual([
      expect.stringMatching(/^left out what cannot be read: .*\/closed \(cannot be read: EACCES/u),
    ]);
    await chmod(join(folder, "closed"), 0o755);
  });

  it("are of the kinds that are asked for, without what builds make", async () => {
    await mkdir(join(folder, "dist"));
    for (const name of ["dist/a.md", "a.md", "b.ts", "c.png"]) await writeFile(join(folder, name), "text");
    const paths = async (kinds?: Parameters<typeof findFiles>[1]): Promise<readonly string[]> =>
      (await findFiles(folder, kinds)).files.map(({ path }) => path);
    expect(await paths()).toEqual(["a.md", "b.ts"]);
    expect(await paths(new Set(["markdown"]))).toEqual(["a.md"]);
  });

  it("cannot be had of a folder that cannot be read itself", async () => {
    await expect(findFiles(join(folder, "none"))).rejects.toThrow("ENOENT");
    expect((await findFiles(folder)).files).toEqual([]);
  });
});
