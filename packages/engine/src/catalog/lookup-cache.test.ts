import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { MemoryCatalogStore } from "../storage/catalog/memory-catalog-store.ts";
import { createDiskSpace } from "../storage/folder/disk-space.ts";
import { LmdbCatalogStore } from "../storage/lmdb/lmdb-catalog-store.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { LookupCache } from "./lookup-cache.ts";

const KEY = Buffer.from("k");

describe("LookupCache", () => {
  it("looks up once between two commits, and never keeps what a commit has changed", async () => {
    const folder = temporaryFolder();
    const store = new LmdbCatalogStore({ folder: join(folder, "e"), disk: createDiskSpace(folder) });
    const cache = new LookupCache<{ readonly text: string }>(store);
    let lookups = 0;
    const find = async (): Promise<string | undefined> => {
      const found = await cache.get("k", async () => {
        lookups += 1;
        const value = await store.get(KEY);
        return value === null ? null : { text: Buffer.from(value).toString() };
      });
      return found?.text;
    };
    const put = (text: string): Promise<unknown> =>
      store.commit({ conditions: [], clears: [], writes: [{ key: KEY, value: Buffer.from(text) }] });

    expect([await find(), await find(), lookups], "what is not there is not kept").toEqual([
      undefined,
      undefined,
      2,
    ]);
    await put("one");
    expect([await find(), await find(), lookups]).toEqual(["one", "one", 3]);
    let before = "one";
    for (let round = 0; round < 50; round++) {
      const text = `${round}`;
      const written = put(text);
      // Whenever the commit becomes visible, what came before it is never kept beyond it.
      for (let turn = 0; turn < 20; turn++) {
        expect([before, text]).toContain(await find());
        await nextTurn();
      }
      await written;
      expect(await find()).toBe(text);
      before = text;
    }
    await store.close();
  });

  it("keeps nothing that was read across a commit", async () => {
    const store = new MemoryCatalogStore();
    const cache = new LookupCache<{ readonly text: string }>(store);
    const read = cache.get("k", async () => {
      await store.commit({ conditions: [], clears: [], writes: [{ key: KEY, value: KEY }] });
      return { text: "before" };
    });
    expect(await read).toEqual({ text: "before" });
    expect(await cache.get("k", async () => ({ text: "after" }))).toEqual({ text: "after" });
  });

  it("looks up once for all who ask at once, and again for who asks after a commit", async () => {
    const store = new MemoryCatalogStore();
    const cache = new LookupCache<{ readonly text: string }>(store);
    const answers: ((text: string) => void)[] = [];
    const get = (): Promise<string> =>
      cache
        .get("k", async () => ({ text: await new Promise<string>((resolve) => answers.push(resolve)) }))
        .then(({ text }) => text);
    const commit = (): Promise<unknown> =>
      store.commit({ conditions: [], clears: [], writes: [{ key: KEY, value: KEY }] });
    const before = [get(), get(), get()];
    await nextTurn();
    expect(answers).toHaveLength(1);
    await commit();
    const after = [get(), get(), get()];
    await nextTurn();
    expect(answers).toHaveLength(1);
    answers[0]!("before");
    await nextTurn();
    expect(answers).toHaveLength(2);
    answers[1]!("after");
    expect(await Promise.all(before)).toEqual(["before", "before", "before"]);
    expect(await Promise.all(after)).toEqual(["after", "after", "after"]);
  });

  it("shares the error of a look-up, and looks up again", async () => {
    const cache = new LookupCache<{ readonly text: string }>(new MemoryCatalogStore());
    const fail = (): Promise<never> => Promise.reject(new Error("away"));
    const failed = await Promise.allSettled([cache.get("k", fail), cache.get("k", fail)]);
    expect(failed.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(await cache.get("k", async () => ({ text: "there" }))).toEqual({ text: "there" });
  });

  it("keeps no more than a bound of bytes, and nothing that is larger", async () => {
    const cache = new LookupCache<{ readonly text: string }>(new MemoryCatalogStore(), 10_000);
    let lookups = 0;
    const find = (key: string, length: number): Promise<unknown> =>
      cache.get(key, async () => {
        lookups += 1;
        return { text: "x".repeat(length) };
      });
    for (const key of ["a", "b", "a", "b"]) await find(key, 4_000);
    expect(lookups, "both fit").toBe(2);
    for (const key of ["c", "b", "c"]) await find(key, 4_000);
    expect(lookups, "a made room").toBe(3);
    await find("a", 4_000);
    for (let i = 0; i < 2; i++) await find("large", 20_000);
    expect(lookups).toBe(6);
  });
});
