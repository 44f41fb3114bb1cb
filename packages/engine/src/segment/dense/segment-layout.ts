/** Where everything of a segment lies in its kernel memory. */
import type { Space } from "@sheaf/protocol";
import { blockBytes } from "../../kernels/argument-block.ts";
import {
  BASES,
  CANDIDATES,
  CENTROIDS,
  CODES,
  COPY,
  ENCODE,
  FLOATS,
  MAGNITUDES,
  PLACE,
  REFINE,
  ROWS,
  SCAN,
  TABLE,
  WHOLE,
} from "../../kernels/argument-layouts.generated.ts";
import { MAGNITUDE_BYTES, RECORD_BYTES } from "../../kernels/kernels.ts";
import { type KernelKind, KernelMemory, allocationBytes } from "../../kernels/kernel-memory.ts";
import { rotatedSize, rotationBytes } from "./rotation.ts";

export interface SegmentShape {
  /** Vectors of `cosine` have length 1 and are compared by `ip`. */
  readonly space: Exclude<Space, "cosine">;
  readonly dimension: number;
  /** What vectors are relative to: for l2 a mean of rows, for others, which are compared by inner product, nothing. */
  readonly origin: Float32Array | null;
  readonly kernels?: KernelKind | undefined;
}

/** Candidates that survive when their buffers are full: more than any search needs to score again. */
export const CANDIDATES_KEPT = 2_048;
export const CANDIDATE_CAPACITY = 2 * CANDIDATES_KEPT;
/** Slots scored by one call of a kernel. */
export const SLOTS_PER_CALL = 2 * CANDIDATES_KEPT;
/** Vectors that are read from a file at once, to be scored. */
export const ROWS_PER_READ = 64;
/** Slots whose copied codes are estimated by one call: what stays in a core's cache. */
export const COPIED_PER_CALL = 1_024;
/** Bits of a query that is scored by magnitudes: their rounding adds a twentieth to the error. */
export const LEVEL_PLANES = 5;
/** Rows of copies, by slots: some filters that together keep every row have room, though their last calls are short. */
const COPIED_SHARE = 1.25;

/** What follows from the dimension alone. */
export interface VectorWidths {
  /** Elements of a stored vector: the dimension padded to 16. */
  readonly width: number;
  /** Elements of a rotated vector. */
  readonly size: number;
  /** Bytes of a row's code in a block. */
  readonly codeBytes: number;
  /** Bytes of a row's code in its record. */
  readonly recordCodeBytes: number;
  /** Bytes of a row's 4-bit code in a copy. */
  readonly nibbleBytes: number;
}

export interface SegmentLayout extends VectorWidths {
  readonly memory: KernelMemory;
  /** Byte addresses. */
  readonly at: Readonly<Record<Region, number>>;
}

type Region = keyof ReturnType<typeof regionBytes>;

/** What a segment has of its vectors: all bits, the upper half of each element, or nothing. */
export type RowsKept = "whole" | "bf16" | "none";

/**
 * The most that a segment keeps. Vectors of l2 are relative to an origin, which costs them their last bits: data far
 * from zero would lose too much in bf16 otherwise.
 */
export function mostKept({ space }: SegmentShape): RowsKept {
  return space === "l2" ? "bf16" : "whole";
}

export interface SegmentPlan {
  /** Slots. */
  readonly capacity: number;
  readonly lists: number;
  readonly kept: RowsKept;
  /** Room for how large the elements are whose signs the codes have. */
  readonly magnitudes: boolean;
}

export function widthsOf(dimension: number): VectorWidths {
  const width = Math.ceil(dimension / 16) * 16;
  const size = rotatedSize(dimension);
  const codeBytes = size / 8;
  const recordCodeBytes = Math.ceil(size / 128) * 16;
  const nibbleBytes = Math.ceil(width / 32) * 16;
  return { width, size, codeBytes, recordCodeBytes, nibbleBytes };
}

export function layOut(
  shape: SegmentShape,
  { capacity, lists, kept, magnitudes }: SegmentPlan,
): SegmentLayout {
  const vectorWidths = widthsOf(shape.dimension);
  const { width, size } = vectorWidths;
  const widths = {
    ...vectorWidths,
    queryWidth: width,
    width: kept === "none" ? 0 : width,
    lowWidth: kept === "whole" ? width : 0,
    magnitudeBytes: magnitudes ? magnitudeBytes(vectorWidths.recordCodeBytes) : 0,
  };
  const regions = Object.entries(regionBytes(widths, capacity, lists));
  const bytes = regions.reduce((sum, [, length]) => sum + allocationBytes(length), ARGUMENT_BYTES);
  const memory = new KernelMemory(bytes + rotationBytes(size), { kernels: shape.kernels });
  const at = Object.fromEntries(regions.map(([name, length]) => [name, memory.allocate(length)]));
  return { ...vectorWidths, memory, at: at as Record<Region, number> };
}

