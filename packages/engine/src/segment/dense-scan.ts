/**
 * The exact scan of dense vectors, in slices of about a millisecond between which its caller may stop it or let
 * other work run. The same code runs in this thread and on the workers of a `ScanPool`.
 */
import type { Space } from "@sheaf/protocol";
import { preparedDistance } from "../kernels/distance.ts";
import { countBits } from "./bits.ts";
import type { TopK } from "./top-k.ts";

/** Multiplications of one slice; plain TypeScript does about a thousand in a microsecond. */
const SLICE_WORK = 2 ** 20;

/** One segment's share of a scan; vectors and offsets are shared memory. */
export interface SegmentScan {
  /** Prepared for the space, one row after the other. */
  readonly vectors: Float32Array;
  /** Record offset per row. */
  readonly offsets: Float64Array;
  /** The rows to look at, 32 to a word. */
  readonly mask: Uint32Array;
  /** Position of row 0. */
  readonly firstPosition: number;
}

export interface DenseScan {
  readonly space: Space;
  /** Prepared for the space. */
  readonly query: Float32Array;
  readonly segments: readonly SegmentScan[];
  /** Rows to find, at least 1. */
  readonly k: number;
}

/** Multiplications a scan takes, for whoever decides where it runs. */
export function scanWork(scan: DenseScan): number {
  return scan.segments.reduce((work, { mask }) => work + countBits(mask) * scan.query.length, 0);
}

/** Pushes every row into `top`, pausing after each slice. */
export function* scanSlices(scan: DenseScan, top: TopK): Generator<void, void> {
  const wordsPerSlice = Math.max(1, Math.floor(SLICE_WORK / (32 * scan.query.length)));
  for (const segment of scan.segments) {
    for (let word = 0; word < segment.mask.length; word += wordsPerSlice) {
      scanWords(scan, segment, { from: word, to: Math.min(word + wordsPerSlice, segment.mask.length) }, top);
      yield;
    }
  }
}

function scanWords(
  { space, query }: DenseScan,
  { vectors, offsets, mask, firstPosition }: SegmentScan,
  words: { readonly from: number; readonly to: number },
  top: TopK,
): void {
  const dimension = query.length;
  for (let index = words.from; index < words.to; index++) {
    let word = mask[index]!;
    while (word !== 0) {
      const row = index * 32 + 31 - Math.clz32(word & -word);
      word &= word - 1;
      const distance = preparedDistance(space, query, vectors, row * dimension);
      top.push(distance, offsets[row]!, firstPosition + row);
    }
  }
}
