/** What is loaded of segments in files, in which order, and as far as there is room. */
import { setTimeout as sleep } from "node:timers/promises";
import { beginSlice } from "@sheaf/process";
import { afterAll, expect, it } from "vitest";
import { mutableSegment, planOf, sealedSegment, withCodes } from "../segment/testing/sealed-segments.ts";
import type { SealedSegment } from "../segment/sealed-segment.ts";
import type { DenseSegment } from "../segment/dense/dense-segment.ts";
import { sampler } from "../segment/dense/testing/data-sets.ts";
import { CODE_PARTS } from "../segment/dense/dense-source.ts";
import { openSegmentFile, writeSegmentFile } from "../segment/files/segment-file.ts";
import { prepare } from "../kernels/distance.ts";
import { IndexMemory } from "../storage/files/index-memory.ts";
import { MemoryFiles } from "../storage/files/memory-files.ts";
import { RowReader } from "../storage/files/row-reader.ts";
import { openAnySections } from "../storage/files/section-reader.ts";
import { SegmentDamaged } from "../storage/files/segment-damaged.ts";
import { SegmentLoader } from "./segment-loader.ts";
import { LiveSegment, SegmentList } from "./segment-list.ts";

const DIMENSION = 32;
const ROWS = 256;
const SEGMENTS = 3;

const vectors = sampler("topics", DIMENSION, 7);

const EMPTY = { document: null, metadata: null, sparse: new Map() };

const bytes = new Map<string, Uint8Array>();
const files = new MemoryFiles(bytes);
const written = await Promise.all(
  Array.from({ length: SEGMENTS }, (_, id) => {
    const shape = { space: "ip", origin: null, dimension: DIMENSION } as const;
    const rows = Array.from({ length: ROWS }, (_, i) => {
      const row = id * ROWS + i;
      const vector = prepare("cosine", vectors.next().vector);
      return { offset: row, sequence: row + 1, id: `r${row}`, vector, ...EMPTY };
    });
    const { segment } = sealedSegment([withCodes(mutableSegment(rows, ROWS), shape)]);
    return writeSegmentFile(files, `${id}.seg`, segment);
  }),
);

function opened(memory: IndexMemory, from: MemoryFiles): Promise<readonly SealedSegment[]> {
  const options = { space: "cosine", dimension: DIMENSION, plan: planOf("cosine"), memory } as const;
  return Promise.all(written.map((file, id) => openSegmentFile(from, file, { id, ...options })));
}

const reader = new RowReader();
afterAll(() => reader.close());

async function loaderOf(
  limit: number,
  { reader, from = files }: { readonly reader?: RowReader; readonly from?: MemoryFiles } = {},
): Promise<{
  readonly loader: SegmentLoader;
  readonly dense: readonly DenseSegment[];
  readonly memory: IndexMemory;
  readonly list: SegmentList;
}> {
  const memory = new IndexMemory(limit);
  const segments = await opened(memory, from);
  const list = new SegmentList();
  list.restore(segments.map((segment) => new LiveSegment(segment)));
  const dense = segments.map(({ vectors }) => vectors.search.segment);
  return { loader: new SegmentLoader(list, { reader, wake: () => {} }), dense, memory, list };
}

/** All there is. */
async function load(loader: SegmentLoader): Promise<void> {
  while (loader.step() || loader.isReading) await sleep(1);
}

function vectorsOf(dense: readonly DenseSegment[]): readonly Float32Array[] {
  return dense.flatMap((segment) =>
    Array.from({ length: segment.capacity }, (_, slot) => {
      const vector = new Float32Array(segment.layout.width);
      expect(segment.readVector(slot, vector)).toBe(true);
      return vector;
    }),
  );
}

/** Every state in turn, without repetitions. */
function states(loader: SegmentLoader, dense: readonly DenseSegment[]): readonly string[] {
  const seen: string[] = [];
  do {
    const state = dense.map((one) => (one.lacks(CODE_PARTS) ? "no codes" : one.kept)).join();
    if (seen.at(-1) !== state) seen.push(state);
  } while (loader.step());
  return seen;
}

