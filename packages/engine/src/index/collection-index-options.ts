/** What an index is made with, and what it is told of. */
import type { KernelKind } from "../kernels/kernel-memory.ts";
import type { IndexMemory } from "../storage/files/index-memory.ts";
import type { RowReader } from "../storage/files/row-reader.ts";
import type { LookupSegment } from "../segment/segment.ts";
import type { StoredRecord, VectorVersion } from "../storage/stored-record.ts";
import type { FiledSegments } from "./filed-segments.ts";
import type { SealElsewhere } from "./indexer.ts";

/** Reads the store for what the index does not keep. */
export interface RecordReader {
  /** `null` if it is gone. */
  read(offset: number): StoredRecord | null;
  /** The vector alone, faster; `null` if the record is gone. */
  readVector(offset: number): VectorVersion | null;
}

/** What a batch changes. */
export interface IndexChange {
  readonly removes: readonly { readonly offset: number; readonly sequence: number }[];
  readonly puts: Iterable<StoredRecord>;
}

export interface SegmentSizes {
  /** Rows of a segment that is being filled, a multiple of 32. */
  readonly mutableRows: number;
  /** Rows of the largest segment that is sealed. */
  readonly sealedRows: number;
}

export interface CollectionIndexOptions {
  /** Records from which on rows get codes and full segments are sealed. */
  readonly denseRows?: number | undefined;
  /** Until `filled` rows are added as fast as they can be; no search is under way. */
  readonly filling?: boolean | undefined;
  /** Of all indexes of the process; without limit if left out. */
  readonly memory?: IndexMemory | undefined;
  /** Small ones for tests. */
  readonly sizes?: SegmentSizes | undefined;
  /** Sparse postings of a segment that wait unpacked; small for tests. */
  readonly minSparseTail?: number | undefined;
  /** `plain` for tests: the same results without WASM. */
  readonly kernels?: KernelKind | undefined;
  /** Where segments are written if not in this process. */
  readonly sealElsewhere?: SealElsewhere | undefined;
  /** Sealed segments have files. */
  readonly filed?: FiledSegments | undefined;
  /** Reads vectors of index files beside this thread; this thread does if left out. */
  readonly rowReader?: RowReader | undefined;
  /** Hears when a segment was sealed. */
  readonly onSealed?: (() => void) | undefined;
  /** Hears why segments are no longer sealed; a warning of the process if left out. */
  readonly onProblem?: ((error: unknown) => void) | undefined;
}

/** Plain scans are as fast below. */
export const DENSE_ROWS = 4_096;
/** To scan the codes of a mutable segment takes less than 0.1 ms at 384 dimensions; to seal the largest one, seconds. */
export const DEFAULT_SIZES: SegmentSizes = { mutableRows: 16_384, sealedRows: 131_072 };

/** `null`: gone, or of another version; the index has yet to hear of it. */
export function storedVector(
  reader: RecordReader,
  { offsets, sequences }: LookupSegment,
  docId: number,
): Float32Array | null {
  const stored = reader.readVector(offsets[docId]!);
  return stored === null || stored.sequence !== sequences[docId] ? null : stored.embedding;
}

export function warnOfProblem(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error));
}
