import { execFileSync } from "node:child_process";
import { chmodSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { makeFolder } from "./make-folder.ts";

/** A folder in which nothing can be made, and why: on a read-only file system where this process may mount one. */
function unwritable(): { readonly folder: string; readonly reason: string } {
  const folder = temporaryFolder();
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "ro,size=4k", "tmpfs", folder], { stdio: "ignore" });
  } catch {
    chmodSync(folder, 0o500);
    return { folder, reason: "permission denied" };
  }
  onTestFinished(() => void execFileSync("umount", [folder]));
  return { folder, reason: "the file system is read-only" };
}

describe("makeFolder", () => {
  it("makes all that is missing, for the owner alone, and takes what is there", () => {
    const folder = join(temporaryFolder(), "a", "b", "c");
    makeFolder(folder);
    makeFolder(folder);
    for (const made of [folder, join(folder, ".."), join(folder, "..", "..")]) {
      expect(statSync(made).mode & 0o777).toBe(0o700);
    }
  });

  it("names a link that leads nowhere", () => {
    const link = join(temporaryFolder(), "link");
    symlinkSync("absent", link);
    for (const folder of [link, join(link, "a")])
      expect(() => makeFolder(folder)).toThrow(`${link} is a link to what is not there`);
  });

  it("names the file that stands in the way", () => {
    const file = join(temporaryFolder(), "file");
    writeFileSync(file, "");
    const obstacle = `${file} is a file, not a folder`;
    expect(() => makeFolder(file)).toThrow(obstacle);
    for (const folder of [join(file, "data"), join(file, "a", "b")]) {
      expect(() => makeFolder(folder)).toThrow(`cannot create folder ${folder}: ${obstacle}`);
    }
  });

  it("ends where a file system does not allow folders", () => {
    expect(() => makeFolder("/proc/x/y")).toThrow(
      "cannot create folder /proc/x/y: the file system does not allow it (/proc)",
    );
  });

  it("says why nothing can be made somewhere, however much is missing there", () => {
    const { folder, reason } = unwritable();
    for (const path of [join(folder, "data"), join(folder, "a", "b", "data")]) {
      expect(() => makeFolder(path)).toThrow(`cannot create folder ${path}: ${reason} (${folder})`);
    }
  });
});