it("loads the codes of all segments, then bf16 of all, then the rest of each", async () => {
  const { loader, dense, memory } = await loaderOf(Infinity);
  expect(states(loader, dense)).toStrictEqual([
    "no codes,no codes,no codes",
    "none,no codes,no codes",
    "none,none,no codes",
    "none,none,none",
    "bf16,none,none",
    "bf16,bf16,none",
    "bf16,bf16,bf16",
    "whole,bf16,bf16",
    "whole,whole,bf16",
    "whole,whole,whole",
  ]);
  expect(memory.taken.vectors).toBe(dense.reduce((sum, one) => sum + one.rowBytes("whole"), 0));
});

it("leaves the rest away before it leaves a segment without bf16", async () => {
  const { memory, dense } = await loaderOf(Infinity);
  const magnitudes = dense.reduce((sum, one) => sum + one.magnitudeBytes, 0);
  const needed = memory.taken.codes + magnitudes + SEGMENTS * dense[0]!.rowBytes("bf16");
  // Vectors and codes get three fifths of the limit for bf16, three eighths for the rest.
  const tight = await loaderOf(Math.ceil(needed / 0.6));
  expect(states(tight.loader, tight.dense).at(-1)).toBe("bf16,bf16,bf16");
  expect(tight.memory.taken.vectors).toBe(SEGMENTS * dense[0]!.rowBytes("bf16"));
  const tighter = await loaderOf(Math.floor(needed / 0.6) - 1);
  expect(states(tighter.loader, tighter.dense).at(-1)).toBe("bf16,bf16,none");
});

it("lets calls go first only with what they hardly need", async () => {
  const { loader, dense } = await loaderOf(Infinity);
  const givesWay = new Set<string>();
  const loads = (): string => (dense.some(({ hasRows }) => !hasRows) ? "first" : "rest");
  do {
    beginSlice();
    if (loader.sliceMs === 0) givesWay.add(loads());
  } while (loader.step());
  expect([...givesWay]).toStrictEqual(["rest"]);
});

it("loads the same vectors with the help of a thread", async () => {
  const alone = await loaderOf(Infinity);
  await load(alone.loader);
  const { loader, dense, memory } = await loaderOf(Infinity, { reader });
  let reads = 0;
  for (; loader.step() || loader.isReading; await sleep(1)) reads += loader.isReading ? 1 : 0;
  expect(reads).toBeGreaterThan(0);
  expect(dense.map(({ kept }) => kept)).toStrictEqual(["whole", "whole", "whole"]);
  expect(vectorsOf(dense)).toStrictEqual(vectorsOf(alone.dense));
  expect(memory.taken).toStrictEqual(alone.memory.taken);
});

it("names the row whose checksum the thread finds wrong", async () => {
  const section = (await openAnySections(files, "1.seg"))!.rows("bf16", 2 * DIMENSION);
  const damaged = Buffer.from(bytes.get("1.seg")!);
  damaged[section.offset + 77 * (2 * DIMENSION + 4) + 5]! ^= 1;
  const from = new MemoryFiles(new Map([...bytes, ["1.seg", damaged]]));
  const { loader, dense } = await loaderOf(Infinity, { reader, from });
  const damage = await load(loader).catch((error: unknown) => error);
  expect(damage).toBeInstanceOf(SegmentDamaged);
  expect(String(damage)).toContain("row 77");
  expect(dense.map(({ kept }) => kept)).toStrictEqual(["bf16", "none", "none"]);
});

it("goes on without a thread that has ended, and counts once what it loads", async () => {
  const ended = new RowReader();
  const { loader, dense, memory } = await loaderOf(Infinity, { reader: ended });
  while (!loader.isReading) loader.step();
  await ended.close();
  await load(loader);
  expect(dense.map(({ kept }) => kept)).toStrictEqual(["whole", "whole", "whole"]);
  expect(memory.taken.vectors).toBe(dense.reduce((sum, one) => sum + one.rowBytes("whole"), 0));
});

it("stops when the segment is gone", async () => {
  const { loader, dense, memory, list } = await loaderOf(Infinity, { reader });
  while (!loader.isReading) loader.step();
  list.clear();
  await load(loader);
  expect(dense.slice(1).map(({ kept }) => kept)).toStrictEqual(["none", "none"]);
  expect(memory.taken).toMatchObject({ vectors: 0, codes: 0, copies: 0 });
  const left = dense[1]!;
  expect(await left.readRows("bf16", { reader, mayGoOn: async () => false })).toBe(false);
  expect(left.kept).toBe("none");
});
