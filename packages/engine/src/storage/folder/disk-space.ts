/**
 * Refuses to make or grow a store on a disk that is nearly full: LMDB maps its files, and making one without space
 * behind it ends the process with a SIGBUS instead of an error. A reserve is kept free of what tenants write.
 *
 * Whoever writes claims the room first and gives it back when its bytes are on disk, where the free space shows them:
 * writes that are under way at the same time, to any files of the folder, are not promised the same room.
 */
import { statSync, statfsSync } from "node:fs";
import { SheafError } from "@sheaf/protocol";

/** Bytes, or a share of the disk's size. Kept free so that deletes, the catalog and the pages of a commit find room. */
export type DiskReserve = number | `${number}%`;

const DEFAULT_RESERVE = 32 * 1024 * 1024;
/** With less than this a disk is full, whatever is kept free. */
const LEAST_BYTES = 1024 * 1024;
/** What a new catalog takes, and a few changes of it. */
const CATALOG_BYTES = 4 * LEAST_BYTES;
/** No disk fills up by so much within `KNOWN_MS`. */
const PLENTY_BYTES = 4 * 1024 * 1024 * 1024;
const KNOWN_MS = 100;
/** Pages that LMDB copies for every byte it writes, and the room of a half-filled page. */
const WRITE_AMPLIFICATION = 2;

/** Whether a call of the file system failed for that. */
export function isDiskFull(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : null;
  return code === "ENOSPC" || code === "EDQUOT";
}

export interface DiskUsage {
  /** That this process may still take. */
  readonly free: number;
  readonly size: number;
}

/** Room that is kept for what is being written. */
export interface DiskClaim {
  /** A second time it does nothing. */
  release(): void;
}

export interface DiskSpace {
  /** Throws `storage_full` unless `bytes` more fit beside the reserve and all claims. */
  require(bytes: number): void;
  /** As `require`, and nobody else is promised this room until it is released. */
  claim(bytes: number): DiskClaim;
  /** As `claim`, for a file of this size that is written once from start to end. */
  claimFile(bytes: number): DiskClaim;
  /** Throws `storage_full` unless a catalog can be made; it may use the reserve. */
  requireCatalog(): void;
  /** What is wrong where the free space is below the reserve; `null`: it is not. */
  problem(): string | null;
}

export interface DiskSpaceOptions {
  readonly diskReserve?: DiskReserve | undefined;
  /** Asked each time; by default of the file system that holds the folder. */
  readonly diskUsage?: (() => DiskUsage) | undefined;
  /** Whose disk it is, for messages; by default that of the data folder. */
  readonly name?: string;
}

/**
 * What is kept free of another disk than that of the data folder: a share is a share of any disk, bytes were chosen for this
 * one and may be more than another has.
 */
export function reserveElsewhere(
  reserve: DiskReserve | undefined,
  { data, other }: { readonly data: string; readonly other: string },
): DiskReserve | undefined {
  const isSame = statSync(data).dev === statSync(other).dev;
  return typeof reserve !== "number" || isSame ? reserve : Math.min(reserve, DEFAULT_RESERVE);
}

export function createDiskSpace(folder: string, options: DiskSpaceOptions = {}): DiskSpace {
  const { diskReserve = DEFAULT_RESERVE } = options;
  const usage = options.diskUsage ?? usageOf(folder, diskReserve);
  let claimed = 0;
  const requireFile = (bytes: number): void => {
    const now = usage();
    const reserve = reserveBytes(diskReserve, now.size);
    if (now.free >= reserve + claimed + bytes) return;
    // Where it is a small write, the reserve is the whole reason.
    const taken = bytes < now.free ? "" : `${amount(bytes)} are to be written, `;
    throw storageFull(`: ${taken}${describe(now, diskReserve)}`, undefined, options.name);
  };
  const claimFile = (bytes: number): DiskClaim => {
    requireFile(bytes);
    claimed += bytes;
    let held = bytes;
    const release = (): void => {
      claimed -= held;
      held = 0;
    };
    return { release };
  };
  return {
    require: (bytes) => requireFile(bytes * WRITE_AMPLIFICATION),
    claim: (bytes) => claimFile(bytes * WRITE_AMPLIFICATION),
    claimFile,
    requireCatalog: () => {
      if (usage().free < CATALOG_BYTES) throw storageFull();
    },
    problem: () => {
      const now = usage();
      const least = Math.max(reserveBytes(diskReserve, now.size), LEAST_BYTES);
      return now.free < least ? describe(now, diskReserve) : null;
    },
  };
}

/** @param details What is to be said of it, from the colon on. */
export function storageFull(details = "", cause?: unknown, name = "the data folder"): SheafError {
  return new SheafError("storage_full", `the disk of ${name} is full${details}`, { cause });
}

function reserveBytes(reserve: DiskReserve, size: number): number {
  return typeof reserve === "number" ? reserve : (Number.parseFloat(reserve) / 100) * size;
}

function describe({ free, size }: DiskUsage, reserve: DiskReserve): string {
  const kept = typeof reserve === "number" ? amount(reserve) : reserve;
  return `${amount(free)} of ${amount(size)} are free, and ${kept} are kept free (--disk-reserve)`;
}

function amount(bytes: number): string {
  const gigabytes = bytes / 1e9;
  return gigabytes >= 1 ? `${gigabytes.toFixed(1)} GB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

/** Asking takes as long as encoding a record, so where there is plenty beside the reserve the answer holds for a moment. */
function usageOf(folder: string, reserve: DiskReserve): () => DiskUsage {
  let known: DiskUsage = { free: 0, size: 0 };
  let until = 0;
  return () => {
    const now = performance.now();
    if (now < until) return known;
    const { bavail, blocks, bsize } = statfsSync(folder);
    known = { free: bavail * bsize, size: blocks * bsize };
    const beside = known.free - reserveBytes(reserve, known.size);
    until = beside < PLENTY_BYTES ? 0 : now + KNOWN_MS;
    return known;
  };
}
