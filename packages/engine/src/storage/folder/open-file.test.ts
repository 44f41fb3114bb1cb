import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { FolderFiles } from "../files/folder-files.ts";
import { checkFile } from "../lmdb/check-file.ts";
import { NoFile, openFile, openFileItself, openFileSync } from "./open-file.ts";

const OTHERS: readonly [what: string, make: (path: string) => unknown][] = [
  ["a folder", (path) => mkdirSync(path)],
  ["a pipe", (path) => execFileSync("mkfifo", [path])],
  ["a device", (path) => symlinkSync("/dev/zero", path)],
  [
    "a socket",
    async (path) => {
      const server = createServer().listen(path);
      onTestFinished(() => void server.close());
      await once(server, "listening");
    },
  ],
];

describe.each(OTHERS)("%s in the place of a file", (_what, make) => {
  it("is refused at once, and called damage where the file would be one of data", async () => {
    const folder = temporaryFolder();
    const path = join(folder, "a.seg");
    await make(path);
    const refusal = { code: "failed_precondition", message: `${path} is no file` };
    await expect(openFile(path)).rejects.toMatchObject(refusal);
    expect(() => openFileSync(path)).toThrow(expect.objectContaining(refusal));
    const damage = { code: "collection_unavailable", message: expect.stringContaining("is no file") };
    expect(() => checkFile(path, "shared/01", false)).toThrow(expect.objectContaining(damage));
    await expect(new FolderFiles(folder).open("a.seg")).rejects.toMatchObject(damage);
  });
});

it("a link is followed only by those that do not ask for the file itself", async () => {
  const folder = temporaryFolder();
  const path = join(folder, "a.seg");
  writeFileSync(join(folder, "file"), "");
  symlinkSync("file", path);
  await (await openFile(path)).close();
  await expect(openFileItself(path)).rejects.toThrow(NoFile);
  symlinkSync("circle", join(folder, "circle"));
  await expect(openFile(join(folder, "circle"))).rejects.toThrow(NoFile);
});
