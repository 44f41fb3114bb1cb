/** A copy without free pages takes the place of an environment's file while it is used. */
import { readFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { createDiskSpace } from "../folder/disk-space.ts";
import { EVERY_KEY } from "./key-range.ts";
import { LmdbEnvironment } from "./lmdb-environment.ts";

const ENTRIES = 2_000;

let path: string;
let free: number;

beforeEach(() => {
  path = temporaryFolder();
  free = 2 ** 40;
});

function open(): LmdbEnvironment {
  const disk = createDiskSpace(path, { diskUsage: () => ({ free, size: 2 ** 41 }) });
  return new LmdbEnvironment({ folder: join(path, "e"), name: "e", disk });
}

function key(i: number): Uint8Array {
  return Buffer.from(`k${String(i).padStart(6, "0")}`);
}

function value(i: number, version: number): Uint8Array {
  return Buffer.from(`secret ${i} of version ${version} `.repeat(i % 50 === 0 ? 400 : 4));
}

async function filled(): Promise<LmdbEnvironment> {
  const environment = open();
  await environment.transact(() => {
    for (let i = 0; i < ENTRIES; i++) environment.put(key(i), value(i, 1));
  });
  await environment.transact(() => {
    for (let i = 0; i < ENTRIES; i += 2) environment.remove(key(i));
  });
  return environment;
}

function holds(text: string): boolean {
  return readFileSync(join(path, "e", "data.mdb")).includes(text);
}

describe("compacting an environment that is open", () => {
  it("leaves no byte of what was removed, and everything else, for what is written next too", async () => {
    const environment = await filled();
    expect(holds("secret 0 of version 1 ")).toBe(true);
    const before = environment.bytes;
    await environment.compact(join(path, "copy"));
    for (let i = 0; i < ENTRIES; i += 10) {
      expect(holds(`secret ${i} of version 1 `)).toBe(false);
      expect(holds(`secret ${i + 1} of version 1 `)).toBe(true);
    }
    expect(environment.bytes).toBeLessThan(before);
    expect(environment.count(EVERY_KEY)).toBe(ENTRIES / 2);
    // Hundreds of pages become free at once.
    await environment.transact(() => {
      for (let i = 0; i < ENTRIES; i++) environment.put(key(i), value(i, 2));
    });
    await environment.compact(join(path, "copy2"));
    await environment.close();
    const again = open();
    expect(again.whole.entryCount).toBe(ENTRIES);
    for (let i = 0; i < ENTRIES; i++) expect(Buffer.from(again.get(key(i))!)).toEqual(value(i, 2));
    expect(holds("of version 1 ")).toBe(false);
    await again.close();
  });

  it("goes on reading and writing meanwhile, and loses nothing", async () => {
    const environment = await filled();
    const over = new AbortController();
    let written = 0;
    const writer = (async () => {
      for (; !over.signal.aborted; written++) {
        const i = written;
        await environment.transact(() => environment.put(key(ENTRIES + i), value(i, 3)));
        expect(environment.get(key(ENTRIES + i))?.length).toBe(value(i, 3).length);
      }
    })();
    const reader = setInterval(() => expect(environment.get(key(1))).not.toBeNull(), 0);
    for (let round = 0; round < 5; round++) await environment.compact(join(path, `copy${round}`));
    over.abort();
    await writer;
    clearInterval(reader);
    expect(written).toBeGreaterThan(5);
    await environment.close();
    const again = open();
    for (let i = 0; i < written; i++) expect(again.get(key(ENTRIES + i))).not.toBeNull();
    expect(again.whole.entryCount).toBe(ENTRIES / 2 + written);
    await again.close();
  });

  it("goes on with its file where there is no room for a copy", async () => {
    const environment = await filled();
    free = 0;
    await expect(environment.compact(join(path, "copy"))).rejects.toMatchObject({ code: "storage_full" });
    free = 2 ** 40;
    await environment.transact(() => environment.put(key(0), value(0, 4)));
    await environment.close();
    expect(existsSync(join(path, "e", "lock.mdb"))).toBe(true);
    const again = open();
    expect(again.whole.entryCount).toBe(ENTRIES / 2 + 1);
    await again.close();
  });
});
