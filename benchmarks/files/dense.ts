/**
 * The vectors of one segment in its file: writing it, opening it, the first search, and searches that read vectors one by
 * one beside those of the same segment in memory.
 */
import {
  type SegmentFile,
  type SegmentFiles,
} from "../../packages/engine/src/storage/files/segment-files.ts";
import { listBits } from "../../packages/engine/src/segment/bits.ts";
import { searchDense } from "../../packages/engine/src/segment/dense/search-dense.ts";
import { sampler } from "../../packages/engine/src/segment/dense/testing/data-sets.ts";
import { openSegmentFile, writeSegmentFile } from "../../packages/engine/src/segment/files/segment-file.ts";
import type { SealedSegment } from "../../packages/engine/src/segment/sealed-segment.ts";
import {
  mutableSegment,
  planOf,
  sealedSegment,
  withCodes,
} from "../../packages/engine/src/segment/testing/sealed-segments.ts";
import { runSteps } from "../../packages/engine/src/storage/steps.ts";

const MUTABLE_ROWS = 16_384;
const QUERIES = 300;
const K = 10;
const NAME = "dense.seg";

/** Rows of a table. */
export async function measureDense(
  files: SegmentFiles,
  rows: number,
  dimension: number,
): Promise<string[][]> {
  const table: string[][] = [];
  const add = (name: string, value: number, unit: string): void =>
    void table.push([name, value.toFixed(2), unit]);
  const vectors = sampler("topics", dimension, 1);
  const memory = sealed(rows, () => vectors.next().vector);
  const queries = Array.from({ length: QUERIES }, () => vectors.next().vector);

  const stretches = watchLoop();
  const written = await timed(() => writeSegmentFile(files, NAME, memory));
  add("write, synced", written.ms, "ms");
  const longest = stretches.end();
  add("longest stretch of the event loop meanwhile", longest.ms, "ms");
  add("… in processor time", longest.worked, "ms");

  const counted = countReads(files);
  const options = { id: 1, space: "cosine", dimension, plan: planOf("cosine") } as const;
  const opened = await timed(() => openSegmentFile(counted.files, written.value, options));
  add("open", opened.ms, "ms");
  const segment = opened.value;
  add("first search", (await timed(() => search(segment, queries[0]!))).ms, "ms");
  add("first identities (offset, sequence, id)", (await timed(() => identityOf(segment))).ms, "ms");
  add("first look-up by id", (await timed(() => segment.docOfId("r1"))).ms, "ms");

  add("search, in memory", medianOf(memory, queries), "ms");
  const before = counted.reads();
  add("search, vectors read one by one", medianOf(segment, queries), "ms");
  add("reads of a search", (counted.reads() - before) / QUERIES, "");
  const dense = segment.vectors.search.segment;
  add("load all vectors", (await timed(() => runSteps(dense.loadRows(dense.readable)))).ms, "ms");
  add("search, vectors loaded", medianOf(segment, queries), "ms");
  segment.close();
  memory.close();
  return table;
}

function sealed(rows: number, vector: () => Float32Array): SealedSegment {
  const sources = Array.from({ length: Math.ceil(rows / MUTABLE_ROWS) }, (_, i) => {
    const count = Math.min(MUTABLE_ROWS, rows - i * MUTABLE_ROWS);
    const written = Array.from({ length: count }, (_row, j) => {
      const offset = i * MUTABLE_ROWS + j;
      const rest = { document: null, metadata: null, sparse: new Map() };
      return { offset, sequence: offset + 1, id: `r${offset}`, vector: vector(), ...rest };
    });
    return withCodes(mutableSegment(written, Math.ceil(count / 32) * 32));
  });
  return sealedSegment(sources).segment;
}

function search(segment: SealedSegment, query: Float32Array): void {
  const { placed } = segment.vectors.search.segment;
  const part = {
    search: segment.vectors.search,
    base: 0,
    docs: placed,
    count: segment.rows,
    slots: () => Uint32Array.from(listBits(placed)),
  };
  const distanceAt = (): never => {
    throw new Error("the segment has its vectors");
  };
  runSteps(searchDense([part], { query, k: K, exact: false, size: segment.rows, distanceAt }));
}

function identityOf(segment: SealedSegment): string {
  return `${segment.offsets[0]} ${segment.sequences[0]} ${segment.idAt(0)}`;
}

function medianOf(segment: SealedSegment, queries: readonly Float32Array[]): number {
  const times = queries.map((query) => {
    const start = performance.now();
    search(segment, query);
    return performance.now() - start;
  });
  return times.toSorted((a, b) => a - b)[times.length >>> 1]!;
}

async function timed<T>(run: () => T | Promise<T>): Promise<{ readonly value: T; readonly ms: number }> {
  const start = performance.now();
  const value = await run();
  return { value, ms: performance.now() - start };
}

interface Stretch {
  readonly ms: number;
  /** Processor time of all threads, in milliseconds: what others take of a busy machine is not in it. */
  readonly worked: number;
}

/** How long the event loop was away at most. */
function watchLoop(): { end(): Stretch } {
  let longest: Stretch = { ms: 0, worked: 0 };
  let last = performance.now();
  let before = process.cpuUsage();
  let turn = setImmediate(look);
  function look(): void {
    const now = performance.now();
    const { user, system } = process.cpuUsage(before);
    longest = {
      ms: Math.max(longest.ms, now - last),
      worked: Math.max(longest.worked, (user + system) / 1_000),
    };
    last = now;
    before = process.cpuUsage();
    turn = setImmediate(look);
  }
  return {
    end() {
      clearImmediate(turn);
      return longest;
    },
  };
}

function countReads(files: SegmentFiles): { readonly files: SegmentFiles; reads(): number } {
  let reads = 0;
  const counted = (file: SegmentFile): SegmentFile => ({
    ...{ name: file.name, size: file.size, isLocal: file.isLocal },
    tryRead(into, position) {
      reads++;
      return file.tryRead(into, position);
    },
    read: (into, position, options) => file.read(into, position, options),
    close: () => file.close(),
  });
  const open: SegmentFiles["open"] = async (name, options) => {
    const file = await files.open(name, options);
    return file && counted(file);
  };
  return {
    files: Object.assign(Object.create(files) as SegmentFiles, { open }),
    reads: () => reads,
  };
}
