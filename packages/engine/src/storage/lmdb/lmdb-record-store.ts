/**
 * The record store on LMDB. Keys: `0x00` head, `0x01 <id>` -> offset, `0x02 <offset>` -> record,
 * `0x03 <sequence>` -> removed id, `0x04 <sequence>` -> offsets that were put; offsets and sequence numbers are u64
 * big-endian, so keys sort in insertion order. `0x08`: the batch of a log that the head is of, where the store follows one.
 * They lie in an LMDB environment of the store's own, or in its share of one.
 */
import type { QueryDistance } from "../../kernels/value-memory.ts";
import { CorruptDataError, damagedStore } from "../corrupt-data-error.ts";
import { RECORD_KEYS, idKey, idRange, offsetKey, readId, readOffset, removalKey } from "./record-keys.ts";
import type { EntrySource, EntrySpace } from "./entry-space.ts";
import { readChanges } from "./lmdb-changes.ts";
import {
  EMPTY_HEAD,
  type RecordStore,
  type ScanOptions,
  type StoreChange,
  type StoreHead,
  type StoreView,
  type StoredChange,
} from "../record-store.ts";
import type { DocumentVersion, StoredRecord, VectorDistance, VectorVersion } from "../stored-record.ts";
import { copyInSteps } from "./copy-in-steps.ts";
import { copyToShare, putIntoShare, readAsShare } from "./copy-share.ts";
import { type Steps, afterSteps, isInSteps } from "../steps.ts";
import {
  type HeadValue,
  NO_ENTRIES,
  type StoreCounts,
  decodeDistance,
  decodeDocument,
  decodeHead,
  decodeRecord,
  decodeVector,
  decodeRecordInSteps,
  isLongValue,
  peekDocumentBytes,
} from "../values/value-codec.ts";
import { decodeOrReport } from "../values/decode-or-report.ts";
import { ValueWriter } from "../values/value-writer.ts";
import { forgetUpTo, writeBatch } from "./write-batch.ts";

/** Of all stores, which may be opened for one write each: a value is put, and so copied, in the turn that made it. */
const writer = new ValueWriter();

export class LmdbRecordStore implements RecordStore {
  #source: EntrySource;
  /** `null`: nothing was written yet. */
  #space: EntrySpace | null;
  /** While a plan is made, which asks for it several times. */
  #planned: StoreHead | null = null;
  /** As it was read last; `null`: it is to be read. An opening and a small write ask for it ten times. */
  #known: HeadValue | null = null;
  /** Batches under way: what is read meanwhile may be another head a moment later. */
  #writing = 0;
  #keptFrom = Infinity;

  constructor(source: EntrySource) {
    this.#source = source;
    this.#space = source.find();
  }

  get head(): StoreHead {
    return this.#planned ?? this.#readHead().head;
  }

  get completeFrom(): number {
    return this.#readHead().completeFrom;
  }

