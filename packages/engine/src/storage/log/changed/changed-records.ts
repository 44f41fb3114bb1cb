/**
 * The records of a collection at a state of its log without a store of them: those of the checkpoint before, and over them what
 * the log has changed since. A record keeps its offset as long as it is there, and a new one has an offset beyond all others. So
 * both are gone through side by side, for one partition after the other, and all of them are of one state: the log is read once,
 * to where its head was.
 */
import assert from "node:assert/strict";
import { type CancelSignal, throwIfAborted } from "@sheaf/protocol";
import { EMPTY_HEAD, type StoreChange, type StoreHead } from "../../record-store.ts";
import { runInTurns } from "../../steps.ts";
import type { StoredRecord } from "../../stored-record.ts";
import { decodeBatch } from "../batch-codec.ts";
import type { CheckpointPlaces } from "../checkpoint-log.ts";
import { type Checkpoint, type LogHead, LogTrimmed, ViewVoid, bytesOf, firstHead } from "../commit-log.ts";
import { type ChangePlace, LogChanges } from "./log-changes.ts";
import { overlaidRecords } from "./overlaid-records.ts";
import { changesOfCheckpoint } from "../read-checkpoint.ts";
import { type RecordSource, SOURCE_PIECE_BYTES, type Scratch } from "./record-source.ts";

/** Bodies of batches that share a commit. */
const GROUPED_BYTES = 8 * 1024 * 1024;

export interface ChangedRecordsOptions extends CheckpointPlaces {
  readonly collection: string;
  readonly epoch: string;
  readonly partitions: number;
  /** Sequence number of a state of the log, beyond which it is not read; left out: its head as it is now. */
  readonly until?: number | undefined;
  readonly scratch: Scratch;
  /** Where the changes are kept, in the same folder or elsewhere. */
  readonly entries: ChangePlace;
}

export class ChangedRecords implements RecordSource {
  readonly partitions: number;
  readonly scratch: Scratch;
  readonly #options: ChangedRecordsOptions;
  readonly #changes: LogChanges;
  readonly #checkpoint: Checkpoint | null;
  /** Of the checkpoint before, and the log. */
  #expectedBytes = 0;
  #head: StoreHead;
  #position: LogHead;
  /** So many the log has there; left out: that is not known. */
  #count: number | undefined;

  private constructor(options: ChangedRecordsOptions, checkpoint: Checkpoint | null) {
    const { epoch, partitions, files, scratch } = options;
    this.#options = options;
    this.#checkpoint = checkpoint;
    [this.partitions, this.scratch] = [partitions, scratch];
    // Batches of a log are gone through in the order of offsets, whatever partition these are of.
    const told = files === undefined ? 1 : partitions;
    this.#changes = new LogChanges(options.entries, told);
    const { sequence, batch } = checkpoint ?? firstHead(epoch);
    this.#position = { epoch, sequence, batch };
    this.#head = { ...EMPTY_HEAD, sequence };
  }

  /** Throws `ViewVoid` where the log is another one, or is trimmed meanwhile. To be closed. */
  static async read(options: ChangedRecordsOptions, signal: CancelSignal): Promise<ChangedRecords> {
    const { log, collection, epoch, until = Infinity } = options;
    const [found] = await log.heads([collection]);
    if (found?.epoch !== epoch) throw new ViewVoid();
    const records = new ChangedRecords(options, await log.checkpoint(collection));
    try {
      await records.#readLog(Math.min(found.sequence, until), signal);
    } catch (error) {
      await records.close();
      throw error;
    }
    records.#expectedBytes = found.bytes + found.checkpointBytes;
    if (records.#position.sequence === found.sequence) records.#count = found.usage?.records;
    return records;
  }

  get head(): StoreHead {
    return this.#head;
  }

  get expectedBytes(): number {
    return this.#expectedBytes;
  }

  /** Of the log. */
  get batch(): string {
    return this.#position.batch;
  }

  get count(): number | undefined {
    return this.#count;
  }

  async #readLog(until: number, signal: CancelSignal): Promise<void> {
    const { log, collection } = this.#options;
    // Another server has trimmed it further.
    if (this.#position.sequence >= until) return;
    const batches = await log.read(collection, this.#position);
    if (batches === "trimmed") throw new ViewVoid();
    let [group, bytes]: [StoreChange[], number] = [[], 0];
    const store = async (): Promise<void> => {
      await this.#changes.add(group);
      [group, bytes] = [[], 0];
    };
    try {
      for await (const batch of batches) {
        throwIfAborted(signal);
        if (batch.sequence > until) break;
        const change = await runInTurns(decodeBatch(batch, collection));
        group.push(change);
        bytes += bytesOf([batch]);
        if (bytes >= GROUPED_BYTES) await store();
        this.#head = change.head;
        this.#position = { ...this.#position, sequence: batch.sequence, batch: batch.id };
      }
    } catch (error) {
      throw error instanceof LogTrimmed ? new ViewVoid() : error;
    }
    await store();
  }

  async *pieces(
    partition: number | null,
    signal: CancelSignal,
  ): AsyncGenerator<readonly StoredRecord[], void> {
    assert.ok(partition === null || this.#options.files !== undefined, "they are told apart for a file");
    const before = this.#recordsBefore(partition, signal);
    const changes = this.#changes.pieces(partition ?? 0);
    yield* overlaidRecords(before, changes, SOURCE_PIECE_BYTES);
  }

  async *#recordsBefore(
    partition: number | null,
    signal: CancelSignal,
  ): AsyncGenerator<readonly StoredRecord[]> {
    const { collection, partitions } = this.#options;
    if (this.#checkpoint === null) return;
    const part = partition === null ? undefined : { partition, partitions };
    const reading = { collection, part, signal };
    // A batch of a log has them in the order of their operations.
    for await (const { puts } of changesOfCheckpoint(this.#options, this.#checkpoint, reading))
      yield puts.toSorted((a, b) => a.offset - b.offset);
  }

  close(): Promise<void> {
    return this.#changes.close();
  }
}
