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
import { VALUE_KIND, ValueWriter } from "../values/value-writer.ts";
import { EVERY_PARTITION, type LogBatch, type LogPart } from "./commit-log.ts";
import { partitionOf } from "./partition-of.ts";

/** A part is ended with the entry that reaches it. */
const PART_BYTES = 256 * 1024;
/** All of it is one statement of a database. */
const MOST_BYTES = 128 * 1024 * 1024;

interface EncodeOptions {
  /** Of the collection. */
  readonly partitions?: number | undefined;
  readonly mostBytes?: number;
  readonly onValue?: (bytes: number) => void;
}

/**
 * Each part is of one partition. Where there are several of these the first part has the head alone, for those that the batch
 * changes nothing in. Throws `too_large`.
 *
 * @param onValue Told how many bytes each put record has, as it is in a store.
 */
export function* encodeBatch(
  { head, puts, removes }: StoreChange,
  { partitions = 1, mostBytes = MOST_BYTES, onValue = () => {} }: EncodeOptions = {},
): Generator<void, readonly LogPart[]> {
  const parts: LogPart[] = [];
  const open = new Map<number, OpenPart>();
  let bytes = 0;
  const partOf = (partition: number): OpenPart => {
    const known = open.get(partition);
    if (known !== undefined) return known;
    const part = begun(head);
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
    part.removes.push(removed);
    part.bytes += 20 + removed.id.length;
    if (part.bytes >= PART_BYTES) yield* close(partition);
    yield;
  }
  for (const record of puts) {
    const partition = partitionOf(record.id, partitions);
    const part = partOf(partition);
    const value = yield* encodeValue(scratch, record);
    onValue(value.length);
    part.puts.push({ offset: record.offset, value });
    part.bytes += value.length;
    if (part.bytes >= PART_BYTES) yield* close(partition);
    yield;
  }
  if (parts.length === 0) partOf(0);
  for (const partition of [...open.keys()].sort((a, b) => a - b)) yield* close(partition);
  return parts;
}

interface OpenPart {
  readonly head: StoreChange["head"];
  readonly removes: RemovedRecord[];
  readonly puts: { readonly offset: number; readonly value: Uint8Array }[];
  bytes: number;
}

function begun(head: StoreChange["head"]): OpenPart {
  return { head, removes: [], puts: [], bytes: 0 };
}

function* finished({ head, removes, puts, bytes }: OpenPart): Generator<void, Uint8Array> {
  const writer = new ValueWriter(bytes + 64 + 12 * (puts.length + removes.length));
  writer.begin(VALUE_KIND.batch).u64(head.sequence).u64(head.nextOffset);
  writer
    .u32(head.dimension ?? 0)
    .u32(removes.length)
    .u32(puts.length);
  for (const { id, offset, sequence } of removes) writer.u64(sequence).u64(offset).text(id);
  for (const { offset, value } of puts) {
    writer.u64(offset);
    yield* writer.bytesInSteps(value);
  }
  return yield* writer.finishInSteps();
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
