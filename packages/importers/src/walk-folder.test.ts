import { mkdir, mkdtemp, realpath, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readFound, walkFolder } from "./walk-folder.ts";

let root: string;
let outside: string;

beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "sheaf-walk-")));
  outside = await mkdtemp(join(tmpdir(), "sheaf-outside-"));
  await writeFile(join(outside, "secret.txt"), "secret");
  for (const folder of ["a", ".git", "node_modules"]) await mkdir(join(root, folder));
  for (const name of [
    "a/ü.md",
    "b.TXT",
    "Makefile",
    ".env",
    "prod.env",
    "server.pem",
    "id_rsa",
    "photo.png",
    ".git/config.txt",
    "node_modules/x.js",
  ])
    await writeFile(join(root, name), "text");
  await symlink(join(outside, "secret.txt"), join(root, "out.txt"));
  await symlink(outside, join(root, "linked"));
  await symlink(join(root, "b.TXT"), join(root, "in.txt"));
  await symlink(join(root, "absent"), join(root, "nowhere.txt"));
});
afterAll(async () => {
  await rm(root, { recursive: true, force: true });
  await rm(outside, { recursive: true, force: true });
});

describe("walkFolder", () => {
  it("finds what can be read, and names all else with a reason", async () => {
    const found: Record<string, string> = {};
    for await (const one of walkFolder(root)) found[one.path] = "kind" in one ? one.kind : one.reason;
    expect(found).toEqual({
      "a/ü.md": "markdown",
      "b.TXT": "text",
      Makefile: "code",
      ".env": "begins with a dot",
      ".git": "begins with a dot",
      "prod.env": "looks like a key or a secret",
      "server.pem": "looks like a key or a secret",
      id_rsa: "looks like a key or a secret",
      "photo.png": "no parser reads this kind of file",
      node_modules: "is node_modules",
      "out.txt": "is a link that leaves the folder",
      linked: "is a link that leaves the folder",
      "in.txt": "is a link; its target is read under its own name",
      "nowhere.txt": "is a link that leads nowhere",
    });
  });
});

describe("readFound", () => {
  it("reads a file, and nothing that has become a link since", async () => {
    expect(await readFound(root, "b.TXT")).toMatchObject({ bytes: Buffer.from("text") });
    expect(await readFound(root, "out.txt")).toMatch(/cannot be read/u);
    expect(await readFound(root, "linked/secret.txt")).toBe("is a link");
    expect(await readFound(root, "a")).toBe("is no regular file");
  });
});

it("does not read a file of 100 MB", async () => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "sheaf-large-")));
  await writeFile(join(folder, "row.csv"), "a");
  await truncate(join(folder, "row.csv"), 100 * 2 ** 20);
  expect(await readFound(folder, "row.csv")).toBe("has 104857600 bytes, the limit is 67108864");
  await rm(folder, { recursive: true });
});
