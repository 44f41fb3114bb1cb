import type { SparseVector } from "@sheaf/protocol";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { IndexMemory } from "../../storage/files/index-memory.ts";
import { DataAbsent } from "../../storage/data-absent.ts";
import { MemoryFiles } from "../../storage/files/memory-files.ts";
import { openSections } from "../../storage/files/section-reader.ts";
import { writeSections } from "../../storage/files/section-writer.ts";
import { LateFiles } from "../../storage/files/testing/late-files.ts";
import { runSteps } from "../../storage/steps.ts";
import { SparsePostings } from "../postings/sparse-postings.ts";
import { openPostings } from "./open-postings.ts";
import { writePostings } from "./write-postings.ts";

const CAPACITY = 2 * 4_096 + 64;
const vectors: fc.Arbitrary<SparseVector> = fc
  .uniqueArray(fc.constantFrom(0, 1, 2, 9, 4_294_967_295), { minLength: 1, maxLength: 4 })
  .map((terms) => {
    const indices = Uint32Array.from(terms).sort();
    return { indices, values: Float32Array.from(indices, (term, i) => (term % 7) - i / 4) };
  });
const rows = fc.uniqueArray(fc.tuple(fc.nat(CAPACITY - 1), vectors), {
  selector: ([docId]) => docId,
  maxLength: 40,
});

function postingsOf(list: readonly (readonly [number, SparseVector])[], hasLengths = false): SparsePostings {
  const postings = new SparsePostings({ hasLengths });
  for (const [docId, vector] of list.toSorted(([a], [b]) => a - b)) postings.add(docId, vector);
  runSteps(postings.seal());
  return postings;
}

async function written(postings: ReadonlyMap<string, SparsePostings>, files = new MemoryFiles()) {
  return {
    files,
    identity: await writeSections(files, "p.seg", (writer) => writePostings(writer, postings)),
  };
}

describe("postings in a file", () => {
  it("are those in memory, to the bit, by key", async () => {
    const keys = fc.constantFrom("a", "", "ä", "\ud800", "\udfff", "日本");
    const all = fc.uniqueArray(fc.tuple(keys, rows, fc.boolean()), { selector: ([key]) => key });
    await fc.assert(
      fc.asyncProperty(all, async (lists) => {
        const memory = new Map(lists.map(([key, list, hasLengths]) => [key, postingsOf(list, hasLengths)]));
        const { files, identity } = await written(memory);
        const file = await openPostings(await openSections(files, identity), CAPACITY);
        expect([...file.byKey.keys()]).toEqual([...memory.keys()]);
        for (const [key, postings] of memory) {
          const read = file.byKey.get(key)!;
          expect(read.tails).toEqual([]);
          expect(read.blocks.map(({ firstDoc }) => firstDoc)).toEqual(
            postings.blocks.map(({ firstDoc }) => firstDoc),
          );
          for (const [i, { block }] of postings.blocks.entries())
            expect(read.blocks[i]!.block.lists).toStrictEqual(block.lists);
          read.close();
          postings.close();
        }
      }),
    );
  });

  it("are read once, by the first search or before it", async () => {
    const vector = { indices: Uint32Array.of(3), values: Float32Array.of(1.5) };
    const memory = new Map(["a", "b"].map((key) => [key, postingsOf([[5, vector]])]));
    const { files, identity } = await written(memory);
    const file = await openPostings(await openSections(new LateFiles(files), identity), CAPACITY);
    expect(() => file.byKey.get("a")!.blocks).toThrow(DataAbsent);
    const aborted = AbortSignal.abort();
    await Promise.all([
      file.prepare(["a", "absent"]),
      expect(file.prepare(["a"], { signal: aborted })).rejects.toThrow(),
      file.prepare(["a"]),
    ]);
    const [placed] = file.byKey.get("a")!.blocks;
    expect(placed!.block.lists).toStrictEqual(memory.get("a")!.blocks[0]!.block.lists);
    expect(file.byKey.get("a")!.blocks[0]).toBe(placed);
    file.byKey.get("b")!.close();
    await file.prepare(["b"]);
    expect(file.byKey.get("b")!.blocks).toHaveLength(1);
  });

  it("make room, and are read again", async () => {
    const vector = { indices: Uint32Array.of(3), values: Float32Array.of(1.5) };
    const inMemory = new Map(["a", "b"].map((key) => [key, postingsOf([[5, vector]])]));
    const lists = inMemory.get("a")!.blocks[0]!.block.lists;
    const { files, identity } = await written(inMemory);
    const whole = new IndexMemory(4 * inMemory.get("a")!.bytes);
    const memory = whole.forSegment();
    const file = await openPostings(await openSections(files, identity), CAPACITY, { memory });
    // Those that were made in memory are now of the file, too, as if they had been read.
    file.adopt(inMemory);
    const [a, b] = [inMemory.get("a")!, inMemory.get("b")!];
    expect(whole.taken.parts).toBe(a.bytes + b.bytes);
    a.isUsed = b.isUsed = false;
    memory.add("codes", 3 * a.bytes);
    expect([a.isLoaded, b.isLoaded, whole.taken.parts]).toStrictEqual([false, true, b.bytes]);
    expect(a.blocks[0]!.block.lists).toStrictEqual(lists);
    expect(whole.taken.parts).toBe(a.bytes);
    a.close();
    expect(whole.taken.parts).toBe(0);
  });
});
