/**
 * A batch of records as bodies of a log, version 1 of its layout (docs/internals/several-machines.md): parts of some 256 KiB, so
 * that none takes long to make or to read, each a value in the common frame.
 */
import { SheafError } from "@sheaf/protocol";
import { CorruptDataError, type DataOrigin } from "../corrupt-data-error.ts";
import type { RemovedRecord, StoreChange } from "../record-store.ts";
import type { StoredRecord } from "../stored-record.ts";
import { recordBytes } from "../values/record-bytes.ts";
import {
  decodeRecord,
  decodeRecordInSteps,
  encodeRecord,
  encodeRecordInSteps,
  isLongValue,
} from "../values/value-codec.ts";
import { ValueReader } from "../values/value-reader.ts";
import { FRAME_BYTES, VALUE_KIND, ValueWriter } from "../values/value-writer.ts";
import { EVERY_PARTITION, type LogBatch, type LogPart } from "./commit-log.ts";
import { partitionOf } from "./partition-of.ts";

/** A part is ended with the entry that reaches it. */
const PART_BYTES = 256 * 1024;
/** Of a full part, beside `PART_BYTES`: what stands before each value, and the rest of the last one. */
const PART_RESERVE = 16 * 1024;
/** Of an entry beside its value, or its id. */
const ENTRY_BYTES = 64;
/** Number of removed records, then that of put ones: behind frame, sequence number, next offset and dimension. */
const REMOVES_AT = FRAME_BYTES + 8 + 8 + 4;
/** All of it is one statement of a database. */
const MOST_BYTES = 128 * 1024 * 1024;

interface EncodeOptions {
  /** Of the collection. */
  readonly partitions?: number | undefined;
  readonly mostBytes?: number;
  readonly onValue?: (value: Uint8Array) => void;
}

/**
 * Each part is of one partition. Where there are several of these the first part has the head alone, for those that the batch
 * changes nothing in. Throws `too_large`.
 *
 * @param onValue Told each put record as it is in a store: bytes of a part, which stay as they are.
 */
export function* encodeBatch(
  change: StoreChange,
  { partitions = 1, mostBytes = MOST_BYTES, onValue = () => {} }: EncodeOptions = {},
): Generator<void, readonly LogPart[]> {
  const { head, puts, removes } = change;
  const capacity = capacityOf(change, partitions);
  const parts: LogPart[] = [];
  const open = new Map<number, OpenPart>();
  let bytes = 0;
  const partOf = (partition: number): OpenPart => {
    const known = open.get(partition);
    if (known !== undefined) return known;
    const part = begun(head, capacity);
    open.set(partition, part);
    return part;
  };
  function* close(partition: number): Generator<void, void> {
    const body = yield* finished(partOf(partition));
    open.delete(partition);
    bytes += body.length;
    if (bytes > mostBytes)
      throw new SheafError("too_large", `the write takes more than ${mostBytes} bytes in the log`);
    parts.push({ partition, body });
  }
  if (partitions > 1) yield* close(EVERY_PARTITION);
  const scratch = new ValueWriter();
  for (const removed of removes) {
    const partition = partitionOf(removed.id, partitions);
    const part = partOf(partition);
    part.writer.u64(removed.sequence).u64(removed.offset).text(removed.id);
    part.removes += 1;
    part.bytes += 20 + removed.id.length;
    if (part.bytes >= PART_BYTES) yield* close(partition);
    yield;
  }
  for (const record of puts) {
    const partition = partitionOf(record.id, partitions);
    const part = partOf(partition);
    const isLong = isLongValue(recordBytes(record));
    const value = isLong ? yield* encodeRecordInSteps(record) : encodeRecord(scratch, record);
    part.writer.u64(record.offset);
    if (isLong) yield* part.writer.bytesInSteps(value);
    else part.writer.bytes(value);
    onValue(part.writer.last(value.length));
    part.puts += 1;
    part.bytes += value.length;
    if (part.bytes >= PART_BYTES) yield* close(partition);
    yield;
  }
  if (parts.length === 0) partOf(0);
  for (const partition of [...open.keys()].sort((a, b) => a - b)) yield* close(partition);
  return parts;
}

