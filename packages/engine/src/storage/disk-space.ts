/**
 * Refuses to make or grow a store on a disk that is nearly full: LMDB maps its files, and making one without space
 * behind it ends the process with a SIGBUS instead of an error.
 */
import { statfsSync } from "node:fs";
import { SheafError } from "@sheaf/protocol";

/** Kept free so that deletes, the catalog and the pages of a commit still find room. */
const RESERVE_BYTES = 32 * 1024 * 1024;
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

/** `freeBytes` is asked each time; by default the file system that holds `folder`. */
export function createDiskSpace(folder: string, freeBytes = () => freeBytesOf(folder)): DiskSpace {
  const requireFile = (bytes: number): void => {
    if (freeBytes() < RESERVE_BYTES + bytes) throw storageFull();
  };
  return {
    require: (bytes) => requireFile(bytes * WRITE_AMPLIFICATION),
    requireFile,
    low: () => freeBytes() < RESERVE_BYTES,
  };
}

export function storageFull(cause?: unknown): SheafError {
  return new SheafError("storage_full", "the disk of the data folder is full", { cause });
}

function freeBytesOf(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}
