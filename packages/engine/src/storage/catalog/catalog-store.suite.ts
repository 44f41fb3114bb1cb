/** The behaviour of every place for the catalog. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { CatalogCommit, CatalogRange, CatalogStore } from "./catalog-store.ts";

export interface CatalogStoreSuite {
  readonly name: string;
  /** An empty one. */
  readonly open: () => CatalogStore;
}

const ALL: CatalogRange = { start: Uint8Array.of(0x00), end: Uint8Array.of(0xff) };
const bytes = (text: string): Buffer => Buffer.from(text);
const range = (start: string, end: string): CatalogRange => ({ start: bytes(start), end: bytes(end) });
const textOf = (value: Uint8Array | null): string | null => value && Buffer.from(value).toString();

export function catalogStoreSuite({ name, open }: CatalogStoreSuite): void {
  describe(`behaviour of ${name}`, () => {
    let store: CatalogStore;

    beforeEach(() => {
      store = open();
    });
    afterEach(() => store.close());

    const commit = (commit: Partial<CatalogCommit>): Promise<"done" | "conflict"> =>
      store.commit({ conditions: [], clears: [], writes: [], ...commit });
    const put = (entries: Readonly<Record<string, string | null>>): Promise<unknown> =>
      commit({
        writes: Object.entries(entries).map(([key, value]) => ({
          key: bytes(key),
          value: value === null ? null : bytes(value),
        })),
      });
    const found = async (page: Partial<CatalogRange & { limit: number; offset: number }> = {}) =>
      (await store.entries({ ...ALL, limit: 1_000, ...page })).map(
        ({ key, value }) => `${textOf(key)}=${textOf(value)}`,
      );

    it("has nothing at first", async () => {
      expect(await store.get(bytes("a"))).toBeNull();
      expect(await found()).toEqual([]);
      expect(await store.count(ALL)).toBe(0);
    });

    it("has what was committed, in the order of the keys' bytes, and not what was removed", async () => {
      await put({ b: "2", a: "1", "a\u0000": "3", "\u00e9": "4", ab: "5", gone: "6" });
      await put({ gone: null, never: null, b: "7" });
      expect(await found()).toEqual(["a=1", "a\u0000=3", "ab=5", "b=7", "\u00e9=4"]);
      expect(textOf(await store.get(bytes("ab")))).toBe("5");
      const values = await store.getAll([bytes("b"), bytes("gone"), bytes("a")]);
      expect(values.map(textOf)).toEqual(["7", null, "1"]);
      expect(await store.count(range("a", "b"))).toBe(3);
    });

    it("gives pages of a range", async () => {
      await put({ a: "1", b: "2", c: "3", d: "4" });
      expect(await found({ ...range("b", "d") })).toEqual(["b=2", "c=3"]);
      expect(await found({ limit: 2, offset: 1 })).toEqual(["b=2", "c=3"]);
      expect(await found({ limit: 2, offset: 3 })).toEqual(["d=4"]);
      expect(await found({ offset: 9 })).toEqual([]);
      expect(await found({ ...range("c", "b") })).toEqual([]);
    });

    it("keeps values that are empty and values of a megabyte", async () => {
      const long = Buffer.alloc(1024 * 1024, 0xab);
      await commit({ writes: [{ key: bytes("long"), value: long }] });
      await put({ empty: "" });
      expect(long.equals((await store.get(bytes("long"))) ?? bytes(""))).toBe(true);
      expect(textOf(await store.get(bytes("empty")))).toBe("");
    });

    it("has no entry under a key that is too long to be one", async () => {
      const key = Buffer.alloc(5_000, 1);
      expect(await store.get(key)).toBeNull();
      expect(await store.getAll([key])).toEqual([null]);
    });

    it("commits where all conditions hold", async () => {
      await put({ a: "1" });
      const conditions = [
        { key: bytes("a"), value: bytes("1") },
        { key: bytes("b"), value: null },
        { range: range("a", "c"), count: 1 },
      ];
      expect(await commit({ conditions, writes: [{ key: bytes("b"), value: bytes("2") }] })).toBe("done");
      expect(await found()).toEqual(["a=1", "b=2"]);
    });

    it.each([
      ["a value that was replaced", { key: bytes("a"), value: bytes("0") }],
      ["a value that is longer now", { key: bytes("a"), value: bytes("") }],
      ["an entry that is gone", { key: bytes("b"), value: bytes("1") }],
      ["an entry that came", { key: bytes("a"), value: null }],
      ["a range that grew", { range: range("a", "b"), count: 0 }],
      ["a range that shrank", { range: range("a", "c"), count: 2 }],
    ])("writes nothing with %s", async (_name, condition) => {
      await put({ a: "1" });
      const conditions = [{ key: bytes("a"), value: bytes("1") }, condition];
      const change = { conditions, clears: [ALL], writes: [{ key: bytes("c"), value: bytes("3") }] };
      expect(await commit(change)).toBe("conflict");
      expect(await found()).toEqual(["a=1"]);
    });

    it("lets one of several commits with the same condition through", async () => {
      const conditions = [{ key: bytes("a"), value: null }];
      const outcomes = await Promise.all(
        ["1", "2", "3"].map((value) =>
          commit({ conditions, writes: [{ key: bytes("a"), value: bytes(value) }] }),
        ),
      );
      expect(outcomes).toEqual(["done", "conflict", "conflict"]);
      expect(await found()).toEqual(["a=1"]);
    });

    it("clears ranges before it writes", async () => {
      await put({ a: "1", b: "2", c: "3" });
      await commit({ clears: [range("a", "c")], writes: [{ key: bytes("b"), value: bytes("new") }] });
      expect(await found()).toEqual(["b=new", "c=3"]);
    });

    it("has a version that every commit changes and no read", async () => {
      const known = async (): Promise<number> => {
        for (;;) {
          const version = await store.version();
          // What keeps it is elsewhere, and answers late.
          if (version !== null) return version;
          await new Promise((resolve) => setTimeout(resolve, 10));
        }
      };
      const before = await known();
      await store.get(bytes("a"));
      await found();
      expect(await known()).toBe(before);
      await put({ a: "1" });
      expect(await known()).not.toBe(before);
    });

    it("writes thousands of entries at once", async () => {
      const numbers = Array.from({ length: 5_000 }, (_, i) => `k${i}`.padEnd(9, "."));
      await put(Object.fromEntries(numbers.map((key) => [key, "v"])));
      expect(await store.count(ALL)).toBe(numbers.length);
      expect(await store.size()).toBeGreaterThan(numbers.length);
      await commit({ clears: [ALL] });
      expect(await store.count(ALL)).toBe(0);
    });
  });
}
