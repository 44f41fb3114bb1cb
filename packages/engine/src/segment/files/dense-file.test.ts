/** Dense searches of a segment in a file find what they find in memory, to the bit. */
import type { Space } from "@sheaf/protocol";
import { describe, expect, it } from "vitest";
import { prepare, preparedDistance } from "../../kernels/distance.ts";
import { DataAbsent, withData } from "../../storage/data-absent.ts";
import { IndexMemory } from "../../storage/files/index-memory.ts";
import { MemoryFiles } from "../../storage/files/memory-files.ts";
import type { SegmentFiles } from "../../storage/files/segment-files.ts";
import { countedFiles } from "../../storage/files/testing/counted-files.ts";
import { LateFiles } from "../../storage/files/testing/late-files.ts";
import { runSteps } from "../../storage/steps.ts";
import { countBits, listBits } from "../bits.ts";
import { CODE_PARTS, allCodeParts } from "../dense/dense-source.ts";
import { type Hit, searchDense } from "../dense/search-dense.ts";
import type { RowsKept, SegmentShape } from "../dense/segment-layout.ts";
import { sampler } from "../dense/testing/data-sets.ts";
import type { SegmentRow } from "../mutable-segment.ts";
import type { SealedSegment } from "../sealed-segment.ts";
import type { WriterSource } from "../source-rows.ts";
import { mutableSegment, planOf, sealedSegment, withCodes } from "../testing/sealed-segments.ts";
import { openSegmentFile, writeSegmentFile } from "./segment-file.ts";

const DIMENSION = 40;
const ROWS = 4_096;
const K = 10;

const vectors = sampler("topics", DIMENSION, 5);
const given = Array.from({ length: ROWS }, () => vectors.next().vector.map((x) => 3 * x + 0.1));
const queries = Array.from({ length: 8 }, () => vectors.next().vector.map((x) => 3 * x + 0.1));

function rowsOf(space: Space): SegmentRow[] {
  return given.map((embedding, i) => {
    const rest = { document: null, metadata: null, sparse: new Map() };
    return { offset: i, sequence: i + 1, id: `r${i}`, vector: prepare(space, embedding), ...rest };
  });
}

function sealedIn(space: Space, keep?: RowsKept): SealedSegment {
  const rows = rowsOf(space);
  const origin = new Float32Array(DIMENSION).fill(0.1);
  const shape: SegmentShape = {
    ...(space === "l2" ? { space, origin } : { space: "ip", origin: null }),
    dimension: DIMENSION,
  };
  return sealedSegment([withCodes(mutableSegment(rows, ROWS), shape)], keep).segment;
}

async function opened(files: SegmentFiles, segment: SealedSegment, space: Space): Promise<SealedSegment> {
  const file = await writeSegmentFile(files, "a.seg", segment);
  const { dimension } = segment.vectors.search.segment.shape;
  return openSegmentFile(files, file, { id: 3, space, dimension, plan: planOf(space) });
}

interface Found {
  readonly hits: readonly Hit[];
  /** Exact distances that were asked for. */
  readonly asked: number;
}

interface SearchedRows {
  readonly query: Float32Array;
  readonly exact: boolean;
  readonly docs: Uint32Array;
}

const slotsByDocs = new WeakMap<Uint32Array, Uint32Array>();

/** The same array every time, by which copies of codes are known. */
function slotsOf(docs: Uint32Array): Uint32Array {
  const slots = slotsByDocs.get(docs) ?? Uint32Array.from(listBits(docs));
  slotsByDocs.set(docs, slots);
  return slots;
}

/** Of the rows that `docs` has of each; positions are those of one after the other. `meanwhile`: between two steps. */
function search(
  segment: SealedSegment | readonly SealedSegment[],
  space: Space,
  request: SearchedRows,
  meanwhile: () => void = () => {},
): Found {
  const segments = [segment].flat();
  const { docs, exact } = request;
  const query = prepare(space, request.query);
  const slots = slotsOf(docs);
  const { capacity } = segments[0]!.vectors.search.segment;
  let asked = 0;
  const distanceAt = (position: number): number => {
    asked++;
    const at = Math.floor(position / capacity);
    return preparedDistance(
      space,
      query,
      prepare(space, given[segments[at]!.offsets[position % capacity]!]!),
    );
  };
  const parts = segments.map(({ vectors }, at) => ({
    ...{ search: vectors.search, base: at * capacity, docs },
    ...{ count: slots.length, slots: () => slots },
  }));
  const size = segments.length * countBits(segments[0]!.vectors.search.segment.placed);
  const steps = searchDense(parts, { query, k: K, exact, size, distanceAt });
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) meanwhile();
  const hits = step.value;
  return { hits: hits.toSorted((a, b) => a.position - b.position), asked };
}

