/** A record store that lives as long as its process: for tests and as the plain meaning of the seam. */
import type { DocumentText } from "@sheaf/protocol";
import { type Steps, isInSteps, runSteps } from "./steps.ts";
import type { QueryDistance } from "../kernels/value-memory.ts";
import {
  EMPTY_HEAD,
  type RecordStore,
  type StoreChange,
  type StoreHead,
  type StoreView,
  type StoredChange,
  forgettable,
} from "./record-store.ts";
import type { DocumentVersion, StoredRecord, VectorDistance, VectorVersion } from "./stored-record.ts";

export class MemoryRecordStore implements RecordStore {
  #head: StoreHead = EMPTY_HEAD;
  readonly #offsets = new Map<string, number>();
  /** Insertion order of the map is the order of offsets: they only grow, and a replacement keeps its place. */
  readonly #records = new Map<number, StoredRecord>();
  /** Sequence number of the removal -> id. */
  readonly #removals = new Map<number, string>();
  /** Sequence number of the put -> offset. */
  readonly #puts = new Map<number, number>();
  #completeFrom: number;
  #keptFrom = Infinity;

  /** @param completeFrom Nothing is known of what operations up to this one changed. */
  constructor(completeFrom = 0) {
    this.#completeFrom = completeFrom;
  }

  get head(): StoreHead {
    return this.#head;
  }

  offsetOf(id: string): number | null {
    return this.#offsets.get(id) ?? null;
  }

  idsUnder(prefix: string, after: string | null, limit: number): readonly string[] {
    const compare = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
    const ids = [...this.#offsets.keys()].filter((id) => id.startsWith(prefix));
    const above = after === null ? ids : ids.filter((id) => compare(id, after) > 0);
    return above.sort(compare).slice(0, limit);
  }

  find(id: string): StoredRecord | null {
    const offset = this.offsetOf(id);
    return offset === null ? null : this.read(offset);
  }

  read(offset: number): StoredRecord | null {
    return this.#records.get(offset) ?? null;
  }

  findInSteps(id: string): StoredRecord | null {
    return this.find(id);
  }

  readInSteps(offset: number): StoredRecord | null {
    return this.read(offset);
  }

  readVector(offset: number): VectorVersion | null {
    return this.read(offset);
  }

  readDocument(offset: number): DocumentVersion | null {
    const record = this.read(offset);
    if (record === null) return null;
    const { sequence, document } = record;
    return { sequence, document: document === null ? null : utf8Of(document) };
  }

  documentBytes(offset: number): number {
    return utf8Of(this.read(offset)?.document ?? "").length;
  }

  readDistance(offset: number, query: QueryDistance): VectorDistance | null {
    const record = this.read(offset);
    return record === null ? null : { sequence: record.sequence, distance: query.to(record.embedding) };
  }

  *removedAfter(sequence: number): Generator<string> {
    for (const [at, id] of this.#removals) if (at > sequence) yield id;
  }

  get completeFrom(): number {
    return this.#completeFrom;
  }

  keepChangesAfter(sequence: number): void {
    this.#keptFrom = sequence;
  }

  changesAfter(sequence: number): Iterable<StoredChange> | "trimmed" {
    return sequence < this.#completeFrom ? "trimmed" : this.#changesAfter(sequence);
  }

  *#changesAfter(from: number): Generator<StoredChange> {
    for (let sequence = from + 1; sequence <= this.#head.sequence; sequence++) {
      const id = this.#removals.get(sequence);
      if (id !== undefined) yield { kind: "remove", sequence, id };
      const offset = this.#puts.get(sequence);
      if (offset === undefined) continue;
      const record = this.read(offset);
      if (record?.sequence === sequence) yield { kind: "put", sequence, record };
      else yield { kind: "superseded", sequence };
    }
  }

  async apply(plan: (view: StoreView) => Steps<StoreChange>): Promise<StoreChange> {
    const planned = plan(this);
    const change = isInSteps(planned) ? runSteps(planned) : planned;
    for (const { id, offset, sequence } of change.removes) {
      this.#offsets.delete(id);
      this.#records.delete(offset);
      this.#removals.set(sequence, id);
    }
    for (const record of change.puts) {
      this.#offsets.set(record.id, record.offset);
      this.#records.set(record.offset, record);
      this.#puts.set(record.sequence, record.offset);
    }
    this.#head = change.head;
    this.#forget(forgettable(change.head, this.#keptFrom));
    return change;
  }

  #forget(upTo: number): void {
    for (; this.#completeFrom < upTo; this.#completeFrom++) {
      this.#removals.delete(this.#completeFrom + 1);
      this.#puts.delete(this.#completeFrom + 1);
    }
  }

  *scan(from: number): Generator<StoredRecord> {
    for (const record of this.#records.values()) if (record.offset >= from) yield record;
  }

  idAt(offset: number): string | null {
    return this.#records.get(offset)?.id ?? null;
  }

  requireWhole(): void {}

  async close(): Promise<void> {}
}

function utf8Of(document: DocumentText): Uint8Array {
  return typeof document === "string" ? Buffer.from(document) : document;
}
