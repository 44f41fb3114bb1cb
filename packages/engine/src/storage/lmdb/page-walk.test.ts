import { readFileSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { checkFile } from "./check-file.ts";
import { createDiskSpace } from "../folder/disk-space.ts";
import { LmdbEnvironment } from "./lmdb-environment.ts";
import { LmdbFile } from "./lmdb-file.ts";
import { PageWalk } from "./page-walk.ts";

const PAGE = 4_096;

function open(folder: string): LmdbEnvironment {
  return new LmdbEnvironment({ folder, name: "test", disk: createDiskSpace(tmpdir()) });
}

/** What the walk sees, and what it complains about. */
function walk(path: string): { entries: [string, number][]; problems: string[] } {
  const problems: string[] = [];
  const file = new LmdbFile(path);
  const pages = new PageWalk(file, (problem) => problems.push(problem));
  const entries = [...pages.entries()].map(({ key, value }): [string, number] => [
    Buffer.from(key).toString("hex"),
    value.length,
  ]);
  pages.checkFreePages();
  file.close();
  return { entries, problems };
}

/** A file with several levels, values that span pages, and free pages. Its environment is closed. */
async function bigFile(): Promise<string> {
  const folder = join(temporaryFolder(), "e");
  const environment = open(folder);
  for (let round = 0; round < 4; round++) {
    await environment.transact(() => {
      for (let i = 0; i < 400; i++)
        environment.put(key(i * 7 + round), Buffer.alloc(((i * 31) % 90) * 80, i));
    });
  }
  await environment.transact(() => {
    for (let i = 0; i < 400; i += 3) environment.remove(key(i * 7));
  });
  await environment.close();
  return join(folder, "data.mdb");
}

function key(n: number): Buffer {
  const bytes = Buffer.alloc(5, 2);
  bytes.writeUInt32BE(n, 1);
  return bytes;
}

function changed(path: string, change: (bytes: Buffer) => void): void {
  const bytes = readFileSync(path);
  change(bytes);
  writeFileSync(path, bytes);
}

describe("a walk over the pages of a file", () => {
  it("sees what LMDB has written, and nothing wrong, after any writes", async () => {
    const operation = fc.record({
      key: fc.nat(300),
      bytes: fc.oneof(fc.constant(-1), fc.nat(3_000), fc.integer({ min: 3_000, max: 30_000 })),
    });
    const transactions = fc.array(fc.array(operation, { maxLength: 60 }), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(transactions, fc.boolean(), async (rounds, copied) => {
        const folder = join(temporaryFolder(), "e");
        const environment = open(folder);
        const expected = new Map<string, number>();
        for (const round of rounds) {
          await environment.transact(() => {
            for (const { key: n, bytes } of round) {
              if (bytes < 0) {
                environment.remove(key(n));
                expected.delete(key(n).toString("hex"));
              } else {
                environment.put(key(n), Buffer.alloc(bytes, n));
                expected.set(key(n).toString("hex"), bytes);
              }
            }
          });
        }
        const copy = `${folder}-copy`;
        if (copied) await environment.copyTo(copy);
        await environment.close();
        const { entries, problems } = walk(join(copied ? copy : folder, "data.mdb"));
        expect(problems).toEqual([]);
        expect(entries).toEqual([...expected].toSorted(([a], [b]) => (a < b ? -1 : 1)));
      }),
      { numRuns: 40 },
    );
  });

  it("finds nothing in a file that nothing was written to", async () => {
    const folder = join(temporaryFolder(), "e");
    await open(folder).close();
    expect(walk(join(folder, "data.mdb"))).toEqual({ entries: [], problems: [] });
  });

  it("reports a page that is gone, and goes on beside it", async () => {
    const path = await bigFile();
    const whole = walk(path);
    const root = rootOf(path);
    // The page before the root is one of the newest leaves or branches; which one does not matter.
    let hit = 0;
    for (let page = root - 1; page > root - 12; page--) {
      changed(path, (bytes) => bytes.fill(0, page * PAGE, (page + 1) * PAGE));
      const { entries, problems } = walk(path);
      if (problems.length === 0) continue;
      hit += 1;
      expect(problems[0]).toMatch(/^page \d+/u);
      expect(entries.length).toBeLessThan(whole.entries.length);
    }
    expect(hit).toBeGreaterThan(0);
  });

  it.each([
    ["its first meta page is zeroed", (bytes: Buffer) => bytes.fill(0, 0, PAGE), "meta page 0 is not one"],
    [
      "its second meta page is zeroed",
      (bytes: Buffer) => bytes.fill(0, PAGE, 2 * PAGE),
      "meta page 1 is not one",
    ],
    ["it is of another program", (bytes: Buffer) => bytes.fill(7), "meta page 0 is not one"],
    ["a transaction is from elsewhere", (bytes: Buffer) => (bytes[153] = 9), "do not belong together"],
  ])("refuses a file when %s", async (_name, change, message) => {
    const path = await bigFile();
    changed(path, change);
    expect(() => checkFile(path, "collections/ab/c", false)).toThrow(
      expect.objectContaining({ code: "collection_unavailable", message: expect.stringContaining(message) }),
    );
  });

  it("refuses a file that was cut off, and leaves an empty one to LMDB", async () => {
    const path = await bigFile();
    const { length } = readFileSync(path);
    for (const share of [0.9, 0.5, 0.1]) {
      truncateSync(path, Math.floor(length * share));
      expect(() => checkFile(path, "x", false)).toThrow("beyond the end of the file");
    }
    truncateSync(path, 100);
    expect(() => checkFile(path, "x", false)).toThrow("it has only 100 bytes");
    truncateSync(path, 0);
    checkFile(path, "x", false);
  });

  it("reads on with one meta page where that is wanted", async () => {
    const path = await bigFile();
    const { entries } = walk(path);
    for (const page of [0, 1]) {
      const copy = join(temporaryFolder(), "data.mdb");
      writeFileSync(copy, readFileSync(path));
      changed(copy, (bytes) => bytes.fill(0, page * PAGE, (page + 1) * PAGE));
      const problems: string[] = [];
      const file = new LmdbFile(copy, (problem) => problems.push(problem));
      const found = [...new PageWalk(file, (problem) => problems.push(problem)).entries()].length;
      file.close();
      expect(problems[0]).toContain(`meta page ${page}`);
      // The newest state, or the one before its last transaction, which had 134 entries more.
      expect([entries.length, entries.length + 134]).toContain(found);
    }
  });

  it("never throws, whatever bits are turned", async () => {
    const path = await bigFile();
    const original = readFileSync(path);
    const flips = fc.array(fc.nat(original.length * 8 - 1), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(flips, (bits) => {
        const bytes = Buffer.from(original);
        for (const bit of bits) bytes[bit >> 3]! ^= 1 << (bit & 7);
        writeFileSync(path, bytes);
        const problems: string[] = [];
        try {
          const file = new LmdbFile(path, (problem) => problems.push(problem));
          const pages = new PageWalk(file, (problem) => problems.push(problem));
          for (const { key: found } of pages.entries()) expect(found.length).toBeLessThan(PAGE);
          pages.checkFreePages();
          file.close();
        } catch (error) {
          expect(error).toMatchObject({ name: "DamagedFile" });
        }
      }),
      { numRuns: 150 },
    );
  });
});

function rootOf(path: string): number {
  const file = new LmdbFile(path);
  file.close();
  return file.meta.main.root ?? 0;
}
