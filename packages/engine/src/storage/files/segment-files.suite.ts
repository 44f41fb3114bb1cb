/** The behaviour of every place for index files. */
import { beforeEach, describe, expect, it } from "vitest";
import { Cancellation } from "@sheaf/protocol";
import { SegmentDamaged } from "./segment-damaged.ts";
import type { SegmentFiles } from "./segment-files.ts";
import { writeSections } from "./section-writer.ts";

export interface SegmentFilesSuite {
  readonly name: string;
  /** An empty place. */
  readonly open: () => SegmentFiles;
}

export async function writeFile(
  files: SegmentFiles,
  name: string,
  ...parts: readonly Uint8Array[]
): Promise<void> {
  const writer = await files.create(name);
  for (const part of parts) await writer.write(part);
  await writer.commit();
}

/** The whole file; `null`: there is none. */
export async function readFile(files: SegmentFiles, name: string): Promise<Buffer | null> {
  const file = await files.open(name);
  if (file === null) return null;
  const bytes = Buffer.alloc(file.size);
  if (!file.tryRead(bytes, 0)) await file.read(bytes, 0);
  await file.close();
  return bytes;
}

export function segmentFilesSuite({ name, open }: SegmentFilesSuite): void {
  describe(`behaviour of ${name}`, () => {
    let files: SegmentFiles;

    beforeEach(() => {
      files = open();
    });

    it("has nothing before the first file", async () => {
      expect(await files.list()).toEqual([]);
      expect(await files.open("a.seg")).toBeNull();
      await files.remove("a.seg");
      await files.removeUnfinished();
      expect(await files.list()).toEqual([]);
    });

    it("shows a file once it is committed, and not before", async () => {
      const writer = await files.create("a.seg");
      await writer.write(Buffer.from("one "));
      expect(await files.list()).toEqual([]);
      expect(await files.open("a.seg")).toBeNull();
      await writer.write(Buffer.from("two"));
      await writer.commit();
      expect(await files.list()).toEqual(["a.seg"]);
      expect((await readFile(files, "a.seg"))?.toString()).toBe("one two");
    });

    it("takes the bytes at once: they may change after a write", async () => {
      const bytes = Buffer.from("before");
      const writer = await files.create("a.seg");
      await writer.write(bytes);
      bytes.fill("x");
      await writer.commit();
      expect((await readFile(files, "a.seg"))?.toString()).toBe("before");
    });

    it("writes and reads shared memory, and views of the middle of memory", async () => {
      const shared = new Uint8Array(new SharedArrayBuffer(64)).map((_, i) => i);
      await writeFile(files, "a.seg", shared.subarray(10, 20));
      const file = (await files.open("a.seg"))!;
      const into = new Uint8Array(new SharedArrayBuffer(16));
      await file.read(into.subarray(3, 9), 2);
      expect([...into]).toEqual([0, 0, 0, 12, 13, 14, 15, 16, 17, 0, 0, 0, 0, 0, 0, 0]);
      if (file.tryRead(into.subarray(0, 2), 8)) expect([...into.subarray(0, 2)]).toEqual([18, 19]);
      await file.close();
    });

    it("has an empty file, too", async () => {
      await writeFile(files, "a.seg");
      expect(await readFile(files, "a.seg")).toEqual(Buffer.alloc(0));
    });

    it("forgets what is aborted, and may write it anew", async () => {
      const writer = await files.create("a.seg");
      await writer.write(Buffer.from("one"));
      await writer.abort();
      await writer.abort();
      expect(await files.list()).toEqual([]);
      await writeFile(files, "a.seg", Buffer.from("two"));
      expect((await readFile(files, "a.seg"))?.toString()).toBe("two");
    });

    it("never replaces a file", async () => {
      await writeFile(files, "a.seg", Buffer.from("one"));
      const writer = await files.create("a.seg");
      await writer.write(Buffer.from("two"));
      await expect(writer.commit()).rejects.toMatchObject({ code: "already_exists" });
      await writer.abort();
      expect((await readFile(files, "a.seg"))?.toString()).toBe("one");
      expect(await files.list()).toEqual(["a.seg"]);
    });

    it("keeps a file whose writer is aborted after the commit", async () => {
      const writer = await files.create("a.seg");
      await writer.commit();
      await writer.abort();
      expect(await files.list()).toEqual(["a.seg"]);
    });

    it("removes unfinished files and no others", async () => {
      await writeFile(files, "a.seg", Buffer.from("one"));
      const writer = await files.create("b.seg");
      await writer.write(Buffer.from("two"));
      await files.removeUnfinished();
      expect(await files.list()).toEqual(["a.seg"]);
      await writer.abort();
    });

    it("lists names in their order and removes single files", async () => {
      for (const file of ["b.seg", "manifest-1", "a.seg"]) await writeFile(files, file);
      expect(await files.list()).toEqual(["a.seg", "b.seg", "manifest-1"]);
      await files.remove("b.seg");
      expect(await files.list()).toEqual(["a.seg", "manifest-1"]);
      expect(await files.open("b.seg")).toBeNull();
    });

    it("puts single files out of the way", async () => {
      for (const file of ["a.seg", "b.seg"]) await writeFile(files, file, Buffer.from(file));
      expect(await files.isQuarantined("b.seg")).toBe(false);
      await files.quarantine("b.seg");
      await files.quarantine("b.seg");
      await files.quarantine("absent.seg");
      expect(await files.isQuarantined("b.seg")).toBe(true);
      expect(await files.isQuarantined("absent.seg")).toBe(false);
      expect(await files.list()).toEqual(["a.seg"]);
      expect(await files.open("b.seg")).toBeNull();
      await writeFile(files, "b.seg", Buffer.from("new"));
      expect((await readFile(files, "b.seg"))?.toString()).toBe("new");
    });

    it.each(["", ".", "..", "../a", "a/b", "/a", "A", "a b", "a\0", "a".repeat(129)])(
      "has no file of the name %j",
      async (bad) => {
        await expect(files.create(bad)).rejects.toMatchObject({ code: "internal" });
        expect(await files.open(bad)).toBeNull();
        await files.remove(bad);
      },
    );

    it("says what is damaged where a file ends too early, and goes on reading", async () => {
      await writeFile(files, "a.seg", Buffer.from("0123456789"));
      const file = (await files.open("a.seg"))!;
      const into = Buffer.alloc(4);
      await expect(file.read(into, 7)).rejects.toThrow(SegmentDamaged);
      await expect(file.read(into, 7)).rejects.toMatchObject({ file: "a.seg", section: null });
      await file.read(into, 6);
      expect(into.toString()).toBe("6789");
      await file.close();
    });

    it("reads nothing for a caller that has gone", async () => {
      await writeFile(files, "a.seg", Buffer.from("0123456789"));
      const aborted = new Cancellation();
      aborted.abort(new Error("gone"));
      await expect(files.open("a.seg", { signal: aborted })).rejects.toMatchObject({ code: "cancelled" });
      const file = (await files.open("a.seg"))!;
      const into = Buffer.alloc(4);
      await expect(file.read(into, 0, { signal: aborted })).rejects.toMatchObject({ code: "cancelled" });
      expect(into).toEqual(Buffer.alloc(4));
      await file.close();
    });

    it("ends reads under way before a file is closed", async () => {
      await writeFile(files, "a.seg", Buffer.alloc(1_000, 7));
      const file = (await files.open("a.seg"))!;
      const parts = Array.from({ length: 20 }, () => Buffer.alloc(1_000));
      const reads = parts.map((part) => file.read(part, 0));
      await file.close();
      await Promise.all(reads);
      expect(parts.every((part) => part.every((byte) => byte === 7))).toBe(true);
      await expect(file.read(Buffer.alloc(1), 0)).rejects.toThrow();
    });

    it("leaves nothing of a file whose writing fails", async () => {
      const failing = writeSections(files, "a.seg", async (writer) => {
        await writer.stream("s");
        await writer.write(Buffer.alloc(200_000));
        throw new Error("out of rows");
      });
      await expect(failing).rejects.toThrow("out of rows");
      expect(await files.list()).toEqual([]);
    });
  });
}
