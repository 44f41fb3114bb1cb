import { copyFileSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import * as lmdb from "lmdb";
import { afterAll, describe, expect, it } from "vitest";
import { crc32c } from "../values/crc32c.ts";
import { createDiskSpace } from "../folder/disk-space.ts";
import type { KeyRange } from "./key-range.ts";
import { TurnLock } from "../turn-lock.ts";
import type { EnvironmentOptions } from "./environment-options.ts";
import { LmdbEnvironment } from "./lmdb-environment.ts";

const root = mkdtempSync(join(tmpdir(), "sheaf-environment-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let folders = 0;

function open(options: Partial<EnvironmentOptions> = {}): LmdbEnvironment {
  const folder = join(root, "a", String(folders++));
  const disk = createDiskSpace(tmpdir());
  return new LmdbEnvironment({ folder, name: "collections/ab/test", disk, ...options });
}

/** Few and short, so that they meet. */
const arbitraryKey = fc.uint8Array({ minLength: 1, maxLength: 2, max: 5 });
const arbitraryRange = fc.record({
  start: arbitraryKey,
  end: arbitraryKey,
  limit: fc.option(fc.nat({ max: 6 }), { nil: undefined }),
  offset: fc.option(fc.nat({ max: 6 }), { nil: undefined }),
});
const arbitraryWrite = fc.record({
  key: arbitraryKey,
  // Long ones do not fit beside others into what values are gathered in.
  length: fc.option(fc.oneof(fc.nat({ max: 9 }), fc.integer({ min: 20_000, max: 70_000 })), { nil: null }),
});
const arbitraryAction = fc.record({
  writes: fc.array(arbitraryWrite, { maxLength: 40 }),
  range: arbitraryRange,
  throws: fc.boolean(),
});

/** What an environment should hold: values by the key's bytes as text, which sorts as they do. */
class Model {
  readonly values = new Map<string, Uint8Array>();

  entries({ start, end, limit = Infinity, offset = 0 }: KeyRange): (readonly [string, Uint8Array])[] {
    const [low, high] = [latin1(start), latin1(end)];
    const within = [...this.values].filter(([key]) => key >= low && key < high);
    return within.sort(([a], [b]) => (a < b ? -1 : 1)).slice(offset, offset + limit);
  }
}

function busyFor(milliseconds: number): void {
  const until = performance.now() + milliseconds;
  while (performance.now() < until);
}

function latin1(key: Uint8Array): string {
  return Buffer.from(key).toString("latin1");
}

function check(environment: LmdbEnvironment, model: Model, range: KeyRange): void {
  const found = environment.entries(range).map(({ key, value }) => [latin1(key), digest(value)]);
  expect(found).toEqual(model.entries(range).map(([key, value]) => [key, digest(value)]));
  const { start, end } = range;
  expect(environment.count({ start, end })).toBe(model.entries({ start, end }).length);
  const value = model.values.get(latin1(start));
  const expected = value === undefined ? null : digest(value);
  const got = environment.get(start);
  expect(got === null ? null : digest(got)).toBe(expected);
  const peeked = environment.peek(start);
  expect(peeked === null ? null : digest(peeked)).toBe(expected);
}

/** Comparing long values byte by byte takes `expect` seconds. */
function digest(value: Uint8Array): string {
  return `${value.length} ${crc32c(value)}`;
}

it("leaves nothing behind in lmdb-js once it is closed", async () => {
  const { allDbs } = lmdb as unknown as { readonly allDbs: Map<string, unknown> };
  const before = allDbs.size;
  const environment = open();
  expect(allDbs.size).toBe(before + 1);
  await environment.close();
  expect(allDbs.size).toBe(before);
});

describe("an LMDB environment", () => {
  it("lets the loop turn between the steps of an action, and shows readers what is committed", async () => {
    const environment = open();
    const key = Uint8Array.of(1);
    const seen: (Uint8Array | null)[] = [];
    const reader = setInterval(() => seen.push(environment.get(key)), 0);
    function* steps(): Generator<void, number> {
      environment.put(key, Uint8Array.of(7));
      for (let step = 0; step < 20; step++) {
        busyFor(2);
        expect(environment.get(key)?.[0]).toBe(7);
        yield;
      }
      return 5;
    }
    expect(await environment.transact(() => steps())).toBe(5);
    clearInterval(reader);
    expect(seen.filter((value) => value === null).length).toBeGreaterThan(1);
    expect(environment.get(key)?.[0]).toBe(7);
    await environment.close();
  });

  it("lets the loop turn between the actions of a group", async () => {
    const environment = open();
    const key = (i: number): Uint8Array => Uint8Array.of(1, i);
    let turns = 0;
    const other = setInterval(() => turns++, 0);
    const actions = Array.from({ length: 6 }, (_, i) =>
      environment.transact(() => {
        // What the group wrote before, whether the loop has turned since or not.
        if (i > 0) expect(environment.get(key(i - 1))?.[0]).toBe(i - 1);
        environment.put(key(i), Uint8Array.of(i));
        busyFor(3);
        return turns;
      }),
    );
    const seen = await Promise.all(actions);
    clearInterval(other);
    expect(new Set(seen).size).toBeGreaterThan(1);
    expect(environment.entries({ start: key(0), end: key(9) })).toHaveLength(6);
    await environment.close();
  });

  it("commits what is described in many turns as one", async () => {
    const environment = open();
    const key = (i: number): Uint8Array => Buffer.from(`${i % 2}${String(i).padStart(8, "0")}`);
    for (const count of [100_000, 400_000]) {
      let isReadTorn = false;
      const reader = setInterval(() => {
        const [first, last] = [0, count - 1].map((i) => environment.get(key(i))?.length === count / 100_000);
        isReadTorn ||= first !== last;
      }, 0);
      function* steps(): Generator<void, void> {
        for (let i = 0; i < count; i++) {
          environment.put(key(i), new Uint8Array(count / 100_000));
          if (i % 64 === 0) yield;
        }
      }
      const next = environment.transact(() => steps()).then(() => environment.whole.entryCount);
      await environment.transact(() => environment.put(Uint8Array.of(1), Uint8Array.of(1)));
      clearInterval(reader);
      expect(isReadTorn).toBe(false);
      expect(await next).toBeGreaterThanOrEqual(count);
      expect(environment.get(key(count - 1))).toHaveLength(count / 100_000);
    }
    await environment.close();
  });

  it("frees any number of pages of a copy, and of a copy of that", async () => {
    const key = (i: number): Uint8Array => Uint8Array.of(1, i);
    let environment = open();
    await environment.transact(() => environment.put(Uint8Array.of(0), Uint8Array.of(1, 2, 3)));
    // Each in a commit of its own, so that the copy does not begin at the first transaction.
    for (let i = 0; i < 40; i++)
      await environment.transact(() => environment.put(key(i), new Uint8Array(200_000).fill(i)));
    for (let round = 0; round < 3; round++) {
      const folder = join(root, "a", String(folders++));
      await environment.copyTo(folder);
      await environment.close();
      const copy = new LmdbEnvironment({
        folder,
        name: "collections/ab/copy",
        disk: createDiskSpace(tmpdir()),
      });
      await copy.transact(() => {
        for (let i = 0; i < 40; i++) copy.remove(key(i));
      });
      expect(copy.whole.entryCount).toBe(1);
      expect(copy.get(Uint8Array.of(0))).toEqual(Buffer.of(1, 2, 3));
      await copy.transact(() => {
        for (let i = 0; i < 40; i++) copy.put(key(i), new Uint8Array(200_000).fill(round + i));
      });
      expect(Buffer.alloc(200_000, round + 7).equals(copy.get(key(7))!)).toBe(true);
      environment = copy;
    }
    await environment.close();
  });

  it("holds what large writes of several environments take to one of them, also where they fail", async () => {
    const turns = new TurnLock();
    const environments = ["a", "b", "c", "d"].map((owner) => open({ largeWrites: { turns, owner } }));
    const piece = new Uint8Array(1024 * 1024);
    const written = environments.map(() => 0);
    const committed = environments.map(() => false);
    const writes = environments.map((environment, i) =>
      environment.transact(function* () {
        for (let n = 0; n < 40; n++) {
          environment.put(Uint8Array.of(n), piece);
          written[i]! += 1;
          const large = written.filter((pieces, other) => pieces > 20 && !committed[other]);
          expect(large.length).toBeLessThanOrEqual(1);
          // Longer than a stretch, so that it pauses after each.
          for (const until = performance.now() + 6; performance.now() < until;);
          yield;
        }
        if (i === 1) throw new Error("no");
      }),
    );
    const outcomes = await Promise.allSettled(
      writes.map((write, i) => write.finally(() => (committed[i] = true))),
    );
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "fulfilled"]);
    await Promise.all(environments.map((environment) => environment.close()));
  });

  it("shows each action what those before it have written, and leaves nothing of one that throws", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(arbitraryAction, { maxLength: 4 }), { maxLength: 5 }),
        async (groups) => {
          const environment = open();
          const model = new Model();
          const run = ({ writes, range, throws }: (typeof groups)[0][0], seed: number) =>
            environment.transact(() => {
              check(environment, model, range);
              const before = new Map(model.values);
              for (const [position, { key, length }] of writes.entries()) {
                if (length === null) {
                  environment.remove(key);
                  model.values.delete(latin1(key));
                } else {
                  const value = new Uint8Array(length).fill(seed * 40 + position);
                  environment.put(key, value);
                  model.values.set(latin1(key), value.slice());
                  value.fill(255);
                }
              }
              check(environment, model, range);
              if (!throws) return;
              model.values.clear();
              for (const [key, value] of before) model.values.set(key, value);
              throw new Error("no");
            });
          for (const group of groups) {
            const outcomes = await Promise.allSettled(group.map(run));
            expect(outcomes.map(({ status }) => status === "rejected")).toEqual(
              group.map(({ throws }) => throws),
            );
            check(environment, model, { start: Uint8Array.of(0), end: Uint8Array.of(255) });
          }
          await environment.close();
        },
      ),
      { numRuns: 60 },
    );
  });

  it("writes nothing to a file that is not at its place any more", async () => {
    const folder = join(root, "a", String(folders++));
    const environment = open({ folder });
    const [path, away] = [join(folder, "data.mdb"), join(root, "away.mdb")];
    const put = (key: string): Promise<void> =>
      environment.transact(() => environment.put(Buffer.from(key), Buffer.from(key)));
    await put("a");
    const refusal = (what: string): object => ({
      code: "collection_unavailable",
      message: expect.stringContaining(`collections/ab/test: its data.mdb was ${what} while it was open`),
    });
    renameSync(path, away);
    await expect(put("b")).rejects.toMatchObject(refusal("removed"));
    copyFileSync(away, path);
    await expect(put("b")).rejects.toMatchObject(refusal("replaced"));
    expect(environment.get(Buffer.from("a"))).toEqual(Buffer.from("a"));
    // Put back, it is the same one.
    renameSync(away, path);
    await put("c");
    await environment.compact(join(root, "staged"));
    await put("d");
    await environment.close();
    const again = open({ folder });
    const kept = again.keys({ start: Uint8Array.of(0), end: Uint8Array.of(255) });
    expect(kept.map(latin1)).toEqual(["a", "c", "d"]);
    await again.close();
  });

  it("lets others in between what a caller does after a long write and the next one", async () => {
    const environment = open();
    const order: string[] = [];
    const write = (name: string): Promise<void> =>
      environment.transact(() => {
        order.push(`write ${name}`);
        busyFor(25);
        environment.put(Buffer.from(name), Buffer.from(name));
      });
    const first = write("a").then(() => {
      order.push("after a");
      setImmediate(() => order.push("somebody else"));
    });
    await Promise.all([first, write("b")]);
    expect(order).toEqual(["write a", "after a", "somebody else", "write b"]);
    await environment.close();
  });

  it("keeps pages full whose entries come in ascending order", async () => {
    const environment = open();
    const value = Buffer.alloc(1_700, 1);
    for (let batch = 0; batch < 4; batch++) {
      await environment.transact(() => {
        for (let at = 0; at < 50; at++) environment.put(Uint8Array.of(batch, at), value);
      });
    }
    expect(environment.count({ start: Uint8Array.of(0), end: Uint8Array.of(9) })).toBe(200);
    expect(environment.whole.usedBytes).toBeLessThan(1.3 * 200 * value.length);
    await environment.close();
  });
});
