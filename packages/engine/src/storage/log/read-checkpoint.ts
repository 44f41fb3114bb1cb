/** Reads checkpoints, whichever place they are in. */
import { type CancelSignal, SheafError, throwIfAborted } from "@sheaf/protocol";
import { SegmentDamaged } from "../files/segment-damaged.ts";
import type { StoreChange } from "../record-store.ts";
import { runInTurns } from "../steps.ts";
import type { StoredRecord } from "../stored-record.ts";
import { decodeBatch } from "./batch-codec.ts";
import { type CheckpointFiles, OBJECTS_UNKNOWN, damagedRecords, isRecordFile } from "./checkpoint-files.ts";
import type { CheckpointPlaces } from "./checkpoint-log.ts";
import {
  CHECKPOINT_EPOCH,
  type Checkpoint,
  type CommitLog,
  type LogBatch,
  LogTrimmed,
  ViewVoid,
  firstHead,
  partitionsOfLog,
} from "./commit-log.ts";
import type { LogView } from "./log-view.ts";
import { type ViewedPart, partitionOf } from "./partition-of.ts";

/** A view that was left with a part of a checkpoint is of no state of a log. */
const UNFINISHED = "checkpoint";

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
  for await (const change of changesOfCheckpoint({ log, files }, checkpoint, { collection, part, signal }))
    await view.follow(() => change, UNFINISHED);
  // The order of older operations is not in it.
  await view.forgetUpTo(checkpoint.sequence);
  await view.follow(({ head }) => ({ head, puts: [], removes: [] }), checkpoint.batch);
}

export interface ReadingCheckpoint {
  readonly collection: string;
  /** Whose records alone are wanted. */
  readonly part?: ViewedPart | undefined;
  readonly signal?: CancelSignal | undefined;
}

/** What makes its state of nothing, by ascending offset; the last change has its head. Throws as `readCheckpoint`. */
export async function* changesOfCheckpoint(
  { log, files }: CheckpointPlaces,
  checkpoint: Checkpoint,
  reading: ReadingCheckpoint,
): AsyncGenerator<StoreChange> {
  const { collection, part, signal } = reading;
  try {
    const changes = isRecordFile(checkpoint.place)
      ? changesOfFile(files, checkpoint, reading)
      : await changesOfLog(log, checkpoint, reading);
    for await (const change of changes) {
      throwIfAborted(signal);
      yield ownChange(change, part);
    }
  } catch (error) {
    if (error instanceof LogTrimmed) throw new ViewVoid();
    if (!(error instanceof SegmentDamaged)) throw error;
    // Objects go long after a checkpoint has ceased to name them; so long a reader may take, or be paused.
    if ((await log.checkpoint(collection))?.place !== checkpoint.place) throw new ViewVoid();
    throw damagedRecords(error);
  }
}

/** What of a change is of the records that the view has: not all that is read is, where a checkpoint was not cut by partition. */
function ownChange({ puts, ...change }: StoreChange, part: ViewedPart | undefined): StoreChange {
  if (part === undefined) return { ...change, puts };
  const isOwn = ({ id }: StoredRecord): boolean => partitionOf(id, part.partitions) === part.partition;
  return { ...change, puts: puts.filter(isOwn) };
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