/** Entries are written where they will be sent from: an array for each of them would have to be collected. */
interface OpenPart {
  readonly writer: ValueWriter;
  removes: number;
  puts: number;
  bytes: number;
}

/** @param capacity Of its memory; it may grow. */
function begun(head: StoreChange["head"], capacity: number): OpenPart {
  const writer = new ValueWriter(capacity);
  writer.begin(VALUE_KIND.batch).u64(head.sequence).u64(head.nextOffset);
  writer
    .u32(head.dimension ?? 0)
    .u32(0)
    .u32(0);
  return { writer, removes: 0, puts: 0, bytes: 0 };
}

function* finished({ writer, removes, puts }: OpenPart): Generator<void, Uint8Array> {
  writer.setU32(REMOVES_AT, removes);
  writer.setU32(REMOVES_AT + 4, puts);
  return yield* writer.finishInSteps();
}

/** So much that a part need not grow, unless its last entry is long. */
function capacityOf({ puts, removes }: StoreChange, partitions: number): number {
  const [first] = puts;
  const each = ENTRY_BYTES + (first === undefined ? 0 : recordBytes(first));
  const share = Math.ceil((puts.length * each + removes.length * 2 * ENTRY_BYTES) / partitions);
  return ENTRY_BYTES + Math.min(share, PART_BYTES + PART_RESERVE);
}

/**
 * Records in the order of their operations.
 *
 * @param collection For the words of a `CorruptDataError`.
 * @param wanted The partition whose records are asked for; left out: all.
 */
export function* decodeBatch(
  { id, parts }: Pick<LogBatch, "id" | "parts">,
  collection: string,
  wanted?: number,
): Generator<void, StoreChange> {
  const origin = { store: `log of ${collection}`, key: Buffer.from(id) };
  const [puts, removes]: [StoredRecord[], RemovedRecord[]] = [[], []];
  let head = { sequence: 0, nextOffset: 0, dimension: null as number | null };
  const partitions = new Set<number>();
  let hasHead = false;
  for (const { partition, body } of parts) {
    if (wanted !== undefined && partition !== wanted && partition !== EVERY_PARTITION) continue;
    if (partition === EVERY_PARTITION) hasHead = true;
    else partitions.add(partition);
    const reader = new ValueReader(body, VALUE_KIND.batch, origin);
    head = { sequence: reader.u64(), nextOffset: reader.u64(), dimension: reader.u32() || null };
    const [removed, put] = [reader.u32(), reader.u32()];
    for (let i = 0; i < removed; i++)
      removes.push({ sequence: reader.u64(), offset: reader.u64(), id: reader.text() });
    for (let i = 0; i < put; i++) {
      const offset = reader.u64();
      puts.push(yield* decodeValue(reader.view(reader.u32()), offset, origin));
      yield;
    }
    reader.end();
  }
  if (wanted !== undefined && !hasHead) throw new CorruptDataError(origin, 0, "the batch is not divided");
  if (partitions.size > 1) {
    puts.sort((a, b) => a.sequence - b.sequence);
    removes.sort((a, b) => a.sequence - b.sequence);
  }
  return { head, puts, removes };
}

/** A record as it is in a store, in memory of its own. */
export function* encodeValue(scratch: ValueWriter, record: StoredRecord): Generator<void, Uint8Array> {
  if (isLongValue(recordBytes(record))) return yield* encodeRecordInSteps(record);
  return new Uint8Array(encodeRecord(scratch, record));
}

/** What `encodeValue` has made. Throws `CorruptDataError`. */
export function* decodeValue(
  value: Uint8Array,
  offset: number,
  origin: DataOrigin,
): Generator<void, StoredRecord> {
  if (!isLongValue(value.length)) return decodeRecord(value, offset, { origin });
  return yield* decodeRecordInSteps(new Uint8Array(value), offset, origin);
}