function nearest({ hits }: Found): readonly Hit[] {
  return hits.toSorted((a, b) => a.distance - b.distance || a.position - b.position).slice(0, K);
}

/** All rows, and every so many of them. */
function filtersOf(segment: SealedSegment): readonly Uint32Array[] {
  const { placed } = segment.vectors.search.segment;
  const every = (step: number): Uint32Array => {
    const docs = new Uint32Array(placed.length);
    for (const [i, slot] of listBits(placed).entries())
      if (i % step === 0) docs[slot >>> 5]! |= 1 << (slot & 31);
    return docs;
  };
  return [placed, every(2), every(14), every(80), every(2_000)];
}

const spaces: readonly Space[] = ["l2", "ip", "cosine"];

describe.each(spaces)("a segment in a file, in %s", (space) => {
  const memory = sealedIn(space);
  const filters = filtersOf(memory);

  function expectSame(segment: SealedSegment, of: readonly Uint32Array[]): void {
    for (const query of queries)
      for (const docs of of)
        for (const exact of [false, true]) {
          const request = { query, exact, docs };
          expect(search(segment, space, request)).toStrictEqual(search(memory, space, request));
        }
  }

  /** How near they are to the bit may be found out elsewhere. */
  async function expectSameLate(segment: SealedSegment, request: SearchedRows): Promise<void> {
    const whenWarm = (): never => expect.fail("it waits for the file");
    const { hits } = await withData({ whenWarm }, async () => search(segment, space, request));
    expect(hits).toStrictEqual(search(memory, space, request).hits);
  }

  it("finds the same by reading vectors one by one", async () => {
    const segment = await opened(new MemoryFiles(), memory, space);
    const dense = segment.vectors.search.segment;
    expect([dense.kept, dense.rowBytes(dense.kept)]).toStrictEqual(["none", 0]);
    // Between 64 and 256 rows a file is estimated first, where memory is scored.
    expectSame(segment, [filters[0]!, filters[1]!, filters[3]!, filters[4]!]);
  });

  it("finds the same once its vectors are loaded, by all ways", async () => {
    const segment = await opened(new MemoryFiles(), memory, space);
    const dense = segment.vectors.search.segment;
    // Copies of codes that were made before have no 4-bit codes.
    for (const query of queries) search(segment, space, { query, exact: false, docs: filters[2]! });
    const kept = dense.readable;
    expect(kept).toBe(space === "l2" ? "bf16" : "whole");
    runSteps(dense.loadRows(kept));
    expect([dense.kept, dense.rowBytes(dense.kept)]).toStrictEqual([
      kept,
      memory.vectors.search.segment.rowBytes(kept),
    ]);
    expectSame(segment, filters);
  });

  it("reads far fewer vectors once it has magnitudes, and finds as many of the nearest", async () => {
    let bytes = 0;
    const files = (): SegmentFiles => countedFiles(new MemoryFiles(), (length) => (bytes += length));
    const [signs, fine] = [await opened(files(), memory, space), await opened(files(), memory, space)];
    runSteps(signs.vectors.search.segment.load(CODE_PARTS));
    runSteps(fine.vectors.search.segment.load(allCodeParts(true)));
    const readBy = (segment: SealedSegment, docs: Uint32Array): number => {
      bytes = 0;
      for (const query of queries) search(segment, space, { query, exact: false, docs });
      return bytes;
    };
    for (const docs of filters.slice(0, 3)) {
      // Of a filter that few rows pass codes are gathered the first time, then copied.
      for (const _ of [1, 2, 3]) expect(readBy(fine, docs)).toBeLessThan(0.8 * readBy(signs, docs));
      const found = queries.map((query) => {
        const positions = [fine, memory].map((segment) =>
          nearest(search(segment, space, { query, exact: segment === memory, docs })).map(
            ({ position }) => position,
          ),
        );
        return positions[1]!.filter((position) => positions[0]!.includes(position)).length;
      });
      expect(found.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(0.95 * K * queries.length);
    }
  });

  it("finds the same with part of its vectors in memory", async () => {
    const segment = await opened(new MemoryFiles(), memory, space);
    const dense = segment.vectors.search.segment;
    runSteps(dense.loadRows("bf16"));
    expect(dense.kept).toBe("bf16");
    expectSame(segment, filters);
    runSteps(dense.loadRows(dense.readable));
    expect(dense.kept).toBe(dense.readable);
    expectSame(segment, filters);
  });

  it("finds the same in files that are late, each search once what it needs was fetched", async () => {
    const files = new LateFiles(new MemoryFiles());
    const segment = await opened(files, memory, space);
    const request = { query: queries[0]!, exact: false, docs: filters[0]! };
    await segment.prepare({ docs: "identities" });
    expect(() => search(segment, space, request)).toThrow(DataAbsent);
    expect(segment.vectors.search.segment.source?.isLocal).toBe(false);
    for (const query of queries)
      for (const docs of filters) await expectSameLate(segment, { query, exact: false, docs });
    expect(segment.vectors.search.segment.hasRows).toBe(false);
    for (const docs of filters) await expectSameLate(segment, { query: queries[0]!, exact: true, docs });
  });

  it("begins a search of several late files about as often as that of one", async () => {
    const request = { query: queries[0]!, exact: false, docs: filters[0]! };
    const whenWarm = (): never => expect.fail("it waits for the files");
    const begun = async (count: number): Promise<number> => {
      const segments = await Promise.all(
        Array.from({ length: count }, () => opened(new LateFiles(new MemoryFiles()), memory, space)),
      );
      for (const segment of segments) await segment.prepare({ dense: true, docs: "identities" });
      let times = 0;
      const searched = async (): Promise<Found> => {
        times++;
        return search(segments, space, request);
      };
      await withData({ whenWarm }, searched);
      return times;
    };
    const once = await begun(1);
    expect(once).toBeGreaterThan(1);
    expect(await begun(6)).toBeLessThan(2 * once);
  });

  it("asks a late file for rows that lie near each other at once", async () => {
    let reads = 0;
    const failure = (operation: string): null => {
      if (operation === "read") reads++;
      return null;
    };
    const segment = await opened(new LateFiles(new MemoryFiles(), { failure }), memory, space);
    await segment.prepare({ dense: true, docs: "identities" });
    reads = 0;
    for (const query of queries) await expectSameLate(segment, { query, exact: false, docs: filters[0]! });
    expect(reads).toBeGreaterThan(0);
    expect(reads).toBeLessThan(16 * queries.length);
  });

  it("fails where its files do, and goes on when they do not", async () => {
    let fails = false;
    const failure = (): Error | null => (fails ? new Error("away") : null);
    const segment = await opened(new LateFiles(new MemoryFiles(), { failure }), memory, space);
    fails = true;
    await expect(segment.prepare({ dense: true, docs: "identities" })).rejects.toThrow("away");
    fails = false;
    await segment.prepare({ dense: true, docs: "identities" });
    await expectSameLate(segment, { query: queries[0]!, exact: false, docs: filters[0]! });
  });

  it("has the vectors that the segment does not keep, of the store", async () => {
    const dropped = sealedIn(space, "none");
    const files = new MemoryFiles();
    const without = await opened(files, dropped, space);
    expect(without.vectors.search.segment.readable).toBe("none");
    const padded = new Float32Array(memory.vectors.search.segment.layout.width);
    const file = await writeSegmentFile(files, "b.seg", dropped, {
      readVector: (segment, docId) => {
        const origin = memory.vectors.search.segment.shape.origin;
        padded.set(
          prepare(space, given[segment.offsets[docId]!]!).map((x, j) =>
            origin === null ? x : x - origin[j]!,
          ),
        );
        return padded;
      },
    });
    const options = { id: 3, space, dimension: DIMENSION, plan: planOf(space) };
    expectSame(await openSegmentFile(files, file, options), [filters[0]!]);
    const request = { query: queries[0]!, exact: true, docs: filters[0]! };
    expect(nearest(search(without, space, request))).toStrictEqual(nearest(search(memory, space, request)));
  });

  it("is written anew as it would be from memory", async () => {
    const segment = await opened(new MemoryFiles(), memory, space);
    const live = segment.vectors.search.segment.placed.slice();
    const anew = (source: WriterSource): SealedSegment => sealedSegment([source]).segment;
    const [one, other] = [anew({ segment, live }), anew({ segment: memory, live })];
    expect(one.offsets).toStrictEqual(other.offsets);
    for (const name of ["factors", "biases", "losses", "lengths", "reach"] as const)
      expect(one.vectors.search.segment[name]).toStrictEqual(other.vectors.search.segment[name]);
    for (const query of queries) {
      const request = { query, exact: false, docs: one.vectors.search.segment.placed };
      expect(search(one, space, request)).toStrictEqual(search(other, space, request));
    }
  });
});

it("reads vectors that lie near each other at once", async () => {
  const memory = sealedIn("cosine");
  let reads = 0;
  const files = countedFiles(new MemoryFiles(), () => reads++);
  const segment = await opened(files, memory, "cosine");
  const [all] = filtersOf(memory);
  const searched = (): void => {
    for (const query of queries) search(segment, "cosine", { query, exact: false, docs: all! });
  };
  // Codes are read by the first ones.
  searched();
  reads = 0;
  searched();
  // Of each 20 are for exact distances.
  expect(reads).toBeLessThan(60 * queries.length);
});

it("reads of several segments those that are among the nearest of all", async () => {
  const memory = sealedIn("cosine");
  let bytes = 0;
  const few = filtersOf(memory)[2]!;
  const readOf = async (count: number): Promise<number> => {
    const segments = await Promise.all(
      Array.from({ length: count }, () =>
        opened(
          countedFiles(new MemoryFiles(), (length) => (bytes += length)),
          memory,
          "cosine",
        ),
      ),
    );
    // Codes are read by the first ones, and copied by the next.
    for (const _ of [1, 2, 3]) {
      bytes = 0;
      for (const query of queries) search(segments, "cosine", { query, exact: false, docs: few });
    }
    return bytes;
  };
  const once = await readOf(1);
  expect(once).toBeGreaterThan(0);
  const together = await readOf(6);
  expect(together).toBeLessThan(3 * once);
});

it("offers no row twice where vectors come between two steps, and copies of codes have no room then", async () => {
  const [memory, files] = [sealedIn("cosine"), new MemoryFiles()];
  const file = await writeSegmentFile(files, "a.seg", memory);
  const index = new IndexMemory(2 ** 30);
  const options = { id: 3, space: "cosine", dimension: DIMENSION, plan: planOf("cosine") } as const;
  const segment = await openSegmentFile(files, file, { ...options, memory: index });
  const request = { query: queries[0]!, exact: false, docs: filtersOf(memory)[2]! };
  // The second time a copy is made.
  const [before] = [1, 2, 3].map(() => nearest(search(segment, "cosine", request)));
  let steps = 0;
  const after = search(segment, "cosine", request, () => {
    if (steps++ > 0) return;
    runSteps(segment.vectors.search.segment.loadRows("bf16"));
    index.add("vectors", 2 ** 30);
  });
  expect(index.isShort).toBe(true);
  expect(nearest(after)).toStrictEqual(before);
});

it("reads the codes of a few lists alone for a search that needs no others", async () => {
  const [dimension, count, groups] = [128, 8_192, 40];
  const clusters = sampler("clusters", dimension, 7);
  /** Tighter than the lists of the segment are far from each other. */
  const near = (group: number): Float32Array => {
    const draws = Array.from({ length: 8 }, () => clusters.next(group).vector);
    return prepare(
      "cosine",
      new Float32Array(dimension).map((_, j) => draws.reduce((sum, x) => sum + x[j]!, 0)),
    );
  };
  const rows = Array.from({ length: count }, (_, i): SegmentRow => {
    const rest = { document: null, metadata: null, sparse: new Map() };
    return { offset: i, sequence: i + 1, id: `r${i}`, vector: near(i % groups), ...rest };
  });
  const memory = sealedSegment([withCodes(mutableSegment(rows, count))]).segment;
  const segment = await opened(new MemoryFiles(), memory, "ip");
  const dense = segment.vectors.search.segment;
  const find = (query: Float32Array, { search: searched }: SealedSegment["vectors"]): readonly Hit[] => {
    const part = { search: searched, base: 0, docs: dense.placed, count, slots: () => new Uint32Array(0) };
    const request = { query, k: 3, exact: false, size: count, distanceAt: () => Number.NaN };
    return nearest({ hits: runSteps(searchDense([part], request)), asked: 0 }).slice(0, 3);
  };
  for (let i = 0; i < 5; i++) {
    const query = near(i);
    expect(find(query, segment.vectors)).toStrictEqual(find(query, memory.vectors));
  }
  expect(dense.lacks(["blocks"])).toBe(true);
  // One that is near nothing has to look through many.
  const query = near(0).map((x, j) => (j % 2 === 0 ? x : -x));
  expect(find(query, segment.vectors)).toStrictEqual(find(query, memory.vectors));
  expect(dense.lacks(["blocks", "factors", "biases"])).toBe(false);
  expect(find(query, segment.vectors)).toStrictEqual(find(query, memory.vectors));
});
