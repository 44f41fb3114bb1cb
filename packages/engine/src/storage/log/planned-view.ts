/** A view of a log with batches on top that the log may not have yet: what the next write of their group is planned on. */
import type { RemovedRecord, StoreHead, StoreView } from "../record-store.ts";
import type { Steps } from "../steps.ts";
import type { StoredRecord } from "../stored-record.ts";
import type { LogView } from "./log-view.ts";
import type { PlannedWrite } from "./write-group.ts";

interface PutRecord {
  readonly record: StoredRecord;
  /** Of its value. */
  readonly bytes: number;
}

export class PlannedView implements StoreView {
  readonly #view: LogView;
  #head: StoreHead | null = null;
  /** By offset; `null`: removed. */
  readonly #records = new Map<number, PutRecord | null>();
  /** By id; `null`: removed. */
  readonly #offsets = new Map<string, number | null>();
  readonly #removed: RemovedRecord[] = [];

  constructor(view: LogView) {
    this.#view = view;
  }

  add({ change, values }: Pick<PlannedWrite, "change" | "values">): void {
    const { head, puts, removes } = change;
    this.#head = head;
    for (const removed of removes) {
      this.#removed.push(removed);
      this.#records.set(removed.offset, null);
      this.#offsets.set(removed.id, null);
    }
    for (const [i, record] of puts.entries()) {
      this.#records.set(record.offset, { record, bytes: values[i]!.length });
      this.#offsets.set(record.id, record.offset);
    }
  }

  get head(): StoreHead {
    return this.#head ?? this.#view.head;
  }

  get completeFrom(): number {
    return this.#view.completeFrom;
  }

  offsetOf(id: string): number | null {
    const offset = this.#offsets.get(id);
    return offset === undefined ? this.#view.offsetOf(id) : offset;
  }

  idsUnder(prefix: string, after: string | null, limit: number): readonly string[] {
    const planned = [...this.#offsets].filter(([id]) => id.startsWith(prefix));
    if (planned.length === 0) return this.#view.idsUnder(prefix, after, limit);
    const stored = this.#view.idsUnder(prefix, after, limit + planned.length);
    const ids = new Set(stored);
    for (const [id, offset] of planned) {
      if (offset === null) ids.delete(id);
      else if (after === null || compareBytes(id, after) > 0) ids.add(id);
    }
    return [...ids].sort(compareBytes).slice(0, limit);
  }

  find(id: string): StoredRecord | null {
    const offset = this.#offsets.get(id);
    if (offset === undefined) return this.#view.find(id);
    return offset === null ? null : this.read(offset);
  }

  findInSteps(id: string): Steps<StoredRecord | null> {
    return this.#offsets.has(id) ? this.find(id) : this.#view.findInSteps(id);
  }

  read(offset: number, into?: Float32Array): StoredRecord | null {
    const put = this.#records.get(offset);
    if (put === undefined) return this.#view.read(offset, into);
    return put?.record ?? null;
  }

  readInSteps(offset: number, into?: Float32Array): Steps<StoredRecord | null> {
    return this.#records.has(offset) ? this.read(offset) : this.#view.readInSteps(offset, into);
  }

  *removedAfter(sequence: number): Generator<string> {
    yield* this.#view.removedAfter(sequence);
    for (const removed of this.#removed) if (removed.sequence > sequence) yield removed.id;
  }

  /** As `LogView` has it. */
  storedBytes(offset: number): number {
    const put = this.#records.get(offset);
    return put === undefined ? this.#view.storedBytes(offset) : (put?.bytes ?? 0);
  }
}

/** The order of keys in a store. */
function compareBytes(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
