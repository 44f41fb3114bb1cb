import { execFileSync } from "node:child_process";
import { chmodSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { makeFolder } from "./make-folder.ts";

/** A folder in which nothing can be made, and why: on a read-only file system where this process may mount one. */
function unwritable(): { readonly folder: string; readonly reason: string } {
  const folder = temporaryFolder();
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "ro,size=4k", "tmpfs", folder], { stdio: "ignore" });
  } catch {
    chmodSync(folder, 0o500);
    return { folder, reason: "this user may not write there (EACCES)" };
  }
  onTestFinished(() => void execFileSync("umount", [folder]));
  return { folder, reason: "its file system is read-only (EROFS)" };
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

  it("names the file that stands in the way", () => {
    const file = join(temporaryFolder(), "file");
    writeFileSync(file, "");
    for (const folder of [file, join(file, "data"), join(file, "a", "b")]) {
      expect(() => makeFolder(folder)).toThrow(`folder ${folder} cannot be made in ${file}: it is no folder`);
    }
  });

  it("ends where a file system takes no folders", () => {
    expect(() => makeFolder("/proc/x/y")).toThrow(
      "folder /proc/x/y cannot be made in /proc: its file system takes no folders (ENOENT)",
    );
  });

  it("says why nothing can be made somewhere, however much is missing there", () => {
    const { folder, reason } = unwritable();
    for (const path of [join(folder, "data"), join(folder, "a", "b", "data")]) {
      expect(() => makeFolder(path)).toThrow(`folder ${path} cannot be made in ${folder}: ${reason}`);
    }
  });
});
