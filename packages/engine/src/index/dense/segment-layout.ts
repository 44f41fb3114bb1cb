/** Where everything of a segment lies in its kernel memory. */
import type { Space } from "@sheaf/protocol";
import { RECORD } from "../../kernels/arguments.ts";
import { type KernelKind, KernelMemory, allocationBytes } from "../../kernels/kernel-memory.ts";
import { rotatedSize, rotationBytes } from "./rotation.ts";

export interface SegmentShape {
  readonly space: Space;
  readonly dimension: number;
  readonly kernels?: KernelKind | undefined;
}

/** Candidates that survive when their buffers are full: more than any search needs to score again. */
export const CANDIDATES_KEPT = 2_048;
export const CANDIDATE_CAPACITY = 2 * CANDIDATES_KEPT;
/** Slots scored by one call of a kernel. */
export const SLOTS_PER_CALL = 2 * CANDIDATES_KEPT;
/** Slots whose copied codes are estimated by one call: what stays in a core's cache. */
export const COPIED_PER_CALL = 2_048;

export interface SegmentLayout {
  readonly memory: KernelMemory;
  /** Elements of a stored vector: the dimension padded to 16. */
  readonly width: number;
  /** Elements of a rotated vector. */
  readonly size: number;
  /** Bytes of a row's code in a block. */
  readonly codeBytes: number;
  /** Bytes of a row's code in its record. */
  readonly recordCodeBytes: number;
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
}

export function layOut(shape: SegmentShape, { capacity, lists, kept }: SegmentPlan): SegmentLayout {
  const width = Math.ceil(shape.dimension / 16) * 16;
  const size = rotatedSize(shape.dimension);
  const codeBytes = size / 8;
  const recordCodeBytes = Math.ceil(size / 128) * 16;
  const widths = {
    queryWidth: width,
    width: kept === "none" ? 0 : width,
    lowWidth: kept === "whole" ? width : 0,
    ...{ size, codeBytes, recordCodeBytes },
  };
  const regions = Object.entries(regionBytes(widths, capacity, lists));
  const bytes = regions.reduce((sum, [, length]) => sum + allocationBytes(length), ARGUMENT_BYTES);
  const memory = new KernelMemory(bytes + rotationBytes(size), { kernels: shape.kernels });
  const at = Object.fromEntries(regions.map(([name, length]) => [name, memory.allocate(length)]));
  return { memory, width, size, codeBytes, recordCodeBytes, at: at as Record<Region, number> };
}

/** The argument blocks that `SegmentScan` makes. */
const ARGUMENT_BYTES = 1_024;

/** Bytes of a row's record. */
export function recordBytes(recordCodeBytes: number): number {
  return recordCodeBytes + RECORD.words * 4;
}

interface Widths extends Pick<SegmentLayout, "width" | "size" | "codeBytes" | "recordCodeBytes"> {
  readonly queryWidth: number;
  readonly lowWidth: number;
}

function regionBytes(widths: Widths, capacity: number, lists: number) {
  return {
    /** bf16 vectors by slot. */
    halves: capacity * widths.width * 2,
    /** What the bf16 vectors lack. */
    lows: capacity * widths.lowWidth * 2,
    /** Codes in blocks of 32 slots, for FastScan. */
    blocks: capacity * widths.codeBytes,
    /** By slot: the same code, then factor, bias and list; see `RECORD`. */
    records: capacity * recordBytes(widths.recordCodeBytes),
    factors: capacity * 4,
    biases: capacity * 4,
    /** A bit per slot. */
    live: capacity / 8,
    /** 8-bit elements by list, and what a step of them is worth. */
    centroids: lists * widths.queryWidth,
    centroidSteps: lists * 4,
    // From here on what one search needs.
    /** <centroid, query> by list. */
    bases: lists * 4,
    query: widths.queryWidth * 4,
    reordered: widths.queryWidth * 4,
    /** The same in 16 bits. */
    queryWords: widths.queryWidth * 2,
    table: widths.size * 4,
    planes: widths.recordCodeBytes * 4,
    /** Filter bits by slot. */
    masks: capacity / 8,
    slots: SLOTS_PER_CALL * 4,
    scores: SLOTS_PER_CALL * 4,
    candidateIds: CANDIDATE_CAPACITY * 4,
    candidateScores: CANDIDATE_CAPACITY * 4,
    scratch: 128,
    /** A stretch of a `CodeCopy`, with the biases and bases of its rows in one. */
    copiedBlocks: COPIED_PER_CALL * widths.codeBytes,
    copiedFactors: COPIED_PER_CALL * 4,
    copiedBiases: COPIED_PER_CALL * 4,
    copiedMasks: COPIED_PER_CALL / 8,
  };
}
