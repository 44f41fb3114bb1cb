/**
 * What the query stages ask of a collection's index and what the collection tells it. The exact index in
 * `exact-index.ts` is the first implementation and stays as the oracle of faster ones.
 */
import type { StoredRecord, VectorVersion } from "../storage/stored-record.ts";
import type { IndexPlan } from "@sheaf/protocol";

/** Position of one version of a record inside an index. A version never changes; an update makes a new row. */
export type Row = number;

export interface RecordIndex {
  /** Live records. */
  readonly size: number;
  /** Inserts, or replaces the live record with the same id and offset. */
  put(record: StoredRecord): void;
  remove(offset: number): void;
  /** A changed schema or configuration. */
  setPlan(plan: IndexPlan): void;
  close(): void;
}

/** Reads the store for what the index does not keep. */
export interface RecordReader {
  /** `null` if it is gone. */
  read(offset: number): StoredRecord | null;
  /** The vector alone, faster; `null` if the record is gone. */
  readVector(offset: number): VectorVersion | null;
}
