/**
 * The seam under everything that the index keeps on disk: whole files that never change, by name. A folder is the first
 * implementation, memory the second; `segment-files.suite.ts` holds all to the same behaviour. What the bytes mean is
 * decided above it, in `section-writer.ts` and `section-reader.ts`.
 *
 * Made so that an object store with a cache on disk fits: a file appears whole, is opened with one request for its last
 * `TAIL_BYTES`, and each read says whether its bytes are here already. A query first takes what `tryRead` gives, then
 * waits once for the rest.
 */
import type { CancelSignal } from "@sheaf/protocol";

/**
 * What opening a file may fetch with the request that learns its size; reading these bytes then takes no other one. The
 * directory of a large segment fits.
 */
export const TAIL_BYTES = 64 * 1024;

export interface ReadOptions {
  /** Ends the wait for bytes that have to be fetched. */
  readonly signal?: CancelSignal | undefined;
  /** What was fetched before has perhaps changed on its way: nothing that was kept of it counts. */
  readonly isAnew?: boolean | undefined;
}

export interface SegmentFiles {
  /**
   * Begins a file that nobody sees before its writer commits.
   *
   * @param expectedBytes How long it will be, about, if that is known: a store may have to know where it is very long.
   */
  create(name: string, expectedBytes?: number): Promise<SegmentFileWriter>;
  /** `null`: there is none. */
  open(name: string, options?: ReadOptions): Promise<SegmentFile | null>;
  /** Names of all files that were committed, ascending. */
  list(): Promise<readonly string[]>;
  /** Nothing happens where there is none. */
  remove(name: string): Promise<void>;
  /** Moves a damaged file out of the way, for a person to look at. Nothing happens where there is none. */
  quarantine(name: string): Promise<void>;
  /** One of this name was, and is kept. */
  isQuarantined(name: string): Promise<boolean>;
  /** Removes what writers left that did not come to their end. Only to be called while nobody writes. */
  removeUnfinished(): Promise<void>;
  /** Closes all files that are open, read or not. Nothing may be asked of them afterwards. */
  close(): Promise<void>;
}

/** One call at a time. After one has failed only `abort` is left. */
export interface SegmentFileWriter {
  /** Appends. The bytes may change once it has resolved. Throws `storage_full`. */
  write(bytes: Uint8Array): Promise<void>;
  /** Resolves once the file is there, whole, and stays after a crash. Throws `already_exists`. */
  commit(): Promise<void>;
  /** Removes what was written. Does nothing after `commit`. */
  abort(): Promise<void>;
}

/** A file that is open. Reads beyond its end, and reads that the device cannot do, throw `SegmentDamaged`. */
export interface SegmentFile {
  readonly name: string;
  readonly size: number;
  /** All of it is on this machine: `tryRead` always succeeds. */
  readonly isLocal: boolean;
  /** Fills `into` at once from the bytes at `position` on; or returns `false`: they are not on this machine. */
  tryRead(into: Uint8Array, position: number): boolean;
  /** Fills `into`, wherever the bytes are. Once it has settled, nothing writes there any more. */
  read(into: Uint8Array, position: number, options?: ReadOptions): Promise<void>;
  /** Nothing may be read afterwards; reads under way end first. A file that is not closed is once nobody refers to it. */
  close(): Promise<void>;
}

const NAME = /^[a-z0-9][a-z0-9.-]{0,127}$/;

/** Names come from this program alone, and never lead anywhere else. */
export function isFileName(name: string): boolean {
  return NAME.test(name);
}
