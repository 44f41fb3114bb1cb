/** faiss on the same set, in memory and without a server: inverted lists of 4-bit codes, exact vectors beside them. */
import { type FaissFigures, runFaiss } from "../peers/faiss.ts";
import type { PeerResult } from "../peers/python-peer.ts";
import { type LargeSet, SCALE_FILTERS, type ScaleFilter } from "./data/large-set.ts";
import { GRID } from "./data/vector-file.ts";

export type FaissComparison = PeerResult<FaissFigures<ScaleFilter>>;

/** The first run on a set of a million takes minutes; the index is kept. */
export function compareFaiss(set: LargeSet): Promise<FaissComparison> {
  const lists = 2 ** Math.round(Math.log2(2 * Math.sqrt(set.rows)));
  const specs = [`IVF${lists},PQ${set.dimension / 2}x4fs,RFlat`];
  return runFaiss(set, { specs, filters: SCALE_FILTERS, grid: GRID });
}
