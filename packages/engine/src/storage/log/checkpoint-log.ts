/**
 * Checkpoints: the records of a collection at one state, as batches of a log of their own or as a file in an object store. A
 * view that has nothing is made of them, and the collection's log need not have what is older. Writing one costs what the
 * collection holds, so it is due once the log has got as large as the checkpoint before it.
 */
import { type CancelSignal, SheafError, throwIfAborted } from "@sheaf/protocol";
import { SegmentDamaged } from "../files/segment-damaged.ts";
import type { WriteOptions } from "./write-record-file.ts";
import type { LogView } from "./log-view.ts";
import { type ViewedPart, partitionOf } from "./partition-of.ts";
import type { RecordStore, StoreChange } from "../record-store.ts";
import { runInTurns } from "../steps.ts";
import type { StoredRecord } from "../stored-record.ts";
import { recordBytes } from "../values/record-bytes.ts";
import { decodeBatch, encodeBatch } from "./batch-codec.ts";
import {
  type CheckpointFiles,
  OBJECTS_UNKNOWN,
  type WrittenFile,
  damagedRecords,
  isRecordFile,
} from "./checkpoint-files.ts";
import {
  CHECKPOINT_EPOCH,
  MAX_LOG_BYTES,
  type Checkpoint,
  type CommitLog,
  type LogBatch,
  type LogHead,
  type LogSizes,
  LogTrimmed,
  ViewVoid,
  bytesOf,
  firstHead,
  newCheckpointLog,
  partitionsOfLog,
} from "./commit-log.ts";

/** Of one batch of a checkpoint, about. */
const BATCH_BYTES = 4 * 1024 * 1024;
const NO_STATE = new Uint8Array(0);
/** A view that was left with a part of a checkpoint is of no state of a log. */
const UNFINISHED = "checkpoint";

/** A small log is read faster than records are written down. */
export const CHECKPOINT_AFTER_BYTES = 64 * 1024 * 1024;

/** Of a checkpoint: so many times as much is written at most as was written to the log. */
const QUIET_SHARE = 16;

export interface CheckpointRules {
  /** Of a log that needs one. */
  readonly leastBytes?: number | undefined;
  /** From half of that on it does, so that writes go on while the checkpoint is written. */
  readonly maxLogBytes?: number | undefined;
  /** To another server: only where the log has grown so much further that nobody seems to write one. */
  readonly isLeft?: boolean | undefined;
}

/** The database finds out the same for index nodes (`take` of its jobs). */
export function isCheckpointDue(
  { bytes, checkpointBytes }: LogSizes,
  { leastBytes = CHECKPOINT_AFTER_BYTES, maxLogBytes = MAX_LOG_BYTES, isLeft = false }: CheckpointRules,
): boolean {
  const [share, times] = isLeft ? [0.75, 2] : [0.5, 1];
  return bytes >= Math.min(maxLogBytes * share, times * Math.max(leastBytes, checkpointBytes));
}

/** Whether a log that is not written any more gets a checkpoint, although none is due yet. */
export function isWorthTrimming(
  { bytes, checkpointBytes }: LogSizes,
  leastBytes = CHECKPOINT_AFTER_BYTES,
): boolean {
  return bytes >= Math.max(leastBytes / 8, checkpointBytes / QUIET_SHARE);
}

/** What is to be written down. */
export interface CheckpointOf {
  readonly collection: string;
  readonly state: LogHead;
  /** One where it is left out. */
  readonly partitions?: number | undefined;
  /** So many the log has at that state, if that is known. */
  readonly records?: number | undefined;
}

/** Where checkpoints are. */
export interface CheckpointPlaces {
  readonly log: CommitLog;
  /** Left out: they are logs, too. */
  readonly files?: CheckpointFiles | undefined;
}

/**
 * Writes down the records of a store that nobody writes, and trims the log to its state. `moved`: another server was faster,
 * or the log is another one by now; nothing is left behind that a sweep does not find. Throws where the store does not have as
 * many records as the log: what only the log has would be lost.
 */
export async function writeCheckpoint(
  { log, files }: CheckpointPlaces,
  at: CheckpointOf,
  store: RecordStore,
  signal: CancelSignal,
): Promise<"done" | "moved"> {
  const known = await log.checkpoint(at.collection);
  if (known !== null && known.sequence >= at.state.sequence) return "moved";
  if (files === undefined) return writeAsLog(log, at, store, signal);
  const { partitions } = at;
  const { name, bytes, records } = await files.write(store, { partitions, signal });
  requireAll(at, records);
  return log.trim(at.collection, { ...at.state, place: name, bytes });
}

async function writeAsLog(
  log: CommitLog,
  { collection, state, partitions, ...expected }: CheckpointOf,
  store: RecordStore,
  signal: CancelSignal,
): Promise<"done" | "moved"> {
  const name = newCheckpointLog(collection, partitions);
  try {
    await log.create(name, { epoch: CHECKPOINT_EPOCH, state: NO_STATE });
    const { bytes, records } = await appendAll(log, name, store, { partitions, signal });
    requireAll(expected, records);
    const outcome = await log.trim(collection, { ...state, place: name, bytes });
    if (outcome === "moved") await log.drop(name);
    return outcome;
  } catch (error) {
    // If it is that of the collection now, for all that is known here, it stays; a sweep removes it where it is not.
    const found = await log.checkpoint(collection).catch(() => undefined);
    if (found !== undefined && found?.place !== name) await log.drop(name).catch(() => undefined);
    throw error;
  }
}

