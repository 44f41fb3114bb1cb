/**
 * The record store on LMDB. Keys: `0x00` head, `0x01 <id>` -> offset, `0x02 <offset>` -> record,
 * `0x03 <sequence>` -> removed id, `0x04 <sequence>` -> offsets that were put; offsets and sequence numbers are u64
 * big-endian, so keys sort in insertion order.
 * The environment is made at the first write: a collection that was never written costs no file.
 */
import type { QueryDistance } from "../../kernels/value-memory.ts";
import { CorruptDataError, damagedStore } from "../corrupt-data-error.ts";
import { RECORD_KEYS, idKey, offsetKey, readId, readOffset, removalKey } from "./record-keys.ts";
import { forgetAll, forgetChanges, putChanges, readChanges } from "./lmdb-changes.ts";
import { LmdbEnvironment, type EnvironmentOptions } from "./lmdb-environment.ts";
import {
  EMPTY_HEAD,
  type OnDamage,
  type RecordStore,
  type ScanOptions,
  type StoreChange,
  type StoreHead,
  type StoreView,
  type StoredChange,
  forgettable,
} from "../record-store.ts";
import type { DocumentVersion, StoredRecord, VectorDistance, VectorVersion } from "../stored-record.ts";
import { copyInSteps } from "./copy-in-steps.ts";
import { type Steps, afterSteps, isInSteps } from "../steps.ts";
import {
  type Decoding,
  type HeadValue,
  decodeDistance,
  decodeDocument,
  decodeHead,
  decodeRecord,
  decodeVector,
  decodeRecordInSteps,
  encodeHead,
  encodeRecord,
  encodeRecordInSteps,
  isLongValue,
  peekDocumentBytes,
} from "../values/value-codec.ts";
import { recordBytes } from "../values/record-bytes.ts";
import { PageGrowth } from "./page-growth.ts";
import { ValueWriter } from "../values/value-writer.ts";

/** Fixed part of a value, its two keys and the tree above them. */
const BYTES_PER_RECORD = 256;
const EMPTY: HeadValue = { head: EMPTY_HEAD, completeFrom: 0 };

export class LmdbRecordStore implements RecordStore {
  readonly #options: EnvironmentOptions;
  readonly #writer = new ValueWriter();
  #environment: LmdbEnvironment | null;
  /** While a plan is made, which asks for it several times. */
  #planned: StoreHead | null = null;
  #keptFrom = Infinity;

  constructor(options: EnvironmentOptions) {
    this.#options = options;
    this.#environment = LmdbEnvironment.exists(options.folder) ? new LmdbEnvironment(options) : null;
  }

  get head(): StoreHead {
    return this.#planned ?? this.#readHead().head;
  }

  get completeFrom(): number {
    return this.#readHead().completeFrom;
  }

  #readHead(): HeadValue {
    const value = this.#environment?.get(RECORD_KEYS.head) ?? null;
    return value === null || this.#environment === null
      ? EMPTY
      : decodeHead(value, this.#environment.origin(RECORD_KEYS.head));
  }

  /** Records there are; counts them one by one. */
  get size(): number {
    return this.#environment?.count({ start: offsetKey(0), end: RECORD_KEYS.afterOffsets }) ?? 0;
  }

  /** What they take of the file. */
  get usedBytes(): number {
    return this.#environment?.usedBytes ?? 0;
  }

