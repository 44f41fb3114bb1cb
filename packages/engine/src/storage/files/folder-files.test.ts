import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { collectGarbage } from "../../index/collect-garbage.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { createDiskSpace } from "../folder/disk-space.ts";
import { FolderFiles } from "./folder-files.ts";
import { SegmentDamaged } from "./segment-damaged.ts";
import { readFile, segmentFilesSuite, writeFile } from "./segment-files.suite.ts";

segmentFilesSuite({
  name: "files in a folder",
  open: () => new FolderFiles(join(temporaryFolder(), "index")),
});

describe("files in a folder on disk", () => {
  it("makes no folder before the first file, then one for its owner alone", async () => {
    const folder = join(temporaryFolder(), "a", "index");
    const files = new FolderFiles(folder);
    await files.list();
    expect(existsSync(folder)).toBe(false);
    await writeFile(files, "a.seg", Buffer.from("x"));
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, "a.seg")).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(["a.seg"]);
  });

  it("sets aside and removes folders and links that lie in the place of files", async () => {
    const folder = temporaryFolder();
    const files = new FolderFiles(folder);
    for (let i = 0; i < 10; i++) {
      mkdirSync(join(folder, "a.seg"));
      writeFileSync(join(folder, "a.seg", "file"), "");
      await files.quarantine("a.seg");
      symlinkSync("nowhere", join(folder, "a.seg"));
      await files.quarantine("a.seg");
    }
    expect(readdirSync(join(folder, "quarantine")).length).toBeLessThanOrEqual(8);
    mkdirSync(join(folder, "b.seg", "c"), { recursive: true });
    await files.remove("b.seg");
    expect(readdirSync(folder)).toEqual(["quarantine"]);
  });

  it("takes files of another folder under the same name, and copies them from another file system", async () => {
    const from = temporaryFolder();
    await writeFile(new FolderFiles(from), "a.seg", Buffer.alloc(3_000_000, "ab"));
    const near = join(temporaryFolder(), "index");
    expect(await new FolderFiles(near).take(new FolderFiles(from), "a.seg")).toBe(true);
    expect(statSync(join(near, "a.seg")).ino).toBe(statSync(join(from, "a.seg")).ino);
    const folders = [near];
    if (existsSync("/dev/shm") && statSync("/dev/shm").dev !== statSync(from).dev) {
      const far = mkdtempSync("/dev/shm/sheaf-");
      onTestFinished(() => rmSync(far, { recursive: true }));
      folders.push(far);
      expect(await new FolderFiles(far).take(new FolderFiles(from), "a.seg")).toBe(true);
    }
    for (const folder of folders) {
      const files = new FolderFiles(folder);
      // A comparison by the matcher would take seconds.
      expect((await readFile(files, "a.seg"))?.equals(Buffer.alloc(3_000_000, "ab"))).toBe(true);
      expect(await files.take(new FolderFiles(from), "b.seg")).toBe(false);
      expect(await files.list()).toEqual(["a.seg"]);
    }
  });

  it("keeps the newest damaged files in a folder beside", async () => {
    const folder = temporaryFolder();
    const files = new FolderFiles(folder);
    for (let i = 0; i < 10; i++) {
      await writeFile(files, `${i}.seg`, Buffer.from("x"));
      await files.quarantine(`${i}.seg`);
    }
    const kept = readdirSync(join(folder, "quarantine")).map((name) => name.slice(-5));
    expect(kept.toSorted()).toEqual([2, 3, 4, 5, 6, 7, 8, 9].map((i) => `${i}.seg`));
  });

  it("removes damaged files that it cannot keep", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "quarantine"), "no folder");
    const files = new FolderFiles(folder);
    await writeFile(files, "a.seg", Buffer.from("x"));
    await files.quarantine("a.seg");
    expect(await files.open("a.seg")).toBeNull();
  });

  it("leaves the reserve of the disk alone, and says that the disk is full", async () => {
    const folder = temporaryFolder();
    let free = 1_000_000;
    const disk = createDiskSpace(folder, {
      diskReserve: 900_000,
      diskUsage: () => ({ free, size: 2 ** 30 }),
    });
    const files = new FolderFiles(folder, disk);
    const writer = await files.create("a.seg");
    await writer.write(Buffer.alloc(100_000));
    free -= 100_000;
    await expect(writer.write(Buffer.alloc(1))).rejects.toMatchObject({ code: "storage_full" });
    await writer.abort();
    free = 800_000;
    await expect(files.create("b.seg")).rejects.toMatchObject({ code: "storage_full" });
    expect(readdirSync(folder)).toEqual([]);
  });

  it("reads at once, and on when the file has been removed", async () => {
    const files = new FolderFiles(temporaryFolder());
    await writeFile(files, "a.seg", Buffer.from("0123456789"));
    const file = (await files.open("a.seg"))!;
    await files.remove("a.seg");
    const into = Buffer.alloc(3);
    expect(file.tryRead(into, 4)).toBe(true);
    expect(into.toString()).toBe("456");
    await file.close();
  });

  it("says that a file which was cut while it is open is damaged", async () => {
    const folder = temporaryFolder();
    const files = new FolderFiles(folder);
    await writeFile(files, "a.seg", Buffer.alloc(10_000, 1));
    const file = (await files.open("a.seg"))!;
    truncateSync(join(folder, "a.seg"), 5_000);
    const into = Buffer.alloc(100);
    expect(() => file.tryRead(into, 4_950)).toThrow(SegmentDamaged);
    await expect(file.read(into, 6_000)).rejects.toThrow("a.seg: it ends at byte 6000");
    expect(file.tryRead(into, 0)).toBe(true);
    await file.close();
    expect(() => file.tryRead(into, 0)).toThrow();
  });

  it("closes a file that nobody refers to any more", async () => {
    const folder = temporaryFolder();
    const files = new FolderFiles(folder);
    await writeFile(files, "a.seg", Buffer.from("0123456789"));
    await files.open("a.seg");
    expect(openFilesBelow(folder).length).toBe(1);
    while (openFilesBelow(folder).length > 0) {
      collectGarbage();
      await nextTurn();
    }
  });

  it("takes folders and files with other names for none of its own", async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "quarantine"));
    closeSync(openSync(join(folder, "LOCK"), "w"));
    const files = new FolderFiles(folder);
    expect(await files.list()).toEqual([]);
    await files.removeUnfinished();
    expect(readdirSync(folder).toSorted()).toEqual(["LOCK", "quarantine"]);
  });

  it("keeps no descriptor of a file that is closed or was given up", async () => {
    const folder = temporaryFolder();
    const files = new FolderFiles(folder);
    await writeFile(files, "a.seg", Buffer.from("x"));
    await readFile(files, "a.seg");
    const writer = await files.create("b.seg");
    await writer.abort();
    expect(openFilesBelow(folder)).toEqual([]);
  });

  it("opens as before when a process was killed before it committed", async () => {
    const folder = temporaryFolder();
    const files = new FolderFiles(folder);
    await writeFile(files, "a.seg", Buffer.from("before"));
    for (const name of ["a.seg", "b.seg"]) {
      const path = fileURLToPath(new URL("testing/unfinished-file-process.ts", import.meta.url));
      const args = ["--conditions=@sheaf/source", "--import", "tsx", path, folder, name];
      const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
      onTestFinished(() => void child.kill("SIGKILL"));
      await once(child.stdout, "data");
      const exit = once(child, "exit");
      child.kill("SIGKILL");
      expect(await exit).toEqual([null, "SIGKILL"]);
    }
    expect(readdirSync(folder)).toHaveLength(3);
    expect(await files.list()).toEqual(["a.seg"]);
    expect((await readFile(files, "a.seg"))?.toString()).toBe("before");
    await files.removeUnfinished();
    expect(readdirSync(folder)).toEqual(["a.seg"]);
  });

  it("is storage_full on a full disk, and leaves no file", async (context) => {
    const folder = tinyDisk();
    if (folder === null) {
      context.skip("no file system may be mounted here");
      return;
    }
    const files = new FolderFiles(folder);
    await writeFile(files, "a.seg", Buffer.from("before"));
    const writer = await files.create("b.seg");
    const piece = Buffer.alloc(65_536, 1);
    const fill = async (): Promise<void> => {
      for (let i = 0; i < 100; i++) await writer.write(piece);
    };
    await expect(fill()).rejects.toMatchObject({ code: "storage_full", status: 507 });
    await writer.abort();
    expect(readdirSync(folder)).toEqual(["a.seg"]);
    await writeFile(files, "c.seg", piece);
    expect(await files.list()).toEqual(["a.seg", "c.seg"]);
  });
});

/** A file system of 1 MiB; `null`: this process may mount none. */
function tinyDisk(): string | null {
  const folder = temporaryFolder();
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], { stdio: "ignore" });
  } catch {
    return null;
  }
  onTestFinished(() => void execFileSync("umount", ["--lazy", folder]));
  return folder;
}

/** Paths of this process's open files in a folder. */
function openFilesBelow(folder: string): readonly string[] {
  return readdirSync("/proc/self/fd")
    .map((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`);
      } catch {
        return "";
      }
    })
    .filter((path) => path.startsWith(folder));
}
