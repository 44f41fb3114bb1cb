import { randomUUID } from "node:crypto";
import type { IndexPlan } from "@sheaf/protocol";
import * as fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { readManifest } from "../../storage/files/manifest.ts";
import { MemoryFiles } from "../../storage/files/memory-files.ts";
import { LateFiles } from "../../storage/files/testing/late-files.ts";
import { listBits } from "../../segment/bits.ts";
import { BLOCK_DOCS } from "../../segment/block-docs.ts";
import { FiledCollection } from "../../query/testing/filed-collection.ts";

const PLAN: IndexPlan = { space: "l2", embeddingFunction: null, sparse: [] };
const SIZES = { denseRows: 16, sizes: { mutableRows: 32, sealedRows: 256 } };

let filed: FiledCollection;

beforeEach(() => {
  filed = newIndex();
});

function newIndex(): FiledCollection {
  return new FiledCollection(PLAN, SIZES);
}

function put(collection: FiledCollection, i: number, y = 1): void {
  const embedding = Float32Array.of(i, y);
  collection.put(`r${i}`, { embedding, document: null, uri: null, metadata: null });
}

function fill(count: number, first = 0): void {
  for (let i = first; i < first + count; i++) put(filed, i);
}

/** Offset and sequence number of all live rows. */
function rows({ index }: FiledCollection): [number, number][] {
  const snapshot = index.snapshot();
  return listBits(snapshot.live.words)
    .map((at): [number, number] => [snapshot.offset(at), snapshot.sequence(at)])
    .sort(([a], [b]) => a - b);
}

function stored({ records }: FiledCollection): [number, number][] {
  return [...records]
    .map(({ offset, sequence }): [number, number] => [offset, sequence])
    .sort(([a], [b]) => a - b);
}

/** Where each sealed segment has the metadata of its rows. */
function metadataPlaces(): string[] {
  return filed.index.segments.flatMap(({ segment: { blocks, isSealed } }) =>
    isSealed ? blocks.map(({ metadata }) => metadata.constructor.name) : [],
  );
}

async function manifest() {
  return (await readManifest(new MemoryFiles(filed.disk))).manifest;
}

/** What a collection with a lost file becomes: a manifest that has all rows, and nothing lost any more. */
async function afterwards(name: string): Promise<void> {
  const before = (await manifest())!;
  await filed.reopen();
  expect(rows(filed)).toEqual(stored(filed));
  await filed.flush();
  filed.seal();
  await filed.flush();
  const after = (await manifest())!;
  expect(after.n).toBeGreaterThan(before.n);
  expect(after.covers).toBeGreaterThanOrEqual(before.covers);
  expect([...after.segments, after.deadRows].map((file) => file?.name)).not.toContain(name);
  filed.problems.length = 0;
  expect(await filed.reopen()).toBe("restored");
  expect(filed.problems).toEqual([]);
  expect(rows(filed)).toEqual(stored(filed));
}

/** Files on the disk, by what they end with. */
function files(ending: string): string[] {
  return [...filed.disk.keys()].filter((name) => name.endsWith(ending));
}

function bytes(): number {
  return [...filed.disk.values()].reduce((sum, { length }) => sum + length, 0);
}

