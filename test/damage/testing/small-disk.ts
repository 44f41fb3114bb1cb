/**
 * A disk that can be filled up: a small tmpfs where this process may mount one, else the disk that is there, of which
 * a reserve leaves as little. Both are filled with a file, and are free again once it is removed.
 */
import { execFileSync } from "node:child_process";
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  statfsSync,
  statSync,
  truncateSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MIB = 1024 * 1024;
const DEFAULT_SIZE: SmallDiskSize = { diskBytes: 64 * MIB, reserveBytes: 8 * MIB };
/** Files and folders on it. */
const NAMES = 4_096;
const CHUNK = Buffer.alloc(MIB, 0x2e);

export interface SmallDiskSize {
  /** Of the tmpfs, and what the reserve leaves of another disk. */
  readonly diskBytes: number;
  /** Of the tmpfs. */
  readonly reserveBytes: number;
}

export interface SmallDisk {
  /** How it came to be small, for the name of a test. */
  readonly kind: "a small tmpfs" | "a reserve on the disk that is there";
  readonly folder: string;
  /** To be given to the server as `--disk-reserve`. */
  readonly reserveBytes: number;
  /** Fills it, to the last byte where it is of its own. */
  fill(): void;
  /** Gives back half of the reserve, which is what is left when the server alone has filled the disk. */
  freeHalfOfReserve(): void;
  /** Has no file nor folder made, though there is room for bytes; does nothing to a disk that is not of its own. */
  takeAllNames(): void;
  free(): void;
  /** Takes everything away, mount and all. */
  dispose(): void;
}

export function makeSmallDisk({ diskBytes, reserveBytes }: SmallDiskSize = DEFAULT_SIZE): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), "sheaf-disk-"));
  const filler = join(folder, "filler");
  const names = join(folder, "names");
  const free = (): void => {
    for (const path of [filler, names]) rmSync(path, { force: true, recursive: true });
  };
  if (mount(folder, diskBytes)) {
    const dispose = (): void => {
      execFileSync("umount", ["--lazy", folder]);
      rmSync(folder, { recursive: true, force: true });
    };
    const fill = (): void => fillUp(filler, Number.POSITIVE_INFINITY);
    const freeHalfOfReserve = (): void => truncateSync(filler, statSync(filler).size - reserveBytes / 2);
    return {
      kind: "a small tmpfs",
      folder,
      reserveBytes,
      fill,
      freeHalfOfReserve,
      takeAllNames: () => takeAllNames(names),
      free,
      dispose,
    };
  }
  const { bavail, bsize } = statfsSync(folder);
  return {
    kind: "a reserve on the disk that is there",
    folder,
    reserveBytes: bavail * bsize - diskBytes,
    fill: () => fillUp(filler, diskBytes),
    freeHalfOfReserve: () => {
      // Its reserve is most of the disk that is there, and was never touched.
    },
    takeAllNames: () => {
      // Others use it, too.
    },
    free,
    dispose: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function mount(folder: string, bytes: number): boolean {
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${bytes},nr_inodes=${NAMES}`, "tmpfs", folder], {
      stdio: "ignore",
    });
    return true;
  } catch {
    // Not root, or a machine that has no such thing.
    return false;
  }
}

function takeAllNames(folder: string): void {
  mkdirSync(folder);
  for (let i = 0; i <= NAMES; i++) {
    try {
      closeSync(openSync(join(folder, String(i)), "a"));
    } catch (error) {
      if (isFull(error)) return;
      throw error;
    }
  }
  throw new Error("the disk takes any number of files");
}

const isFull = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ENOSPC";

/** By writing: a file with holes takes no room. Ends where nothing more fits. */
function fillUp(path: string, bytes: number): void {
  const file = openSync(path, "a");
  try {
    for (let size = MIB, written = 0; written < bytes && size >= 1;) {
      try {
        written += writeSync(file, CHUNK, 0, size);
      } catch (error) {
        if (!isFull(error)) throw error;
        size = Math.floor(size / 2);
      }
    }
  } finally {
    closeSync(file);
  }
}
