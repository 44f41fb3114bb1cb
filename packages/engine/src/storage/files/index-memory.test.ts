import { describe, expect, it } from "vitest";
import { DataAbsent } from "../data-absent.ts";
import { IndexMemory, type SegmentMemory } from "./index-memory.ts";
import { LazyPart } from "./lazy-part.ts";

/** A part of so many bytes; `log`: told of every read. */
function part(memory: SegmentMemory, bytes: number, log: string[] = [], name = ""): LazyPart<string> {
  return new LazyPart(memory, {
    bytes,
    tryRead: () => new Uint8Array(0),
    read: () => Promise.resolve(new Uint8Array(0)),
    parse: () => {
      log.push(name);
      return name;
    },
  });
}

describe("IndexMemory", () => {
  it("holds parts of all segments to one limit: those that are not used make room", () => {
    const index = new IndexMemory(100);
    const [one, two] = [index.forSegment(), index.forSegment()];
    const reads: string[] = [];
    const [a, b, c] = [part(one, 40, reads, "a"), part(two, 40, reads, "b"), part(two, 40, reads, "c")];
    a.get();
    b.get();
    expect(index.taken.parts).toBe(80);
    c.get();
    expect([index.taken.parts, index.evictions]).toStrictEqual([80, 1]);
    expect([a.isLoaded, b.isLoaded, c.isLoaded]).toStrictEqual([false, true, true]);
    expect(a.get()).toBe("a");
    expect(index.taken.parts).toBe(80);
    expect(reads).toStrictEqual(["a", "b", "c", "a"]);
    expect(index.reads).toBe(4);
  });

  it("keeps what had to be fetched until its file is here", async () => {
    const index = new IndexMemory(100);
    const one = index.forSegment();
    const late = new LazyPart(one, {
      bytes: 60,
      tryRead: () => null,
      read: () => Promise.resolve(new Uint8Array(0)),
      parse: () => "late",
    });
    expect(() => late.get()).toThrow(DataAbsent);
    await late.prepare({});
    part(one, 50).get();
    part(one, 50).get();
    expect([late.isLoaded, index.evictions]).toStrictEqual([true, 2]);
    one.unpin();
    expect(index.taken.parts).toBe(60);
    part(one, 50).get();
    expect([late.isLoaded, index.taken.parts]).toStrictEqual([false, 50]);
  });

  it("keeps no longer what was still being fetched as its file came", async () => {
    const index = new IndexMemory(100);
    const one = index.forSegment();
    let arrive: (bytes: Uint8Array) => void = () => {};
    const late = new LazyPart(one, {
      bytes: 60,
      tryRead: () => null,
      read: () => new Promise<Uint8Array>((resolve) => (arrive = resolve)),
      parse: () => "late",
    });
    const ready = late.prepare({});
    one.unpin();
    arrive(new Uint8Array(0));
    await ready;
    expect([late.isLoaded, index.taken.parts]).toStrictEqual([true, 60]);
    part(one, 50).get();
    part(one, 50).get();
    expect(late.isLoaded).toBe(false);
  });

  it("gives everything of a segment back when it is closed, and keeps none of it afterwards", async () => {
    const index = new IndexMemory(1_000);
    const [one, two] = [index.forSegment(), index.forSegment()];
    part(two, 7).get();
    const late = new LazyPart(one, {
      bytes: 50,
      tryRead: () => null,
      read: () => Promise.resolve(new Uint8Array(0)),
      parse: () => "late",
    });
    await Promise.all([late.prepare({}), late.prepare({})]);
    part(one, 40).get();
    one.add("codes", 100);
    expect(one.take("vectors", 200)).toBe(true);
    expect(one.take("copies", 300)).toBe(true);
    expect(index.taken).toStrictEqual({
      vectors: 200,
      codes: 100,
      copies: 300,
      unfiled: 0,
      written: 0,
      parts: 97,
    });
    one.close();
    expect(index.taken).toStrictEqual({ vectors: 0, codes: 0, copies: 0, unfiled: 0, written: 0, parts: 7 });
    expect(one.take("vectors", 1)).toBe(false);
    expect(part(one, 40).get()).toBe("");
    one.close();
    expect(index.used).toBe(7);
  });

  it("lets vectors and copies drive out parts, but for the share that is theirs", () => {
    const index = new IndexMemory(100);
    const memory = index.forSegment();
    const parts = Array.from({ length: 10 }, () => part(memory, 10));
    for (const each of parts) each.get();
    expect(index.used).toBe(100);
    expect(memory.take("vectors", 60, 0.5)).toBe(false);
    expect(memory.take("vectors", 60)).toBe(true);
    expect(index.used).toBe(100);
    expect(memory.take("copies", 16)).toBe(false);
    memory.add("codes", 100);
    expect(index.taken.parts).toBe(20);
    memory.giveBack("vectors");
    expect(index.taken).toStrictEqual({
      vectors: 0,
      codes: 100,
      copies: 0,
      unfiled: 0,
      written: 0,
      parts: 20,
    });
  });

  it("counts what is unsealed: parts make room for it, and vectors leave it more than a quarter", () => {
    const index = new IndexMemory(100);
    const memory = index.forSegment();
    const parts = Array.from({ length: 10 }, () => part(memory, 10));
    for (const each of parts) each.get();
    index.unsealed.add(45);
    memory.add("unfiled", 10);
    expect(index.taken).toMatchObject({ unfiled: 10, written: 0, parts: 40 });
    expect(memory.take("vectors", 46)).toBe(false);
    expect(memory.take("vectors", 45)).toBe(true);
    expect(index.taken.parts).toBe(20);
    index.unsealed.add(-45);
    expect(memory.take("vectors", 20)).toBe(true);
  });

  it("says how short it is, and when by far", () => {
    const index = new IndexMemory(100);
    const memory = index.forSegment();
    const state = (): unknown[] => [index.isShort, index.shortage, index.isFarShort];
    memory.add("codes", 70);
    index.unsealed.add(5);
    expect(state()).toEqual([false, 0, false]);
    index.unsealed.add(20);
    expect(state()).toEqual([true, 20, false]);
    memory.add("unfiled", 6);
    expect(state()).toEqual([true, 26, true]);
    const large = new IndexMemory(2 ** 32);
    large.unsealed.add(2 ** 32 * 0.75 + 2 ** 26 + 1);
    expect(large.isFarShort).toBe(true);
    const any = new IndexMemory();
    any.unsealed.add(2 ** 40);
    expect([any.isShort, any.shortage, any.isFarShort]).toEqual([false, 0, false]);
  });

  it("counts what is in no file as unsealed, beyond a quarter", () => {
    const index = new IndexMemory(100);
    const memory = index.forSegment();
    memory.add("unfiled", 60);
    // Of the 50 that may be unsealed, three quarters.
    expect(index.unsealed.excess).toBe(0);
    memory.add("unfiled", 10);
    expect(index.unsealed.excess).toBe(7.5);
    memory.close();
    expect(index.unsealed.excess).toBe(0);
  });

  it("gives what is unsealed half of itself, or 2 GiB", () => {
    const most = (index: IndexMemory): boolean[] =>
      [2 ** 20, 2 ** 31].map((bytes) => {
        index.unsealed.add(bytes);
        return index.unsealed.excess > 0;
      });
    expect(most(new IndexMemory(2 ** 20))).toStrictEqual([true, true]);
    expect(most(new IndexMemory(2 ** 30))).toStrictEqual([false, true]);
    expect(most(new IndexMemory())).toStrictEqual([false, true]);
    expect(most(new IndexMemory(2 ** 20, 2 ** 40))).toStrictEqual([false, false]);
  });
});

const MIB = 2 ** 20;

it("counts what the writing of a segment works with, beyond what is beside the limit for it", () => {
  const memory = IndexMemory.within(1_024 * MIB);
  const [first, second] = [memory.forSegment(), memory.forSegment()];
  first.add("written", 100 * MIB);
  expect(memory.used).toBe(0);
  second.add("written", 100 * MIB);
  expect(memory.used).toBe(72 * MIB);
  // Of 896 MiB three quarters, less what is counted.
  expect(second.take("vectors", 601 * MIB)).toBe(false);
  expect(second.take("vectors", 600 * MIB)).toBe(true);
  second.giveBack("written");
  first.close();
  expect(memory.used).toBe(600 * MIB);
});
