/** faiss on the vectors, filters and queries of a set, one thread, at the cheapest setting that reaches the recall. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { FilterName } from "../search/workload/filters.ts";
import { BLOCK_ROWS, FilterMasks, type Queries, type Truth } from "../search/workload/ground-truth.ts";
import { type PeerResult, runPythonPeer } from "./python-peer.ts";

export interface FaissFigures<Filter extends FilterName> {
  readonly version: string;
  /** `null` where no setting reaches the recall. */
  readonly filters: Readonly<
    Record<Filter, { readonly ms: number; readonly recall: number; readonly setting: string } | null>
  >;
}

export interface FaissSet<Filter extends FilterName> extends Queries {
  readonly rows: number;
  readonly groups: Uint16Array;
  readonly truth: Truth<Filter>;
  /** Where what faiss made of the set is kept. */
  readonly folder: string;
  /** Of 32-bit floats, or on a grid. */
  readonly files: { readonly vectors: string; readonly queryVectors: string };
}

export interface FaissJob<Filter extends FilterName> {
  /** Kinds of indexes, in faiss's language. */
  readonly specs: readonly string[];
  readonly filters: readonly Filter[];
  /** Steps in 1 where the files hold int16; `null`: 32-bit floats. */
  readonly grid: number | null;
}

export function runFaiss<Filter extends FilterName>(
  set: FaissSet<Filter>,
  { specs, filters, grid }: FaissJob<Filter>,
): Promise<PeerResult<FaissFigures<Filter>>> {
  const { dimension, folder, files } = set;
  const bits = filterBits(set, filters);
  const ofFilters = Object.fromEntries(
    filters.map((filter) => {
      const truth = set.truth.nearest[filter];
      if (filter === "all") return [filter, { masks: null, truth }];
      const ofQuery = bits[filter];
      const different = [...new Set(ofQuery)];
      const path = join(folder, `faiss-mask-${filter}`);
      writeFileSync(path, Buffer.concat(different.map((mask) => Buffer.from(mask.buffer))));
      const of = ofQuery.map((mask) => different.indexOf(mask));
      return [filter, { masks: path, count: different.length, of, truth }];
    }),
  );
  const { vectors, queryVectors: queries } = files;
  const job = { dimension, folder, vectors, queries, grid, specs, filters: ofFilters };
  return runPythonPeer("faiss-peer", folder, job);
}

/** A bit for each row that the filter of a query keeps; queries with one filter share them. */
function filterBits<Filter extends FilterName>(
  set: FaissSet<Filter>,
  filters: readonly Filter[],
): Record<Filter, Uint32Array[]> {
  const { rows, groups, queries, queryGroups } = set;
  const made = {} as Record<Filter, Uint32Array[]>;
  for (let from = 0; from < rows; from += BLOCK_ROWS) {
    const block = groups.subarray(from, from + BLOCK_ROWS);
    const masks = new FilterMasks({ from, rows: block.length, groups: block, queryGroups });
    for (const filter of filters) {
      const ofQuery = Array.from({ length: queries }, (_, query) => masks.of(filter, query));
      made[filter] ??= sharedBits(ofQuery, rows);
      for (const [mask, bits] of new Map(ofQuery.map((bytes, query) => [bytes, made[filter][query]!])))
        for (const [row, byte] of mask.entries())
          if (byte === 1) bits[(from + row) >>> 5]! |= 1 << ((from + row) & 31);
    }
  }
  return made;
}

/** One array for all queries with the same mask. */
function sharedBits(masks: readonly Uint8Array[], rows: number): Uint32Array[] {
  const words = Math.ceil(rows / 32);
  const of = new Map([...new Set(masks)].map((mask) => [mask, new Uint32Array(words)]));
  return masks.map((mask) => of.get(mask)!);
}