describe("index files", () => {
  it("read metadata and columns once they are there, also for snapshots of before", async () => {
    for (let i = 0; i < 300; i++) {
      const metadata = new Map([["n", BigInt(i % 7)]]);
      filed.put(`r${i}`, { embedding: Float32Array.of(i, 1), document: null, uri: null, metadata });
    }
    filed.seal();
    const snapshot = filed.index.snapshot();
    const numbers = (): unknown[] => {
      const rowsOfOld = listBits(snapshot.live.words);
      return rowsOfOld.map((at) =>
        snapshot.blocks[Math.floor(at / BLOCK_DOCS)]!.metadata.value(at % BLOCK_DOCS, "n"),
      );
    };
    const before = numbers();
    expect(new Set(before).size).toBe(7);
    expect(new Set(metadataPlaces())).toEqual(new Set(["MetadataRows"]));
    expect(filed.index.memory.taken.unfiled).toBeGreaterThan(0);
    await filed.flush();
    expect(filed.index.memory.taken.unfiled).toBe(0);
    expect(new Set(metadataPlaces())).toEqual(new Set(["FileRows"]));
    expect(numbers()).toEqual(before);
  });

  it("are none while nothing is sealed", async () => {
    fill(15);
    filed.seal();
    await filed.flush();
    await filed.close();
    expect([...filed.disk.keys()]).toEqual([]);
    expect(await filed.reopen()).toBe("rebuilt");
    expect(rows(filed)).toEqual(stored(filed));
  });

  it("have the sealed rows, and the others are replayed", async () => {
    fill(100);
    filed.seal();
    await filed.flush();
    fill(10, 100);
    put(filed, 3, 2);
    filed.remove("r4");
    await filed.close();
    expect((await manifest())?.covers).toBe(96);
    expect(await filed.reopen()).toBe("restored");
    expect(rows(filed)).toEqual(stored(filed));
    expect(filed.index.segments[0]?.segment.isSealed).toBe(true);
  });

  it("have the rows of a segment that is not full once the collection is at rest", async () => {
    fill(32 + 7);
    filed.seal();
    await filed.flush();
    expect((await manifest())?.covers).toBe(32);
    fill(1, 32 + 7);
    filed.seal();
    await filed.flush();
    expect((await manifest())?.covers).toBe(40);
    fill(1, 40);
    await filed.close();
    expect(await filed.reopen()).toBe("restored");
    expect(rows(filed)).toEqual(stored(filed));
  });

  it("keep up with the writes, though the same few records are written without a rest", async () => {
    fill(20);
    let most = 0;
    for (let i = 0; i < 3_000; i++) {
      put(filed, i % 16, i);
      // To seal a segment takes some thousands, which is about a hundred writes.
      for (let step = 0; step < 24; step++) filed.index.maintain(false);
      if (i % 16 !== 0) continue;
      await filed.flush();
      const covers = (await manifest())?.covers ?? 0;
      most = Math.max(most, filed.head.sequence - covers);
    }
    expect(most).toBeLessThan(2_000);
    expect(rows(filed)).toEqual(stored(filed));
  });

  it("cover what is some segments behind, though records are only removed", async () => {
    fill(400);
    filed.seal();
    await filed.flush();
    put(filed, 400);
    for (let i = 0; i < 300; i++) {
      filed.remove(`r${i}`);
      while (filed.index.maintain(false));
    }
    await filed.flush();
    expect(filed.head.sequence - (await manifest())!.covers).toBeLessThan(32 * 8);
    await filed.close();
    expect(await filed.reopen()).toBe("restored");
    expect(rows(filed)).toEqual(stored(filed));
  });

  it("do not change where nothing has changed that they tell of", async () => {
    fill(100);
    filed.seal();
    await filed.flush();
    const before = [...filed.disk.keys()];
    fill(1, 100);
    await filed.flush();
    await filed.close();
    await filed.reopen();
    await filed.flush();
    expect([...filed.disk.keys()]).toEqual(before);
  });

  it("of merged segments replace those of the sources, and dead rows are told of", async () => {
    fill(64);
    filed.seal();
    await filed.flush();
    const [first] = files(".seg");
    fill(64, 64);
    filed.seal();
    for (let i = 0; i < 20; i++) filed.remove(`r${i}`);
    await filed.flush();
    expect(files(".seg")).toHaveLength(filed.index.segments.filter(({ segment }) => segment.isSealed).length);
    expect(files(".seg")).not.toContain(first);
    expect(files(".dead")).toHaveLength(1);
    expect((await manifest())?.covers).toBe(148);
    await filed.close();
    expect(await filed.reopen()).toBe("restored");
    expect(rows(filed)).toEqual(stored(filed));
  });

  it.each([300, 12])("shrink to what is left of 3,000 rows once most have gone: %d", async (left) => {
    filed = new FiledCollection(PLAN, { denseRows: 64, sizes: { mutableRows: 32, sealedRows: 4_096 } });
    fill(3_000);
    filed.seal();
    await filed.flush();
    const before = bytes();
    for (let i = left; i < 3_000; i++) filed.remove(`r${i}`);
    filed.seal();
    await filed.flush();
    const segments = filed.index.segments.map(({ segment }) => segment);
    expect(segments.every((segment) => segment.isSealed && segment.rows <= left * 1.25)).toBe(true);
    expect(bytes()).toBeLessThan(before / 2);
    await filed.close();
    expect(await filed.reopen()).toBe("restored");
    expect(rows(filed)).toEqual(stored(filed));
  });

  it("go once all rows have gone", async () => {
    fill(64);
    filed.seal();
    await filed.flush();
    for (let i = 0; i < 64; i++) filed.remove(`r${i}`);
    await filed.flush();
    expect([...filed.disk.keys()]).toEqual([]);
  });

  it.each([
    ["another log", { lineage: randomUUID(), plan: PLAN }],
    ["another space", { plan: { ...PLAN, space: "ip" as const } }],
    [
      "a key that has no postings",
      { plan: { ...PLAN, sparse: [{ key: "t", bm25: true, sourceKey: null, embeddingFunction: null }] } },
    ],
  ])("of %s are not used, and removed", async (_what, changes) => {
    fill(64);
    filed.seal();
    await filed.flush();
    const other = new FiledCollection(changes.plan ?? PLAN, { ...filed.options, ...changes });
    for (let i = 0; i < 64; i++) put(other, i);
    for (const [name, bytes] of filed.disk) other.disk.set(name, bytes);
    expect(await other.reopen()).toBe("rebuilt");
    expect(other.disk.size).toBe(0);
    expect(rows(other)).toEqual(stored(other));
  });

  it("without the lengths of documents that a key asks for are set aside", async () => {
    const key = { key: "t", bm25: true, sourceKey: null, embeddingFunction: null };
    const plan = { ...PLAN, sparse: [key] };
    const vector = { indices: Uint32Array.of(3), values: Float32Array.of(2) };
    const content = { embedding: Float32Array.of(1), document: null, uri: null };
    const putAll = (collection: FiledCollection): void => {
      for (let i = 0; i < 64; i++)
        collection.put(`r${i}`, { ...content, metadata: new Map([["t", vector]]) });
    };
    const bare = new FiledCollection(plan, filed.options);
    putAll(bare);
    bare.seal();
    await bare.flush();
    const other = new FiledCollection(
      { ...plan, sparse: [{ ...key, statistics: { k: 1.2, b: 0.75 } }] },
      filed.options,
    );
    putAll(other);
    for (const [name, bytes] of bare.disk) other.disk.set(name, bytes);
    expect(await other.reopen()).toBe("rebuilt");
    expect(other.problems.map(String)).toEqual([
      expect.stringContaining("it has no lengths of documents of t"),
    ]);
    expect(rows(other)).toEqual(stored(other));
    await bare.close();
    await other.close();
  });

  it("that know of more than the store are not used", async () => {
    fill(64);
    filed.seal();
    const before = filed.head;
    filed.remove("r1");
    await filed.flush();
    const older = new FiledCollection(PLAN, filed.options);
    for (let i = 0; i < 64; i++) put(older, i);
    expect(older.head).toEqual(before);
    for (const [name, bytes] of filed.disk) older.disk.set(name, bytes);
    expect(await older.reopen()).toBe("rebuilt");
    expect(rows(older)).toEqual(stored(older));
  });

  it("that are damaged, cut, swapped or missing are found, and only what they had is made of the records", async () => {
    fill(900);
    filed.seal();
    for (let i = 0; i < 900; i += 7) filed.remove(`r${i}`);
    filed.seal();
    put(filed, 1, 2);
    await filed.flush();
    await filed.close();
    const sound = new Map(filed.disk);
    const segments = files(".seg");
    expect(segments.length).toBeGreaterThan(2);
    const changes: ((bytes: Uint8Array) => Uint8Array | null)[] = [
      () => null,
      (bytes) => bytes.map((byte, i) => (i === 0 ? byte ^ 1 : byte)),
      (bytes) => bytes.map((byte, i) => (i === bytes.length - 1 ? byte ^ 1 : byte)),
      (bytes) => bytes.subarray(0, bytes.length - 1),
      () => new Uint8Array(0),
      (bytes) => sound.get(segments.find((name) => sound.get(name) !== bytes)!)!,
    ];
    for (const name of sound.keys()) {
      for (const change of changes) {
        filed.disk.clear();
        for (const [kept, bytes] of sound) filed.disk.set(kept, bytes);
        const changed = change(sound.get(name)!);
        if (changed === null) filed.disk.delete(name);
        else filed.disk.set(name, changed);
        filed.problems.length = 0;
        const isManifest = name.startsWith("manifest-");
        expect(await filed.reopen(), name).toBe(isManifest ? "rebuilt" : "restored");
        expect(rows(filed)).toEqual(stored(filed));
        expect(filed.problems, name).toHaveLength(changed === null && isManifest ? 0 : 1);
        if (isManifest) expect(filed.disk.size, name).toBe(0);
        else {
          const left = [...sound.keys()].filter((kept) => kept !== name);
          expect([...filed.disk.keys()].toSorted()).toEqual(left.toSorted());
          expect(filed.restored > 0).toBe(segments.includes(name));
          expect(filed.restored).toBeLessThan(400);
          // Nothing was written yet: whenever it is opened again, the same is lost.
          if (change === changes[0]) await afterwards(name);
        }
      }
    }
  });

  it("give back the index as it was, at whatever operation on them the process was killed, and whatever was lost", async () => {
    const kill = fc.record({
      kind: fc.constant("kill" as const),
      at: fc.nat(40),
      loses: fc.option(fc.nat(7)),
    });
    const operation = fc.oneof(
      { weight: 6, arbitrary: fc.record({ kind: fc.constant("put" as const), id: fc.nat(150) }) },
      { weight: 3, arbitrary: fc.record({ kind: fc.constant("remove" as const), id: fc.nat(150) }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("seal" as const, "flush" as const) }) },
      { weight: 1, arbitrary: kill },
    );
    const steps = fc.array(operation, { minLength: 200, maxLength: 300, size: "max" });
    const opened = { restored: 0, rebuilt: 0 };
    /** Rows of lost files that were put again. */
    let again = 0;
    const lose = (number: number | null): void => {
      const names = [...filed.disk.keys()].filter((name) => !name.startsWith("manifest-"));
      if (number !== null && names.length > 0) filed.disk.delete(names[number % names.length]!);
    };
    const run = async (
      operations: readonly (typeof operation extends fc.Arbitrary<infer T> ? T : never)[],
    ) => {
      // Most of what is lost then leaves other segments.
      filed = new FiledCollection(PLAN, { denseRows: 16, sizes: { mutableRows: 32, sealedRows: 64 } });
      fill(80);
      filed.seal();
      await filed.flush();
      for (const step of operations) {
        if (step.kind === "put") put(filed, step.id);
        else if (step.kind === "remove") filed.remove(`r${step.id}`);
        else if (step.kind === "seal") filed.seal();
        else if (step.kind === "flush") await filed.flush().catch(() => {});
        else if ("at" in step) {
          await filed.close();
          lose(step.loses);
          opened[await filed.reopen()]++;
          again += filed.restored;
          expect(rows(filed)).toEqual(stored(filed));
          await filed.close();
          // The next process is one that is killed so many operations after its start.
          let left = step.at;
          const failure = (): Error | null => (left-- > 0 ? null : new Error("killed"));
          const files = new LateFiles(new MemoryFiles(filed.disk), {
            failure,
            turns: () => 0,
            isLocal: () => true,
          });
          await filed.reopen(files).catch(() => filed.reopen());
        }
      }
    };
    await fc.assert(fc.asyncProperty(steps, run), { numRuns: 20 });
    expect(opened.restored).toBeGreaterThan(0);
    expect(again).toBeGreaterThan(0);
  });
});
