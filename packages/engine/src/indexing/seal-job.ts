/** What the engine host asks of the indexer process, as a plain message: rows that are to become one sealed segment. */
import type { IndexPlan } from "@sheaf/protocol";
import type { FileIdentity } from "../storage/files/section-writer.ts";

/** Live rows when the job was made; those that have changed since are left out. */
export type SealSource =
  /** A sealed segment's file, which has postings of all keys of the plan; a bit for each live docId. */
  | { readonly kind: "file"; readonly file: FileIdentity; readonly live: Uint32Array }
  /** Rows that the records are read for. */
  | { readonly kind: "rows"; readonly offsets: Float64Array; readonly sequences: Float64Array };

/** Rows of one index. */
export interface SealWork {
  /** Name of the file to write. */
  readonly file: string;
  readonly plan: IndexPlan;
  readonly dimension: number;
  /** What the index's vectors are relative to. */
  readonly origin: Float32Array | null;
  readonly sources: readonly SealSource[];
}

/** Where they are. */
export interface SealJob extends SealWork {
  /** Folder of the collection's records. */
  readonly records: string;
  /** Folder of its index files. */
  readonly index: string;
  /** For messages. */
  readonly name: string;
}

/** The file that was written. */
export interface SealedFile extends FileIdentity {
  /** DocIds that it has. */
  readonly rows: number;
}
