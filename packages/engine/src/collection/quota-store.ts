/** A record store whose batches have to fit its tenant's quotas. */
import type { Steps } from "../storage/steps.ts";
import type { QueryDistance } from "../kernels/value-memory.ts";
import type {
  RecordStore,
  ScanOptions,
  StoreChange,
  StoreHead,
  StoreView,
  StoredChange,
} from "../storage/record-store.ts";
import type {
  DocumentVersion,
  StoredRecord,
  VectorDistance,
  VectorVersion,
} from "../storage/stored-record.ts";
import type { MeasuredStore, TenantBudget } from "./tenant-quotas.ts";

export class QuotaStore implements RecordStore {
  readonly #id: string;
  readonly #store: RecordStore & MeasuredStore;
  readonly #budget: TenantBudget;

  /** @param id Of the collection. */
  constructor(id: string, store: RecordStore & MeasuredStore, budget: TenantBudget) {
    this.#id = id;
    this.#store = store;
    this.#budget = budget;
  }

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

  apply(plan: (view: StoreView) => Steps<StoreChange>): Promise<StoreChange> {
    return this.#budget.apply(this.#id, this.#store, plan);
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