  offsetOf(id: string): number | null {
    const key = idKey(id);
    const value = this.#environment?.get(key) ?? null;
    return value === null || this.#environment === null
      ? null
      : readOffset(value, this.#environment.origin(key));
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
    const origin = { store: this.#options.name, key: idKey(id) };
    throw new CorruptDataError(origin, 0, `leads to offset ${offset} of another record`);
  }

  read(offset: number, into?: Float32Array): StoredRecord | null {
    const environment = this.#environment;
    if (environment === null) return null;
    const key = offsetKey(offset);
    const value = environment.peek(key);
    return value === null ? null : decodeRecord(value, offset, { origin: environment.origin(key), into });
  }

  readInSteps(offset: number, into?: Float32Array): Steps<StoredRecord | null> {
    const environment = this.#environment;
    if (environment === null) return null;
    const key = offsetKey(offset);
    const value = environment.peek(key);
    if (value === null) return null;
    const origin = environment.origin(key);
    if (!isLongValue(value.length)) return decodeRecord(value, offset, { origin, into });
    return this.#readLong(environment, offset);
  }

  *#readLong(environment: LmdbEnvironment, offset: number): Generator<void, StoredRecord | null> {
    const key = offsetKey(offset);
    const value = yield* copyInSteps(() => environment.peek(key));
    return value === null ? null : yield* decodeRecordInSteps(value, offset, environment.origin(key));
  }

  readVector(offset: number): VectorVersion | null {
    const environment = this.#environment;
    if (environment === null) return null;
    const key = offsetKey(offset);
    const value = environment.peek(key);
    return value === null ? null : decodeVector(value, offset, environment.origin(key));
  }

  readDocument(offset: number): DocumentVersion | null {
    const environment = this.#environment;
    if (environment === null) return null;
    const key = offsetKey(offset);
    const value = environment.peek(key);
    return value === null ? null : decodeDocument(value, offset, environment.origin(key));
  }

  documentBytes(offset: number): number {
    const value = this.#environment?.peek(offsetKey(offset)) ?? null;
    return value === null ? 0 : peekDocumentBytes(value);
  }

  readDistance(offset: number, query: QueryDistance): VectorDistance | null {
    const environment = this.#environment;
    if (environment === null) return null;
    const key = offsetKey(offset);
    const value = environment.peek(key);
    return value === null ? null : decodeDistance(value, offset, { origin: environment.origin(key), query });
  }

  *removedAfter(sequence: number): Generator<string> {
    const environment = this.#environment;
    if (environment === null) return;
    const range = { start: removalKey(sequence + 1), end: RECORD_KEYS.afterRemovals };
    for (const { value } of environment.iterate(range)) yield Buffer.from(value).toString();
  }

  changesAfter(sequence: number, into?: Float32Array): Iterable<StoredChange> | "trimmed" {
    if (sequence < this.completeFrom) return "trimmed";
    const environment = this.#environment;
    return environment === null
      ? []
      : readChanges(environment, sequence, (offset) => this.read(offset, into));
  }

  keepChangesAfter(sequence: number): void {
    this.#keptFrom = sequence;
  }

  /**
   * As the seam says; `admit` is told by how many bytes the batch makes the entries larger at most, unless it only removes,
   * and nothing is written if it throws.
   */
  async apply(
    plan: (view: StoreView) => Steps<StoreChange>,
    admit?: (growth: number) => void,
  ): Promise<StoreChange> {
    const environment = (this.#environment ??= new LmdbEnvironment(this.#options));
    return environment.transact(() => {
      const before = this.#readHead();
      return this.#apply(environment, this.#plan(plan, before.head), before, admit);
    });
  }

  *#apply(
    environment: LmdbEnvironment,
    planned: Steps<StoreChange>,
    before: HeadValue,
    admit: ((growth: number) => void) | undefined,
  ): Generator<void, StoreChange> {
    const change = isInSteps(planned) ? yield* planned : planned;
    return yield* this.#store(environment, change, before, admit);
  }

  *#store(
    environment: LmdbEnvironment,
    change: StoreChange,
    { head: { nextOffset }, completeFrom }: HeadValue,
    admit: ((growth: number) => void) | undefined,
  ): Generator<void, StoreChange> {
    const upTo = forgettable(change.head, this.#keptFrom);
    const added = change.removes.length + change.puts.length;
    const known = yield* forgetChanges(environment, { completeFrom, upTo, added });
    for (const { id, offset, sequence } of change.removes) {
      environment.remove(idKey(id));
      environment.remove(offsetKey(offset));
      environment.put(removalKey(sequence), Buffer.from(id));
      yield;
    }
    yield* this.#put(environment, change, nextOffset, admit);
    environment.put(RECORD_KEYS.head, encodeHead(this.#writer, { head: change.head, completeFrom: known }));
    return change;
  }

  /** Throws before anything of it is stored where there is no room for it. */
  *#put(
    environment: LmdbEnvironment,
    { puts, removes }: StoreChange,
    nextOffset: number,
    admit: ((growth: number) => void) | undefined,
  ): Generator<void, void> {
    // Deletes need the reserve and always fit, so only what adds data is measured.
    if (puts.length === 0) return;
    const growth = new PageGrowth();
    let bytes = 0;
    for (const record of puts) {
      const key = offsetKey(record.offset);
      const isNew = record.offset >= nextOffset;
      const before = isNew || admit === undefined ? null : environment.peek(key)?.length;
      const isLong = isLongValue(recordBytes(record));
      const value = isLong ? yield* encodeRecordInSteps(record) : encodeRecord(this.#writer, record);
      bytes += value.length + BYTES_PER_RECORD;
      if (typeof before === "number") growth.replace(key.length, value.length, before);
      else growth.append(key.length, value.length);
      environment.put(key, value, isLong);
      if (isNew) {
        const id = idKey(record.id);
        growth.insertId(id.length, key.length);
        environment.put(id, key);
      }
      yield;
    }
    yield* putChanges(environment, this.#writer, puts, growth);
    environment.claim(bytes);
    if (admit === undefined) return;
    for (const { id, sequence } of removes) growth.append(removalKey(sequence).length, id.length);
    admit(growth.bytes(environment.leafPages, nextOffset));
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
    const environment = this.#environment;
    if (environment === null) return;
    for (let offset = from; ; offset++) {
      // A cursor that walks the range makes a buffer of each key and value, which takes longer than looking it up.
      let key = offsetKey(offset);
      let value = environment.peek(key);
      if (value === null) {
        const next = this.#offsetAbove(offset);
        if (next === null) return;
        offset = next;
        key = offsetKey(offset);
        value = environment.peek(key);
      }
      const record = decodeOrReport(value, offset, { origin: environment.origin(key), into }, onDamage);
      if (record === null) continue;
      if (onDamage !== undefined) this.#requireId(record);
      yield record;
    }
  }

  /** The next there is; `null`: that was the last. */
  #offsetAbove(offset: number): number | null {
    const environment = this.#environment;
    if (environment === null) return null;
    const range = { start: offsetKey(offset + 1), end: RECORD_KEYS.afterOffsets, limit: 1 };
    for (const { key } of environment.iterate(range)) return readOffset(key, environment.origin(key));
    return null;
  }

  /** The key with the id has no checksum of its own. */
  #requireId({ id, offset }: StoredRecord): void {
    const environment = this.#environment;
    const leadsTo = environment?.peek(idKey(id)) ?? null;
    if (environment === null || (leadsTo !== null && Buffer.compare(leadsTo, offsetKey(offset)) === 0))
      return;
    throw new CorruptDataError(
      environment.origin(idKey(id)),
      0,
      `does not lead to its record, offset ${offset}`,
    );
  }

  idAt(offset: number): string | null {
    const value = offsetKey(offset);
    const range = { start: RECORD_KEYS.ids, end: RECORD_KEYS.afterIds };
    for (const entry of this.#environment?.iterate(range) ?? []) {
      if (Buffer.compare(value, entry.value) === 0) return readId(entry.key);
    }
    return null;
  }

  /**
   * By numbers: a page that was cut out of the tree takes entries along that the meta page still counts. The scan has
   * followed the id of each record.
   */
  requireWhole(records: number): void {
    const environment = this.#environment;
    if (environment === null || environment.entryCount === 0) return;
    const operations = environment.count({ start: RECORD_KEYS.afterOffsets, end: RECORD_KEYS.afterChanges });
    if (1 + 2 * records + operations === environment.entryCount) return;
    throw damagedStore(
      this.#options.name,
      `holds ${records} records and ${operations} removals and changes in ${environment.entryCount} entries`,
    );
  }

  /** Copies the state of one moment into a folder that does not exist yet; of an empty store there is nothing to copy. */
  async copyTo(folder: string): Promise<void> {
    await this.#environment?.copyTo(folder);
  }

  /** What operations up to this one changed is not known any more; ids of removed records are nowhere else. */
  async forgetUpTo(sequence: number): Promise<void> {
    const environment = this.#environment;
    if (environment === null || sequence <= this.completeFrom) return;
    await environment.transact(() => this.#forgetUpTo(environment, sequence));
  }

  *#forgetUpTo(environment: LmdbEnvironment, sequence: number): Generator<void, void> {
    yield* forgetAll(environment, sequence);
    const { head } = this.#readHead();
    environment.put(RECORD_KEYS.head, encodeHead(this.#writer, { head, completeFrom: sequence }));
  }

  /** Of processes that were killed as they read. */
  forgetDeadReaders(): void {
    this.#environment?.forgetDeadReaders();
  }

  async close(): Promise<void> {
    await this.#environment?.close();
  }
}

/** `null`: it could not be read, and `onDamage` was told. */
function decodeOrReport(
  value: Uint8Array | null,
  offset: number,
  decoding: Decoding,
  onDamage: OnDamage | undefined,
): StoredRecord | null {
  try {
    if (value === null) throw new CorruptDataError(decoding.origin, 0, "is listed and cannot be found");
    return decodeRecord(value, offset, decoding);
  } catch (error) {
    if (onDamage === undefined || !(error instanceof CorruptDataError)) throw error;
    onDamage(offset, error);
    return null;
  }
}
