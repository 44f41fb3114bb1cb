/**
 * The seam under a collection: durable records in insertion order, changed by whole batches. LMDB is the first
 * implementation, memory the second; `record-store.suite.ts` holds both to the same behaviour. Reads are synchronous
 * and see the newest committed batch. The store is the truth; every index is a cache of it.
 */
import type { Steps } from "./steps.ts";
import { type CancelSignal, LIMITS } from "@sheaf/protocol";
import type { QueryDistance } from "../kernels/value-memory.ts";
import type { CorruptDataError } from "./corrupt-data-error.ts";
import type { DocumentVersion, StoredRecord, VectorDistance, VectorVersion } from "./stored-record.ts";

/** What a store knows of itself; all zero and `null` before the first batch. */
export interface StoreHead {
  /** Sequence number of the newest operation. */
  readonly sequence: number;
  /** Offset the next new record gets. Offsets are never used twice. */
  readonly nextOffset: number;
  /** Fixed by the first written embedding. */
  readonly dimension: number | null;
}

export const EMPTY_HEAD: StoreHead = Object.freeze({ sequence: 0, nextOffset: 0, dimension: null });

/** What a batch is planned on. */
export interface StoreView {
  readonly head: StoreHead;
  /** Sequence number of the oldest state from which on the store knows every change; 0 in a new one. */
  readonly completeFrom: number;
  /** Offset of the record with this id; `null`: there is none. */
  offsetOf(id: string): number | null;
  /** The first ids that begin with `prefix`, above `after` in the order of their bytes; `null`: from the first on. */
  idsUnder(prefix: string, after: string | null, limit: number): readonly string[];
  /** The record with this id; `null`: there is none. Throws `CorruptDataError`. */
  find(id: string): StoredRecord | null;
  /** `find` in steps where it takes long. */
  findInSteps(id: string): Steps<StoredRecord | null>;
  /** `null`: gone, or never there. The vector may lie in `into` if that is as long. Throws `CorruptDataError`. */
  read(offset: number, into?: Float32Array): StoredRecord | null;
  /** `read` in steps where it takes long; what is read is one version of the record. */
  readInSteps(offset: number, into?: Float32Array): Steps<StoredRecord | null>;
  /** Throws `DataAbsent`, of all at once, where some of these are to be fetched before they can be read; left out: none is. */
  require?(offsets: Iterable<number>): void;
  /** Ids that operations after `sequence` removed, oldest first; complete from `oldestTracked` and `completeFrom` on. */
  removedAfter(sequence: number): Iterable<string>;
}

/** Of the record with this offset; `null`: there is none. */
export function sequenceIn(
  store: Pick<RecordStore, "readVector" | "sequenceOf">,
  offset: number,
): number | null {
  if (store.sequenceOf !== undefined) return store.sequenceOf(offset);
  return store.readVector(offset)?.sequence ?? null;
}

/** The oldest state from which on a store knows every record that was removed, if it remembers so many operations. */
export function oldestTracked(head: StoreHead, operations: number = LIMITS.trackedOperations): number {
  return Math.max(0, head.sequence - operations);
}

/** Beyond so many operations, making an index from all records takes no longer than bringing an old one up to date. */
const MOST_KEPT_OPERATIONS = 1_000_000;

/**
 * Up to which operation a store with this head may forget what was changed.
 *
 * @param keptFrom As it was asked to keep.
 * @param tracked Operations that it has to remember in any case.
 */
export function forgettable(head: StoreHead, keptFrom: number, tracked?: number): number {
  return Math.max(
    oldestTracked(head, MOST_KEPT_OPERATIONS),
    Math.min(keptFrom, oldestTracked(head, tracked)),
  );
}

/** Told of a record that cannot be read. */
export type OnDamage = (offset: number, damage: CorruptDataError) => void;

export interface ScanOptions {
  /**
   * A record that cannot be read is told and passed over, else it ends the scan with its error; and each id is followed
   * to its record.
   */
  readonly onDamage?: OnDamage;
  /** Where the vectors may lie that are as long, each until the next is read. */
  readonly into?: Float32Array;
}

