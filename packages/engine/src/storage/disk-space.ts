/**
 * Refuses to make or grow a store on a disk that is nearly full: LMDB maps its files, and making one without space
 * behind it ends the process with a SIGBUS instead of an error.
 */
import { statfsSync } from "node:fs";
import { SheafError } from "@sheaf/protocol";

/** Kept free so that deletes, the catalog and the pages of a commit still find room. */
export const DEFAULT_RESERVE_BYTES = 32 * 1024 * 1024;
/** With less than this a disk is full, whatever is kept free. */
const LEAST_BYTES = 1024 * 1024;
/** No disk fills up by so much within `KNOWN_MS`. */
const PLENTY_BYTES = 4 * 1024 * 1024 * 1024;
const KNOWN_MS = 100;
/** Pages that LMDB copies for every byte it writes, and the room of a half-filled page. */
const WRITE_AMPLIFICATION = 2;

export interface DiskSpace {
  /** Throws `storage_full` unless `bytes` more fit beside the reserve. */
  require(bytes: number): void;
  /** As `require`, for a file of this size that is written once from start to end. */
  requireFile(bytes: number): void;
  /** Free space is below the reserve. */
  low(): boolean;
}

export interface DiskSpaceOptions {
  readonly reserveBytes?: number | undefined;
  /** Asked each time; by default of the file system that holds the folder. */
  readonly freeBytes?: (() => number) | undefined;
}

export function createDiskSpace(folder: string, options: DiskSpaceOptions = {}): DiskSpace {
  const { reserveBytes = DEFAULT_RESERVE_BYTES, freeBytes = freeBytesOf(folder) } = options;
  const requireFile = (bytes: number): void => {
    if (freeBytes() < reserveBytes + bytes) throw storageFull();
  };
  return {
    require: (bytes) => requireFile(bytes * WRITE_AMPLIFICATION),
    requireFile,
    low: () => freeBytes() < Math.max(reserveBytes, LEAST_BYTES),
  };
}

export function storageFull(cause?: unknown): SheafError {
  return new SheafError("storage_full", "the disk of the data folder is full", { cause });
}

/** Asking takes as long as encoding a record, so where there is plenty the answer holds for a moment. */
function freeBytesOf(folder: string): () => number {
  let known = 0;
  let until = 0;
  return () => {
    const now = performance.now();
    if (now < until) return known;
    const { bavail, bsize } = statfsSync(folder);
    known = bavail * bsize;
    until = known < PLENTY_BYTES ? 0 : now + KNOWN_MS;
    return known;
  };
}