/** The argument blocks that the segment makes, `SegmentSearch` and its parts, and what measures the reach before. */
const OWN_BLOCKS = [PLACE, FLOATS];
const BLOCKS = [
  ROWS,
  CENTROIDS,
  WHOLE,
  CODES,
  COPY,
  ENCODE,
  CANDIDATES,
  SCAN,
  TABLE,
  BASES,
  REFINE,
  MAGNITUDES,
];
const MEASURING_BLOCKS = [ROWS, CENTROIDS, WHOLE, CANDIDATES, MAGNITUDES, SCAN, TABLE, CODES];
const ARGUMENT_BYTES = [...OWN_BLOCKS, ...BLOCKS, ...MEASURING_BLOCKS].reduce(
  (sum, layout) => sum + allocationBytes(blockBytes(layout)),
  0,
);

/** Bytes of a row's record. */
export function recordBytes(recordCodeBytes: number): number {
  return recordCodeBytes + RECORD_BYTES;
}

/** Bytes of a row's magnitudes. */
export function magnitudeBytes(recordCodeBytes: number): number {
  return 2 * recordCodeBytes + MAGNITUDE_BYTES;
}

/** Rows of all copies together, in whole calls. */
export function copiedRows(capacity: number): number {
  return Math.ceil((capacity * COPIED_SHARE) / COPIED_PER_CALL) * COPIED_PER_CALL;
}

interface Widths extends VectorWidths {
  readonly queryWidth: number;
  readonly lowWidth: number;
  readonly magnitudeBytes: number;
}

function regionBytes(widths: Widths, capacity: number, lists: number) {
  const copied = copiedRows(capacity);
  return {
    /** bf16 vectors by slot. */
    halves: capacity * widths.width * 2,
    /** What the bf16 vectors lack. */
    lows: capacity * widths.lowWidth * 2,
    /** Codes in blocks of 32 slots, for FastScan. */
    blocks: capacity * widths.codeBytes,
    /** By slot: the same code, then factor, bias and list; see `RECORD`. */
    records: capacity * recordBytes(widths.recordCodeBytes),
    /** By slot: see `assembly/magnitudes.ts`. */
    magnitudes: capacity * widths.magnitudeBytes,
    factors: capacity * 4,
    biases: capacity * 4,
    /** 8-bit elements by list, and what a step of them is worth. */
    centroids: lists * widths.queryWidth,
    centroidSteps: lists * 4,
    // From here on what one search needs.
    /** <centroid, query> by list. */
    bases: lists * 4,
    query: widths.queryWidth * 4,
    /** What the row that is placed is relative to. */
    centroid: widths.queryWidth * 4,
    reordered: widths.queryWidth * 4,
    /** The same in 16 bits, with zeros to twice the bytes of a 4-bit code. */
    queryWords: widths.nibbleBytes * 4,
    table: widths.size * 4,
    planes: widths.recordCodeBytes * 4,
    magnitudePlanes: widths.recordCodeBytes * LEVEL_PLANES,
    /** Filter bits by slot. */
    masks: capacity / 8,
    slots: SLOTS_PER_CALL * 4,
    scores: SLOTS_PER_CALL * 4,
    candidateIds: CANDIDATE_CAPACITY * 4,
    candidateScores: CANDIDATE_CAPACITY * 4,
    scratch: 128,
    /** Vectors that were read from a file: bf16, and what that left of one of them. */
    readHalves: ROWS_PER_READ * widths.width * 2,
    readLows: widths.lowWidth * 2,
    /** What one call looks at beside a `CodeCopy`: the biases and bases of its rows in one, and which rows. */
    copiedSums: COPIED_PER_CALL * 4,
    copiedMasks: COPIED_PER_CALL / 8,
    // Pages that no copy needs stay untouched, and take no memory.
    copiedBlocks: copied * widths.codeBytes,
    copiedFactors: copied * 4,
    copiedBiases: copied * 4,
    copiedLists: copied * 2,
    /** 4-bit codes of the vectors, what a step of their levels is worth and what they lost. */
    copiedNibbles: widths.width === 0 ? 0 : copied * widths.nibbleBytes,
    copiedSteps: copied * 4,
    copiedLosses: copied * 4,
  };
}
