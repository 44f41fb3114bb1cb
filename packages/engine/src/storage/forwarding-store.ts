/** A record store in front of another one: it changes how batches get there, and reads what is there. */
import type { QueryDistance } from "../kernels/value-memory.ts";
import {
  type RecordStore,
  type ScanOptions,
  type StoreChange,
  type StoreHead,
  type StoreView,
  type StoredChange,
  sequenceIn,
} from "./record-store.ts";
import type { Steps } from "./steps.ts";
import type { DocumentVersion, StoredRecord, VectorDistance, VectorVersion } from "./stored-record.ts";

export abstract class ForwardingStore implements RecordStore {
  #store: RecordStore;

  constructor(store: RecordStore) {
    this.#store = store;
  }

  /** From now on this one is in front of another, which has the same in it. */
  protected standBefore(store: RecordStore): void {
    this.#store = store;
  }

  abstract apply(plan: (view: StoreView) => Steps<StoreChange>): Promise<StoreChange>;

  get head(): StoreHead {
    return this.#store.head;
  }

  offsetOf(id: string): number | null {
    return this.#store.offsetOf(id);
  }

  idsUnder(prefix: string, after: string | null, limit: number): readonly string[] {
    return this.#store.idsUnder(prefix, after, limit);
  }

  find(id: string): StoredRecord | null {
    return this.#store.find(id);
  }

  read(offset: number, into?: Float32Array): StoredRecord | null {
    return this.#store.read(offset, into);
  }

  findInSteps(id: string): Steps<StoredRecord | null> {
    return this.#store.findInSteps(id);
  }

  readInSteps(offset: number, into?: Float32Array): Steps<StoredRecord | null> {
    return this.#store.readInSteps(offset, into);
  }

  readVector(offset: number): VectorVersion | null {
    return this.#store.readVector(offset);
  }

  sequenceOf(offset: number): number | null {
    return sequenceIn(this.#store, offset);
  }

  offsetFrom(from: number): number | null | undefined {
    return this.#store.offsetFrom?.(from);
  }

  require(offsets: Iterable<number>): void {
    this.#store.require?.(offsets);
  }

  readDocument(offset: number): DocumentVersion | null {
    return this.#store.readDocument(offset);
  }

  documentBytes(offset: number): number {
    return this.#store.documentBytes(offset);
  }

  readDistance(offset: number, query: QueryDistance): VectorDistance | null {
    return this.#store.readDistance(offset, query);
  }

  removedAfter(sequence: number): Iterable<string> {
    return this.#store.removedAfter(sequence);
  }

  get completeFrom(): number {
    return this.#store.completeFrom;
  }

  changesAfter(sequence: number, into?: Float32Array): Iterable<StoredChange> | "trimmed" {
    return this.#store.changesAfter(sequence, into);
  }

  keepChangesAfter(sequence: number): void {
    this.#store.keepChangesAfter(sequence);
  }

  scan(from: number, options?: ScanOptions): Iterable<StoredRecord> {
    return this.#store.scan(from, options);
  }

  idAt(offset: number): string | null {
    return this.#store.idAt(offset);
  }

  requireWhole(records: number): void {
    this.#store.requireWhole(records);
  }

  close(): Promise<void> {
    return this.#store.close();
  }
}
