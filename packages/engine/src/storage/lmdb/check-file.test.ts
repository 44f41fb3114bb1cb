import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { randomOf } from "../../segment/dense/testing/data-sets.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { checkFile } from "./check-file.ts";
import { createDiskSpace } from "../folder/disk-space.ts";
import { LmdbEnvironment } from "./lmdb-environment.ts";
import { LmdbFile } from "./lmdb-file.ts";

const META_BYTES = 2 * 4_096;
/** What a disk writes at once. */
const SECTOR_BYTES = 512;
const EVERYTHING = { start: Uint8Array.of(0x00), end: Uint8Array.of(0xff) };
const FAILURE = new Error("an action that fails");

/** Writes, of which those of negative length are removals, and whether all of them are taken back in the end. */
const action = fc.record({
  writes: fc.array(
    fc.record({
      key: fc.nat(400),
      bytes: fc.oneof(fc.constant(-1), fc.nat(3_000), fc.integer({ min: 3_000, max: 30_000 })),
    }),
    { minLength: 1, maxLength: 60 },
  ),
  fails: fc.boolean(),
});
const round = fc.record({
  /** Most of them share a transaction. */
  actions: fc.array(action, { minLength: 1, maxLength: 4 }),
  /** Whether the process ends in the middle of it, and the next one goes on with what that left. */
  crashes: fc.boolean(),
  /** Of the sectors that reach the disk, and of how far the file has grown. */
  seed: fc.nat(),
});

type Round = typeof round extends fc.Arbitrary<infer T> ? T : never;
type Contents = ReadonlyMap<string, string>;

function open(folder: string): LmdbEnvironment {
  return new LmdbEnvironment({ folder, name: "test", disk: createDiskSpace(tmpdir()), thorough: true });
}

function contentsOf(environment: LmdbEnvironment): Contents {
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
  return new Map(environment.entries(EVERYTHING).map(({ key, value }) => [text(key), text(value)]));
}

function transactionOf(path: string): bigint {
  const file = new LmdbFile(path);
  file.close();
  return file.meta.transaction;
}

async function run(environment: LmdbEnvironment, { actions, seed }: Round): Promise<void> {
  const commits = actions.map(({ writes, fails }) =>
    environment.transact(() => {
      for (const { key, bytes } of writes) {
        const name = Buffer.from(`\u0002${String(key).padStart(4, "0")}`);
        if (bytes < 0) environment.remove(name);
        else environment.put(name, Buffer.alloc(bytes, seed));
      }
      if (fails) throw FAILURE;
    }),
  );
  for (const [i, outcome] of (await Promise.allSettled(commits)).entries()) {
    const expected = actions[i]?.fails === true ? { reason: FAILURE } : { status: "fulfilled" };
    expect(outcome).toMatchObject(expected);
  }
}

/** What is left where a process or the power ends before a meta page is written: any part of what precedes it. */
function interrupted(before: Buffer, after: Buffer, seed: number): Buffer {
  const random = randomOf(seed);
  const grown = before.length + Math.floor(random() * Math.max(0, after.length - before.length + 1));
  const file = Buffer.alloc(grown);
  before.copy(file);
  for (let at = META_BYTES; at < grown; at += SECTOR_BYTES) {
    if (random() < 0.5) after.copy(file, at, at, Math.min(at + SECTOR_BYTES, grown));
  }
  return file;
}

describe("the check of a file before LMDB opens it", () => {
  it("never refuses what a crash may leave, wherever in a transaction it comes", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(round, { minLength: 1, maxLength: 12 }), async (rounds) => {
        const folder = join(temporaryFolder(), "e");
        const path = join(folder, "data.mdb");
        let environment = open(folder);
        for (const each of rounds) {
          const contents = contentsOf(environment);
          const before = readFileSync(path);
          const transaction = transactionOf(path);
          await run(environment, each);
          const after = readFileSync(path);
          // A later one may write where the state before had pages.
          const isOne = transactionOf(path) <= transaction + 1n;
          if (!each.crashes || !isOne) {
            checkFile(path, "committed", true);
            continue;
          }
          await environment.close();
          writeFileSync(path, interrupted(before, after, each.seed));
          checkFile(path, "interrupted", true);
          environment = open(folder);
          expect(contentsOf(environment)).toEqual(contents);
        }
        await environment.close();
        checkFile(path, "closed", true);
      }),
      { numRuns: 40 },
    );
  });
});

it("refuses what lies in the place of LMDB's lock file, and takes no lock file, before LMDB ends the process", async () => {
  const path = temporaryFolder();
  const folder = join(path, "store");
  const lock = join(folder, "lock.mdb");
  const open = (): LmdbEnvironment =>
    new LmdbEnvironment({ folder, name: "store", disk: createDiskSpace(path) });
  await open().close();
  rmSync(lock);
  await open().close();
  expect(existsSync(lock)).toBe(true);
  const places = [
    (): unknown => mkdirSync(lock),
    (): void => symlinkSync("nowhere", lock),
    (): void => symlinkSync("lock.mdb", lock),
    (): void => symlinkSync(".", lock),
  ];
  for (const place of places) {
    rmSync(lock, { recursive: true });
    place();
    expect(open).toThrow(
      expect.objectContaining({
        code: "collection_unavailable",
        message: expect.stringContaining("is no file"),
      }),
    );
  }
});
