/** What is loaded of segments in files, in which order, and as far as there is room. */
import { beginSlice } from "@sheaf/process";
import { expect, it } from "vitest";
import { mutableSegment, planOf, sealedSegment, withCodes } from "../segment/testing/sealed-segments.ts";
import type { SealedSegment } from "../segment/sealed-segment.ts";
import type { DenseSegment } from "../segment/dense/dense-segment.ts";
import { sampler } from "../segment/dense/testing/data-sets.ts";
import { CODE_PARTS } from "../segment/dense/dense-source.ts";
import { openSegmentFile, writeSegmentFile } from "../segment/files/segment-file.ts";
import { prepare } from "../kernels/distance.ts";
import { IndexMemory } from "../storage/files/index-memory.ts";
import { MemoryFiles } from "../storage/files/memory-files.ts";
import { SegmentLoader } from "./segment-loader.ts";
import { LiveSegment, SegmentList } from "./segment-list.ts";

const DIMENSION = 32;
const ROWS = 256;
const SEGMENTS = 3;

const vectors = sampler("topics", DIMENSION, 7);

const EMPTY = { document: null, metadata: null, sparse: new Map() };

const files = new MemoryFiles();
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

function opened(memory: IndexMemory): Promise<readonly SealedSegment[]> {
  const options = { space: "cosine", dimension: DIMENSION, plan: planOf("cosine"), memory } as const;
  return Promise.all(written.map((file, id) => openSegmentFile(files, file, { id, ...options })));
}

async function loaderOf(limit: number): Promise<{
  readonly loader: SegmentLoader;
  readonly dense: readonly DenseSegment[];
  readonly memory: IndexMemory;
}> {
  const memory = new IndexMemory(limit);
  const segments = await opened(memory);
  const list = new SegmentList();
  list.restore(segments.map((segment) => new LiveSegment(segment)));
  const dense = segments.map(({ vectors }) => vectors.search.segment);
  return { loader: new SegmentLoader(list), dense, memory };
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
  const needed = memory.taken.codes + SEGMENTS * dense[0]!.rowBytes("bf16");
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
