/**
 * The disk of an archive. What is added to the data folder is added to the archive, too, so it needs room on both disks, and
 * on both a reserve is kept free: for deletes, and for the entry of a backup, with which older entries may go.
 */
import { SheafError } from "@sheaf/protocol";
import {
  type DiskReserve,
  type DiskSpace,
  createDiskSpace,
  reserveElsewhere,
} from "../storage/folder/disk-space.ts";
import { makeFolder } from "../storage/folder/make-folder.ts";

/** A disk that is full is told once in so long. */
const TELL_EVERY_MS = 60_000;

export interface ArchiveDiskOptions {
  /** Made where it is not there. */
  readonly folder: string;
  readonly dataFolder: string;
  /** As of the data folder. */
  readonly diskReserve: DiskReserve | undefined;
}

export function createArchiveDisk({ folder, dataFolder, diskReserve }: ArchiveDiskOptions): DiskSpace {
  makeFolder(folder);
  const reserve = reserveElsewhere(diskReserve, { data: dataFolder, other: folder });
  return createDiskSpace(folder, { diskReserve: reserve, name: "the archive" });
}

/** What adds data is refused where either disk has no room for it. `onFull`: that it is the archive's. */
export function onBothDisks(
  data: DiskSpace,
  archive: DiskSpace,
  onFull: (message: string) => void,
): DiskSpace {
  let told = -Infinity;
  const there = <T>(look: () => T): T => {
    try {
      return look();
    } catch (error) {
      if (error instanceof SheafError && performance.now() - told >= TELL_EVERY_MS) {
        told = performance.now();
        onFull(error.message);
      }
      throw error;
    }
  };
  return {
    ...data,
    require: (bytes) => {
      // Entries are written once from start to end.
      there(() => archive.claimFile(bytes).release());
      data.require(bytes);
    },
    claim: (bytes) => {
      const archived = there(() => archive.claimFile(bytes));
      try {
        const stored = data.claim(bytes);
        const release = (): void => {
          stored.release();
          archived.release();
        };
        return { release };
      } catch (error) {
        archived.release();
        throw error;
      }
    },
  };
}