  #readHead(): HeadValue {
    if (this.#writing > 0) return this.#headNow();
    return (this.#known ??= this.#headNow());
  }

  #headNow(): HeadValue {
    const space = this.#space;
    const value = space?.get(RECORD_KEYS.head) ?? null;
    if (space !== null && value !== null) return decodeHead(value, space.origin(RECORD_KEYS.head));
    return { head: EMPTY_HEAD, completeFrom: 0, counts: this.#source.isShared ? NO_ENTRIES : null };
  }

  /** It has a share of an environment. */
  get isShared(): boolean {
    return this.#source.isShared;
  }

  /** What its share of an environment holds; `null`: it has one of its own. */
  get counts(): StoreCounts | null {
    return this.#source.isShared ? this.#readHead().counts : null;
  }

  /** Records there are; where LMDB counts, it goes through them one by one. */
  get size(): number {
    const range = { start: offsetKey(0), end: RECORD_KEYS.afterOffsets };
    return this.counts?.records ?? this.#space?.count(range) ?? 0;
  }

  /** What they take: of the file, or of a share of one the bytes of keys and values. */
  get usedBytes(): number {
    return this.counts?.bytes ?? this.#space?.whole?.usedBytes ?? 0;
  }

  offsetOf(id: string): number | null {
    const key = idKey(id);
    const value = this.#space?.get(key) ?? null;
    return value === null || this.#space === null ? null : readOffset(value, this.#space.origin(key));
  }

  idsUnder(prefix: string, after: string | null, limit: number): readonly string[] {
    const entries = this.#space?.iterate({ ...idRange(prefix, after), limit }) ?? [];
    return Array.from(entries, ({ key }) => readId(key));
  }

  find(id: string): StoredRecord | null {
    const offset = this.offsetOf(id);
    return offset === null ? null : this.#withId(this.read(offset), id, offset);
  }

  findInSteps(id: string): Steps<StoredRecord | null> {
    const offset = this.offsetOf(id);
    if (offset === null) return null;
    const found = this.readInSteps(offset);
    if (isInSteps(found)) return afterSteps(found, (record) => this.#withId(record, id, offset));
    return this.#withId(found, id, offset);
  }

  /** Only the value has a checksum: an id that leads elsewhere shows here. */
  #withId(record: StoredRecord | null, id: string, offset: number): StoredRecord {
    if (record?.id === id) return record;
    const key = idKey(id);
    const origin = this.#space?.origin(key) ?? { store: this.#source.name, key };
    throw new CorruptDataError(origin, 0, `leads to offset ${offset} of another record`);
  }

  read(offset: number, into?: Float32Array): StoredRecord | null {
    const space = this.#space;
    if (space === null) return null;
    const key = offsetKey(offset);
    const value = space.peek(key);
    return value === null ? null : decodeRecord(value, offset, { origin: space.origin(key), into });
  }

  readInSteps(offset: number, into?: Float32Array): Steps<StoredRecord | null> {
    const space = this.#space;
    if (space === null) return null;
    const key = offsetKey(offset);
    const value = space.peek(key);
    if (value === null) return null;
    const origin = space.origin(key);
    if (!isLongValue(value.length)) return decodeRecord(value, offset, { origin, into });
    return this.#readLong(offset);
  }

  *#readLong(offset: number): Generator<void, StoredRecord | null> {
    const key = offsetKey(offset);
    const value = yield* copyInSteps(() => this.#space?.peek(key) ?? null);
    if (value === null || this.#space === null) return null;
    return yield* decodeRecordInSteps(value, offset, this.#space.origin(key));
  }

  readVector(offset: number): VectorVersion | null {
    const space = this.#space;
    if (space === null) return null;
    const key = offsetKey(offset);
    const value = space.peek(key);
    return value === null ? null : decodeVector(value, offset, space.origin(key));
  }

  readDocument(offset: number): DocumentVersion | null {
    const space = this.#space;
    if (space === null) return null;
    const key = offsetKey(offset);
    const value = space.peek(key);
    return value === null ? null : decodeDocument(value, offset, space.origin(key));
  }

  documentBytes(offset: number): number {
    const value = this.#space?.peek(offsetKey(offset)) ?? null;
    return value === null ? 0 : peekDocumentBytes(value);
  }

  /** As the record has at this offset; 0 where there is none. */
  storedBytes(offset: number): number {
    return this.#space?.peek(offsetKey(offset))?.length ?? 0;
  }

  readDistance(offset: number, query: QueryDistance): VectorDistance | null {
    const space = this.#space;
    if (space === null) return null;
    const key = offsetKey(offset);
    const value = space.peek(key);
    return value === null ? null : decodeDistance(value, offset, { origin: space.origin(key), query });
  }

  *removedAfter(sequence: number): Generator<string> {
    const space = this.#space;
    if (space === null) return;
    const range = { start: removalKey(sequence + 1), end: RECORD_KEYS.afterRemovals };
    for (const { value } of space.iterate(range)) yield Buffer.from(value).toString();
  }

  changesAfter(sequence: number, into?: Float32Array): Iterable<StoredChange> | "trimmed" {
    if (sequence < this.completeFrom) return "trimmed";
    const space = this.#space;
    return space === null ? [] : readChanges(space, sequence, (offset) => this.read(offset, into));
  }

  keepChangesAfter(sequence: number): void {
    this.#keptFrom = sequence;
  }

  /**
   * As the seam says; `admit` is told by how many bytes the batch makes the entries larger at most, unless it only removes,
   * and nothing is written if it throws.
   */
  apply(
    plan: (view: StoreView) => Steps<StoreChange>,
    admit?: (growth: number) => void,
  ): Promise<StoreChange> {
    return this.#transact((space) => {
      const before = this.#readHead();
      return this.#apply(space, this.#plan(plan, before.head), before, admit);
    });
  }

  /** `apply` of a batch of a log that this store follows. */
  async follow(plan: (view: StoreView) => Steps<StoreChange>, batch: string): Promise<void> {
    await this.#transact((space) => {
      const before = this.#readHead();
      space.put(RECORD_KEYS.batch, Buffer.from(batch));
      return this.#apply(space, this.#plan(plan, before.head), before, undefined);
    });
  }

  async #transact<T>(action: (space: EntrySpace) => Steps<T>): Promise<T> {
    const space = (this.#space ??= this.#source.make());
    this.#writing++;
    this.#known = null;
    try {
      return await space.transact(() => action(space));
    } finally {
      this.#writing--;
    }
  }

  /** Of the log that this store follows, the batch that it has come to; `null`: it has none yet, or follows none. */
  get batch(): string | null {
    const value = this.#space?.get(RECORD_KEYS.batch) ?? null;
    return value === null ? null : Buffer.from(value).toString();
  }

  *#apply(
    space: EntrySpace,
    planned: Steps<StoreChange>,
    before: HeadValue,
    admit: ((growth: number) => void) | undefined,
  ): Generator<void, StoreChange> {
    const change = isInSteps(planned) ? yield* planned : planned;
    return yield* writeBatch(space, change, {
      ...{ writer, before, admit },
      keptFrom: this.#keptFrom,
    });
  }

  #plan(plan: (view: StoreView) => Steps<StoreChange>, head: StoreHead): Steps<StoreChange> {
    this.#planned = head;
    try {
      return plan(this);
    } finally {
      this.#planned = null;
    }
  }

  *scan(from: number, { onDamage, into }: ScanOptions = {}): Generator<StoredRecord> {
    const space = this.#space;
    if (space === null) return;
    for (let offset = from; ; offset++) {
      // A cursor that walks the range makes a buffer of each key and value, which takes longer than looking it up.
      let key = offsetKey(offset);
      let value = space.peek(key);
      if (value === null) {
        const next = this.#offsetAbove(offset);
        if (next === null) return;
        offset = next;
        key = offsetKey(offset);
        value = space.peek(key);
      }
      const record = decodeOrReport(value, offset, { origin: space.origin(key), into }, onDamage);
      if (record === null) continue;
      if (onDamage !== undefined) this.#requireId(record);
      yield record;
    }
  }

  /** The next there is; `null`: that was the last. */
  #offsetAbove(offset: number): number | null {
    const range = { start: offsetKey(offset + 1), end: RECORD_KEYS.afterOffsets, limit: 1 };
    for (const { key } of this.#space?.iterate(range) ?? []) return readOffset(key, this.#space!.origin(key));
    return null;
  }

  /** The key with the id has no checksum of its own. */
  #requireId({ id, offset }: StoredRecord): void {
    const space = this.#space;
    const leadsTo = space?.peek(idKey(id)) ?? null;
    if (space === null || (leadsTo !== null && Buffer.compare(leadsTo, offsetKey(offset)) === 0)) return;
    throw new CorruptDataError(space.origin(idKey(id)), 0, `does not lead to its record, offset ${offset}`);
  }

  idAt(offset: number): string | null {
    const value = offsetKey(offset);
    const range = { start: RECORD_KEYS.ids, end: RECORD_KEYS.afterIds };
    for (const entry of this.#space?.iterate(range) ?? []) {
      if (Buffer.compare(value, entry.value) === 0) return readId(entry.key);
    }
    return null;
  }

  /**
   * By numbers: a page that was cut out of the tree takes entries along that the meta page, or the head, still counts. A
   * scan has followed the id of each record; without one their entries are counted.
   */
  requireWhole(records?: number): void {
    const space = this.#space;
    if (space === null) return;
    const { counts } = this;
    const entries = space.whole?.entryCount ?? (counts?.entries ?? 0) + 1;
    if (entries === 0 || counts === NO_ENTRIES) return;
    records ??= space.count({ start: RECORD_KEYS.ids, end: RECORD_KEYS.afterOffsets }) / 2;
    const operations = space.count({ start: RECORD_KEYS.afterOffsets, end: RECORD_KEYS.afterChanges });
    const own = this.batch === null ? 1 : 2;
    if (own + 2 * records + operations === entries) return;
    throw damagedStore(
      this.#source.name,
      `holds ${records} records and ${operations} removals and changes in ${entries} entries`,
    );
  }

  /** Copies the state of one moment into a folder that does not exist yet; of an empty store there is nothing to copy. */
  async copyTo(folder: string): Promise<void> {
    await this.#space?.copyTo(folder);
  }

  /** Copies its share of an environment into that of another store, which is empty. */
  async copyToShare(source: EntrySource): Promise<void> {
    if (this.#space !== null) await copyToShare(this.#space, source);
  }

  /**
   * Copies an environment of its own into the share of another store, which is empty, unless it holds more than `most`: then
   * `null`. No batch may be under way. Durable when it resolves. Throws `storage_full`.
   */
  async copyAsShare(
    source: EntrySource,
    most: Pick<StoreCounts, "records" | "bytes">,
  ): Promise<StoreCounts | null> {
    const space = this.#space;
    if (space === null || this.size > most.records) return null;
    const { entries, counts } = await space.transact(() => readAsShare(space));
    this.requireWhole(counts.records);
    if (counts.bytes > most.bytes) return null;
    await putIntoShare(entries, source);
    return counts;
  }

  /**
   * From now on its entries are there, where a copy of all of them is, once `commit`, told how many bytes they take there, has
   * said so; `false`: it says no, and they are where they were. No batch may be under way, and none may begin; reads go on.
   */
  async moveTo(source: EntrySource, commit: (bytes: number) => Promise<boolean>): Promise<boolean> {
    const [before, space] = [this.#space, source.find()];
    let isMoved = false;
    try {
      isMoved = await commit(space?.whole?.usedBytes ?? 0);
    } finally {
      if (!isMoved) await space?.close();
    }
    if (!isMoved) return false;
    this.#source = source;
    this.#space = space;
    this.#known = null;
    await before?.close();
    return true;
  }

  /** What operations up to this one changed is not known any more; ids of removed records are nowhere else. */
  async forgetUpTo(sequence: number): Promise<void> {
    if (this.#space === null || sequence <= this.completeFrom) return;
    await this.#transact((space) => forgetUpTo(space, sequence, { writer, before: this.#readHead() }));
  }

  /** Of processes that were killed as they read. */
  forgetDeadReaders(): void {
    this.#space?.forgetDeadReaders();
  }

  async close(): Promise<void> {
    await this.#space?.close();
  }
}
