/** What an LMDB environment is opened with. */
import type { DiskSpace } from "../folder/disk-space.ts";
import type { EntryCheck } from "./check-file.ts";
import type { TurnLock } from "../turn-lock.ts";

export interface EnvironmentOptions {
  readonly folder: string;
  /** Path inside the data folder, for messages. */
  readonly name: string;
  readonly disk: DiskSpace;
  /** Go through all pages before LMDB does, and all entries; otherwise only where there is reason to. */
  readonly thorough?: boolean | EntryCheck;
  /** It may be made on what is kept free of the disk. */
  readonly usesReserve?: boolean;
  /** Where large writes wait for their turn, and for whom; they do not if left out. */
  readonly largeWrites?: { readonly turns: TurnLock; readonly owner: string } | undefined;
  /** Nothing can be written; the folder has to be there. */
  readonly readOnly?: boolean | undefined;
}

/** Numbers of transactions: the newest of a file, and of the copy as it took its place. */
export interface CompactedFiles {
  readonly former: number;
  readonly copied: number;
}
