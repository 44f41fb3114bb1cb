import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createDiskSpace } from "../storage/folder/disk-space.ts";
import { LmdbEnvironment } from "../storage/lmdb/lmdb-environment.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { LookupCache } from "./lookup-cache.ts";

const KEY = Buffer.from("k");

describe("LookupCache", () => {
  it("looks up once between two commits, and never keeps what a commit has changed", async () => {
    const folder = temporaryFolder();
    const environment = new LmdbEnvironment({
      folder: join(folder, "e"),
      name: "test",
      disk: createDiskSpace(folder),
    });
    const cache = new LookupCache<{ readonly text: string }>(environment);
    let lookups = 0;
    const find = (): string | undefined =>
      cache.get("k", () => {
        lookups += 1;
        const value = environment.get(KEY);
        return value === null ? null : { text: Buffer.from(value).toString() };
      })?.text;
    const put = (text: string): Promise<void> =>
      environment.transact(() => environment.put(KEY, Buffer.from(text)));

    expect([find(), find(), lookups], "what is not there is not kept").toEqual([undefined, undefined, 2]);
    await put("one");
    expect([find(), find(), lookups]).toEqual(["one", "one", 3]);
    let before = "one";
    for (let round = 0; round < 50; round++) {
      const text = `${round}`;
      const written = put(text);
      // Whenever the commit becomes visible, what came before it is never kept beyond it.
      for (let turn = 0; turn < 20; turn++) {
        expect([before, text]).toContain(find());
        await nextTurn();
      }
      await written;
      expect(find()).toBe(text);
      before = text;
    }
    const failed = environment.transact(() => {
      environment.put(KEY, Buffer.from("never"));
      throw new Error("changed its mind");
    });
    await expect(failed).rejects.toThrow("changed its mind");
    expect(find()).toBe("49");
    await environment.close();
  });

  it("keeps no more than a bound of bytes, and nothing that is larger", async () => {
    const folder = temporaryFolder();
    const environment = new LmdbEnvironment({
      folder: join(folder, "e"),
      name: "test",
      disk: createDiskSpace(folder),
    });
    const cache = new LookupCache<{ readonly text: string }>(environment, 10_000);
    let lookups = 0;
    const find = (key: string, length: number): unknown =>
      cache.get(key, () => {
        lookups += 1;
        return { text: "x".repeat(length) };
      });
    for (const key of ["a", "b", "a", "b"]) find(key, 4_000);
    expect(lookups, "both fit").toBe(2);
    for (const key of ["c", "b", "c"]) find(key, 4_000);
    expect(lookups, "a made room").toBe(3);
    find("a", 4_000);
    for (let i = 0; i < 2; i++) find("large", 20_000);
    expect(lookups).toBe(6);
    await environment.close();
  });
});
