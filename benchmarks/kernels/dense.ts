/** The dense index alone, one thread, beside faiss on the same vectors, filters and queries. */
import { CollectionIndex } from "../../packages/engine/src/index/collection-index.ts";
import type { IndexSnapshot } from "../../packages/engine/src/index/index-snapshot.ts";
import { listBits } from "../../packages/engine/src/segment/bits.ts";
import { RowSet } from "../../packages/engine/src/index/row-set.ts";
import { prepare } from "../../packages/engine/src/kernels/distance.ts";
import { QueryDistance } from "../../packages/engine/src/kernels/value-memory.ts";
import type { StoredRecord } from "../../packages/engine/src/storage/stored-record.ts";
import { median } from "../measure/statistics.ts";
import { type FaissFigures, runFaiss } from "../peers/faiss.ts";
import type { PeerResult } from "../peers/python-peer.ts";
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

/** The first run on a set takes a minute; what faiss made is kept. */
export function measureFaiss(set: SearchSet): Promise<PeerResult<FaissFigures<DenseFilter>>> {
  const specs = [2, 4].map((width) => `IVF${FAISS_LISTS},PQ${set.dimension / width}x4fs,RFlat`);
  return runFaiss(set, { specs, filters: DENSE_FILTERS, grid: null });
}

function clock(work: () => void): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}