function requireAll({ records: expected }: Pick<CheckpointOf, "records">, found: number): void {
  if (expected === undefined || expected === found) return;
  const words = `this server has ${found} records of the collection, and by its log there are ${expected}: the log is not trimmed`;
  throw new SheafError(
    "internal",
    `${words}. Start this server with an empty data folder, which is read from the log again`,
  );
}

/**
 * A view that has nothing begins with what the log begins with; it stays empty where there is no checkpoint. Throws `ViewVoid`
 * where that was replaced meanwhile.
 */
export async function readCheckpoint(
  { log, files }: CheckpointPlaces,
  collection: string,
  view: LogView,
  { part, signal }: { readonly part?: ViewedPart | undefined; readonly signal?: CancelSignal } = {},
): Promise<void> {
  const checkpoint = await log.checkpoint(collection);
  if (checkpoint === null) return;
  try {
    const reading = { collection, part, signal };
    const changes = isRecordFile(checkpoint.place)
      ? changesOfFile(files, checkpoint, reading)
      : await changesOfLog(log, checkpoint, reading);
    for await (const change of changes) {
      throwIfAborted(signal);
      await view.follow(() => ownChange(change, part), UNFINISHED);
    }
  } catch (error) {
    if (error instanceof LogTrimmed) throw new ViewVoid();
    if (!(error instanceof SegmentDamaged)) throw error;
    // Objects go long after a checkpoint has ceased to name them; so long a reader may take, or be paused.
    if ((await log.checkpoint(collection))?.place !== checkpoint.place) throw new ViewVoid();
    throw damagedRecords(error);
  }
  // The order of older operations is not in it.
  await view.forgetUpTo(checkpoint.sequence);
  await view.follow(({ head }) => ({ head, puts: [], removes: [] }), checkpoint.batch);
}

/** What of a change is of the records that the view has: not all that is read is, where a checkpoint was not cut by partition. */
function ownChange({ puts, ...change }: StoreChange, part: ViewedPart | undefined): StoreChange {
  if (part === undefined) return { ...change, puts };
  const isOwn = ({ id }: StoredRecord): boolean => partitionOf(id, part.partitions) === part.partition;
  return { ...change, puts: puts.filter(isOwn) };
}

interface ReadingCheckpoint {
  readonly collection: string;
  readonly part: ViewedPart | undefined;
  readonly signal: CancelSignal | undefined;
}

async function* changesOfFile(
  files: CheckpointFiles | undefined,
  { place, sequence }: Checkpoint,
  { collection, part, signal }: ReadingCheckpoint,
): AsyncGenerator<StoreChange> {
  if (files === undefined) throw new SheafError("unavailable", OBJECTS_UNKNOWN, { retryAfterSeconds: 1 });
  const file = await files.open(place, { part, signal });
  try {
    if (file.head.sequence !== sequence) throw new SegmentDamaged(place, null, "it is of another state");
    yield* file.changes(collection, { signal });
  } finally {
    await file.close();
  }
}

async function changesOfLog(
  log: CommitLog,
  { place }: Checkpoint,
  { collection, part }: ReadingCheckpoint,
): Promise<AsyncIterable<StoreChange>> {
  const wanted = part?.partitions === partitionsOfLog(place) ? part.partition : undefined;
  const batches = await log.read(place, firstHead(CHECKPOINT_EPOCH), wanted);
  if (batches === "trimmed") throw new ViewVoid();
  return decodedBatches(batches, collection, wanted);
}

async function* decodedBatches(
  batches: AsyncIterable<LogBatch>,
  collection: string,
  wanted: number | undefined,
): AsyncGenerator<StoreChange> {
  for await (const batch of batches) yield await runInTurns(decodeBatch(batch, collection, wanted));
}

async function appendAll(
  log: CommitLog,
  name: string,
  store: RecordStore,
  { partitions, signal }: WriteOptions,
): Promise<Pick<WrittenFile, "bytes" | "records">> {
  let [bytes, records] = [0, 0];
  let from = firstHead(CHECKPOINT_EPOCH);
  for (let offset: number | null = 0; offset !== null;) {
    throwIfAborted(signal);
    const change: StoreChange = await runInTurns(changeFrom(store, offset));
    const { nextOffset } = change.head;
    offset = nextOffset < store.head.nextOffset ? nextOffset : null;
    const sequence = from.sequence + 1;
    const id = `${name}/${sequence}`;
    const parts = await runInTurns(encodeBatch(change, { partitions }));
    const batches: LogBatch[] = [{ id, sequence, parts }];
    const outcome = await log.append(name, from, { batches, state: NO_STATE, unbounded: true });
    // An attempt that was not answered may be in the log, under the same id.
    if (outcome !== "done" && (await log.find(name, id)) !== sequence)
      throw new Error(`a checkpoint cannot be written: ${outcome}`);
    bytes += bytesOf(batches);
    records += change.puts.length;
    from = { epoch: CHECKPOINT_EPOCH, sequence, batch: id };
  }
  return { bytes, records };
}

/** The records from an offset on, as many as a batch has; the last batch has the store's own head. */
function* changeFrom(store: RecordStore, from: number): Generator<void, StoreChange> {
  const { head } = store;
  const puts: StoredRecord[] = [];
  let nextOffset = from;
  for (let bytes = 0; bytes < BATCH_BYTES;) {
    // A scan ends within its turn.
    const [record] = store.scan(nextOffset);
    if (record === undefined) return { head, puts, removes: [] };
    puts.push(record);
    bytes += recordBytes(record);
    nextOffset = record.offset + 1;
    yield;
  }
  return { head: { ...head, nextOffset }, puts, removes: [] };
}
