/** The dense index alone, one thread, beside faiss on the same vectors, filters and queries. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DenseIndex } from "../../packages/engine/src/index/dense/dense-index.ts";
import { median } from "../measure/statistics.ts";
import { type PeerResult, runPythonPeer } from "../peers/python-peer.ts";
import { FilterMasks, K } from "../search/workload/ground-truth.ts";
import { type SearchSet, vectorOf } from "../search/workload/search-set.ts";

/** `all`: none. The others keep 50 %, 5 %, 0.1 %, and 5 % that are all far from the query. */
export const DENSE_FILTERS = ["all", "half", "f5", "f01", "adversarial"] as const;
export type DenseFilter = (typeof DENSE_FILTERS)[number];

export interface EngineFigures {
  readonly putMicroseconds: number;
  readonly sealSeconds: number;
  readonly longestSliceMs: number;
  readonly filters: Readonly<Record<DenseFilter, { readonly ms: number; readonly recall: number }>>;
}

export interface FaissFigures {
  readonly version: string;
  /** `null` where no setting reaches the recall. */
  readonly filters: Readonly<
    Record<DenseFilter, { readonly ms: number; readonly recall: number; readonly setting: string } | null>
  >;
}

/** Lists of FastScan codes of 4 bits, the exact vectors beside them. */
const FAISS_LISTS = 1_024;
const TURNS = 3;

export function measureDense(set: SearchSet): EngineFigures {
  const { rows, dimension, vectors } = set;
  const readVector = (row: number): Float32Array => vectorOf(vectors, row, dimension);
  const index = new DenseIndex({ space: "cosine", dimension, readVector });
  const put = clock(() => {
    for (let row = 0; row < rows; row++) index.put(row, readVector(row));
  });
  let longestSliceMs = 0;
  const seal = clock(() => {
    let from = performance.now();
    while (index.maintain()) {
      const now = performance.now();
      longestSliceMs = Math.max(longestSliceMs, now - from);
      from = now;
    }
  });
  const masks = new FilterMasks(set);
  const filters = Object.fromEntries(
    DENSE_FILTERS.map((filter) => [
      filter,
      measureFilter(index, set, (query) => masks.of(filter, query), filter),
    ]),
  ) as EngineFigures["filters"];
  index.close();
  return { putMicroseconds: (1_000 * put) / rows, sealSeconds: seal / 1_000, longestSliceMs, filters };
}

function measureFilter(
  index: DenseIndex,
  set: SearchSet,
  bytesOf: (query: number) => Uint8Array,
  filter: DenseFilter,
): { ms: number; recall: number } {
  const packed = new Map<Uint8Array, Uint32Array>();
  const maskOf = (query: number): Uint32Array | null => {
    if (filter === "all") return null;
    const bytes = bytesOf(query);
    const mask = packed.get(bytes) ?? bitsOf(bytes);
    packed.set(bytes, mask);
    return mask;
  };
  const times: number[] = [];
  let found = 0;
  let wanted = 0;
  for (let turn = 0; turn <= TURNS; turn++) {
    for (let query = 0; query < set.queries; query++) {
      const vector = vectorOf(set.queryVectors, query, set.dimension);
      const mask = maskOf(query);
      const start = performance.now();
      const near = index.topK(vector, K, mask).rows;
      // The first turn is for the compiler.
      if (turn > 0) times.push(performance.now() - start);
      const exact = set.truth.nearest[filter][query] ?? [];
      wanted += exact.length;
      found += exact.filter((row) => near.includes(row)).length;
    }
  }
  return { ms: median(times), recall: found / wanted };
}

/** The first run on a set takes minutes: faiss trains on one thread. What it made is kept. */
export function measureFaiss(set: SearchSet): Promise<PeerResult<FaissFigures>> {
  const masks = new FilterMasks(set);
  const filters = Object.fromEntries(
    DENSE_FILTERS.map((filter) => {
      const truth = set.truth.nearest[filter];
      if (filter === "all") return [filter, { masks: null, truth }];
      const ofQuery = Array.from({ length: set.queries }, (_, query) => masks.of(filter, query));
      const different = [...new Set(ofQuery)];
      const path = join(set.folder, `faiss-mask-${filter}`);
      writeFileSync(path, Buffer.concat(different.map((mask) => Buffer.from(bitsOf(mask).buffer))));
      const of = ofQuery.map((mask) => different.indexOf(mask));
      return [filter, { masks: path, count: different.length, of, truth }];
    }),
  );
  const { dimension, folder, files } = set;
  const specs = [2, 4].map((width) => `IVF${FAISS_LISTS},PQ${dimension / width}x4fs,RFlat`);
  const { vectors, queryVectors: queries } = files;
  return runPythonPeer("faiss-peer", folder, { dimension, folder, vectors, queries, specs, filters });
}

/** From a byte of 0 or 1 per row to a bit. */
function bitsOf(bytes: Uint8Array): Uint32Array {
  const bits = new Uint32Array(Math.ceil(bytes.length / 32));
  for (const [row, byte] of bytes.entries()) if (byte === 1) bits[row >>> 5]! |= 1 << (row & 31);
  return bits;
}

function clock(work: () => void): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}