/** What one operation changed, as the store still knows it. */
export type StoredChange =
  /** The record is as this operation left it. */
  | { readonly kind: "put"; readonly sequence: number; readonly record: StoredRecord }
  | { readonly kind: "remove"; readonly sequence: number; readonly id: string }
  /** It put a record that a later operation has put again or removed. */
  | { readonly kind: "superseded"; readonly sequence: number };

/** One batch, planned in full before anything is written. */
export interface StoreChange {
  readonly head: StoreHead;
  /** New records have offsets from the old `head.nextOffset` up; others replace the record with that id and offset. */
  readonly puts: readonly StoredRecord[];
  /** Of each of `puts`, as it is in a store, where somebody has encoded it before; the bytes stay as they are. */
  readonly values?: readonly Uint8Array[];
  readonly removes: readonly RemovedRecord[];
}

export interface RemovedRecord {
  readonly id: string;
  readonly offset: number;
  /** Sequence number of the operation that removes it. */
  readonly sequence: number;
}

/** What a plan looks at, for a store that has to ask for it first. */
export interface PlanNeeds {
  readonly ids: readonly string[];
  /** Of these records no more than whether they are there. */
  readonly bare?: boolean;
  /** Documents whose chunks it looks at. */
  readonly parents?: readonly string[];
  /** It asks which of the ids were removed after this operation. */
  readonly removedAfter?: number;
}

export interface RecordStore extends StoreView {
  /**
   * Plans and writes one batch, whole or not at all, and resolves once it is on disk. `plan` runs after every earlier
   * batch and alone, also where it takes steps, between which the event loop turns; when it throws, nothing is written and its error is the result. Batches of several callers
   * share one commit and resolve in the order of their plans.
   *
   * @param needs Everything that the plan looks at.
   * @param caller Where others write, too, what has not been written is not planned any more once it is aborted.
   */
  apply(
    plan: (view: StoreView) => Steps<StoreChange>,
    needs?: () => readonly PlanNeeds[],
    caller?: CancelSignal,
  ): Promise<StoreChange>;
  /** `read` of the vector alone. */
  readVector(offset: number): VectorVersion | null;
  /** `read` of the sequence number alone, where a store has that apart from the rest. */
  sequenceOf?(offset: number): number | null;
  /** The first offset from here on that a record has, `null`: there is none; left out, or `undefined`: only a scan tells. */
  offsetFrom?(from: number): number | null | undefined;
  /** `read` of the document alone; its bytes are others after the next read. */
  readDocument(offset: number): DocumentVersion | null;
  /** About as many bytes as the document has, unchecked; 0 where there is none. */
  documentBytes(offset: number): number;
  /** How far the record's vector is from a query. */
  readDistance(offset: number, query: QueryDistance): VectorDistance | null;
  /** Records from offset `from` up, ascending. A large store is gone through in several scans, each within one turn. */
  scan(from: number, options?: ScanOptions): Iterable<StoredRecord>;
  /**
   * What operations after `sequence` changed, in ascending order of their numbers; "trimmed": `sequence` is below
   * `completeFrom`. To be used up or left before the next batch; it may be left and asked for again after the last number
   * that was seen. Throws `CorruptDataError`.
   */
  changesAfter(sequence: number, into?: Float32Array): Iterable<StoredChange> | "trimmed";
  /**
   * From now on changes after this one are kept, but for those of more than a million operations ago, beside those that
   * read tokens need; by default only these are.
   */
  keepChangesAfter(sequence: number): void;
  /** Id of the record with this offset, whether the record can be read or not; goes through all ids. */
  idAt(offset: number): string | null;
  /**
   * Throws `collection_unavailable` unless everything that was written can be reached. `records`: how many a scan with
   * `onDamage` found, damaged ones included.
   */
  requireWhole(records: number): void;
  /** After the batches under way; nothing may be called afterwards. */
  close(): Promise<void>;
}
