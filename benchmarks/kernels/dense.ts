/** The dense index alone, one thread, beside faiss on the same vectors, filters and queries. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { CollectionIndex } from "../../packages/engine/src/index/collection-index.ts";
import type { IndexSnapshot } from "../../packages/engine/src/index/index-snapshot.ts";
import { listBits } from "../../packages/engine/src/segment/bits.ts";
import { RowSet } from "../../packages/engine/src/index/row-set.ts";
import { prepare } from "../../packages/engine/src/kernels/distance.ts";
import { QueryDistance } from "../../packages/engine/src/kernels/value-memory.ts";
import type { StoredRecord } from "../../packages/engine/src/storage/stored-record.ts";
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
  const record = (row: number): StoredRecord => {
    const embedding = vectorOf(vectors, row, dimension);
    return {
      offset: row,
      sequence: row,
      id: `r${row}`,
      embedding,
      document: null,
      uri: null,
      metadata: null,
    };
  };
  const plan = { space: "cosine", embeddingFunction: null, sparse: [] } as const;
  const index = new CollectionIndex(plan, { read: record, readVector: record }, { filling: true });
  const put = clock(() => {
    for (let row = 0; row < rows; row++) index.put(record(row));
  });
  let longestSliceMs = 0;
  const seal = clock(() => {
    let from = performance.now();
    while (index.maintain(true)) {
      const now = performance.now();
      longestSliceMs = Math.max(longestSliceMs, now - from);
      from = now;
    }
  });
  const masks = new FilterMasks(set);
  const filters = Object.fromEntries(
    DENSE_FILTERS.map((filter) => [
      filter,
      measureFilter(index.snapshot(), set, (query) => masks.of(filter, query), filter),
    ]),
  ) as EngineFigures["filters"];
  index.close();
  return { putMicroseconds: (1_000 * put) / rows, sealSeconds: seal / 1_000, longestSliceMs, filters };
}

function measureFilter(
  snapshot: IndexSnapshot,
  set: SearchSet,
  bytesOf: (query: number) => Uint8Array,
  filter: DenseFilter,
): { ms: number; recall: number } {
  const made = new Map<Uint8Array, RowSet>();
  const rowsOf = (query: number): RowSet => {
    if (filter === "all") return snapshot.live;
    const bytes = bytesOf(query);
    const rows = made.get(bytes) ?? rowsWith(bytes, snapshot);
    made.set(bytes, rows);
    return rows;
  };
  const times: number[] = [];
  let found = 0;
  let wanted = 0;
  for (let turn = 0; turn <= TURNS; turn++) {
    for (let query = 0; query < set.queries; query++) {
      const vector = vectorOf(set.queryVectors, query, set.dimension);
      const rows = rowsOf(query);
      const start = performance.now();
      const near = nearestOffsets(vector, rows, set, snapshot);
      // The first turn is for the compiler.
      if (turn > 0) times.push(performance.now() - start);
      const exact = set.truth.nearest[filter][query] ?? [];
      wanted += exact.length;
      found += exact.filter((row) => near.includes(row)).length;
    }
  }
  return { ms: median(times), recall: found / wanted };
}

function nearestOffsets(
  vector: Float32Array,
  rows: RowSet,
  { vectors, dimension }: SearchSet,
  snapshot: IndexSnapshot,
): Float64Array {
  const query = prepare("cosine", vector);
  const distance = new QueryDistance("cosine", query);
  const distanceAt = (position: number): number =>
    distance.to(vectorOf(vectors, snapshot.offset(position), dimension));
  const steps = snapshot.searchDense({ query, k: K, exact: false, distanceAt }, rows);
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value?.nearest.offsets ?? new Float64Array(0);
}

/** Those whose byte is 1, by row. */
function rowsWith(bytes: Uint8Array, snapshot: IndexSnapshot): RowSet {
  const rows = new RowSet(snapshot.bases);
  for (const position of listBits(snapshot.live.words))
    if (bytes[snapshot.offset(position)] === 1) rows.add(position);
  return rows;
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
