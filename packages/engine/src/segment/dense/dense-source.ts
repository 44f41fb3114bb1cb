/** Where a segment has its codes and vectors that are not in memory: its file. */
import type { ReadOptions } from "../../storage/files/segment-files.ts";
import type { RowReader } from "../../storage/files/row-reader.ts";
import type { DenseSegment } from "./dense-segment.ts";
import type { RowsKept } from "./segment-layout.ts";

/** Codes that are loaded together, each from a section of that name. */
export type CodePart = "biases" | "factors" | "blocks" | "records" | "magnitudes";

/** Those that every search may need. */
export const CODE_PARTS: readonly CodePart[] = ["biases", "factors", "blocks", "records"];

/** All that there are, in the order of their sections. */
export function allCodeParts(hasMagnitudes: boolean): readonly CodePart[] {
  return hasMagnitudes ? [...CODE_PARTS, "magnitudes"] : CODE_PARTS;
}

export interface ReadBeside {
  readonly reader: RowReader;
  /** Asked before each MiB or two. */
  readonly mayGoOn: () => Promise<boolean>;
}

export interface DenseSource {
  /** What there is of the vectors. */
  readonly rows: RowsKept;
  /** It has magnitudes: files of earlier builds have none. */
  readonly hasMagnitudes: boolean;
  /** It is on this machine: everything can be read at once. */
  readonly isLocal: boolean;
  /** Whether any of them is not in memory yet. */
  lacks(parts: readonly CodePart[]): boolean;
  /** Reads them into the memory of the segment in slices, unless they are there. Throws `DataAbsent`. */
  load(segment: DenseSegment, parts: readonly CodePart[]): Generator<void, void>;
  /** Reads those of the slots `[first, end)` at once; only where it is local. */
  loadSlots(segment: DenseSegment, parts: readonly CodePart[], slots: readonly [number, number]): void;
  /** Reads what the segment does not keep yet of all vectors there, in slices; only where it is local. */
  loadRows(segment: DenseSegment, kept: RowsKept): Generator<void, void>;
  /** `loadRows` with the help of another thread, as long as `mayGoOn` resolves to `true`; `false`: it has not. */
  readRows(segment: DenseSegment, kept: RowsKept, beside: ReadBeside): Promise<boolean>;
  /** Reads codes there, wherever they are. */
  fetch(segment: DenseSegment, parts: readonly CodePart[], options: ReadOptions): Promise<void>;
  /** So that `readHalves` has these slots. Throws `DataAbsent` where they are to be fetched. */
  requireHalves(slots: Uint32Array): void;
  /** Fills `into` with the bf16 of slots, which ascend; `false`: not all of them are on this machine. */
  readHalves(slots: Uint32Array, into: Uint8Array): boolean;
  /** The same with what bf16 left of one. */
  readLows(slot: number, into: Uint8Array): boolean;
  /** The vector of a slot, all that there is of it; `false`: it is not on this machine. */
  readVector(slot: number, target: Float32Array): boolean;
}
