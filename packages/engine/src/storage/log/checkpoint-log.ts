/**
 * Checkpoints: the records of a collection at one state, as batches of a log of their own or as a file in an object store. A
 * view that has nothing is made of them, and the collection's log need not have what is older. Writing one costs what the
 * collection holds, so it is due once the log has got as large as the checkpoint before it.
 */
import { type CancelSignal, SheafError, throwIfAborted } from "@sheaf/protocol";
import type { StoreChange } from "../record-store.ts";
import { runInTurns } from "../steps.ts";
import { encodeBatch } from "./batch-codec.ts";
import type { RecordSource } from "./changed/record-source.ts";
import type { CheckpointFiles, WrittenFile } from "./checkpoint-files.ts";
import {
  CHECKPOINT_EPOCH,
  MAX_LOG_BYTES,
  type CommitLog,
  type LogBatch,
  type LogHead,
  type LogSizes,
  bytesOf,
  firstHead,
  newCheckpointLog,
} from "./commit-log.ts";

const NO_STATE = new Uint8Array(0);

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
 * Writes the records down, and trims the log to their state. `moved`: another server was faster, or the log is another one by
 * now; nothing is left behind that a sweep does not find. Throws where there are not as many records as the log has: what only
 * the log has would be lost.
 */
export async function writeCheckpoint(
  { log, files }: CheckpointPlaces,
  at: CheckpointOf,
  source: RecordSource,
  signal: CancelSignal,
): Promise<"done" | "moved"> {
  const known = await log.checkpoint(at.collection);
  if (known !== null && known.sequence >= at.state.sequence) return "moved";
  if (files === undefined) return writeAsLog(log, at, source, signal);
  const { name, bytes, records } = await files.write(source, signal);
  requireAll(at, records);
  return log.trim(at.collection, { ...at.state, place: name, bytes });
}

async function writeAsLog(
  log: CommitLog,
  { collection, state, ...expected }: CheckpointOf,
  source: RecordSource,
  signal: CancelSignal,
): Promise<"done" | "moved"> {
  const name = newCheckpointLog(collection, source.partitions);
  try {
    await log.create(name, { epoch: CHECKPOINT_EPOCH, state: NO_STATE });
    const { bytes, records } = await appendAll(log, name, source, signal);
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
    `${words}. If it has a view of all of them, start it with an empty data folder, which is read from the log again`,
  );
}

/** By ascending offset: whoever reads all of it need not put it into order. */
async function appendAll(
  log: CommitLog,
  name: string,
  source: RecordSource,
  signal: CancelSignal,
): Promise<Pick<WrittenFile, "bytes" | "records">> {
  const { head, partitions } = source;
  let [bytes, records] = [0, 0];
  let from = firstHead(CHECKPOINT_EPOCH);
  const append = async (change: StoreChange): Promise<void> => {
    throwIfAborted(signal);
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
  };
  for await (const puts of source.pieces(null, signal)) {
    const last = puts.at(-1);
    if (last !== undefined)
      await append({ head: { ...head, nextOffset: last.offset + 1 }, puts, removes: [] });
  }
  await append({ head, puts: [], removes: [] });
  return { bytes, records };
}
