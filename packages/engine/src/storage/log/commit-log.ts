/**
 * The seam under collections that several servers write: a log of batches for each collection, and its head. An append names
 * the head that it was planned on and is done only if that is still the head, so no writer needs a lease or a clock. Memory is
 * the first implementation, PostgreSQL the second; `commit-log.suite.ts` holds both to the same behaviour.
 */
import { randomUUID } from "node:crypto";
import { SheafError } from "@sheaf/protocol";
import type { Usage } from "../usage.ts";

/**
 * A state of a collection. All three parts are compared: after a database was restored, or has lost its newest batches, the
 * same sequence number may stand for another state.
 */
export interface LogHead {
  /** Of the collection as a whole; another one where everything was replaced. */
  readonly epoch: string;
  /** Sequence number of the newest operation; 0 before the first batch. */
  readonly sequence: number;
  /** Id of the batch that this operation is of; empty before the first batch. */
  readonly batch: string;
}

export interface FoundHead extends LogHead {
  /** As the newest append has left it. */
  readonly state: Uint8Array;
}

/** What is in a log, and what a reader that begins would have to read first. */
export interface LogSizes {
  readonly bytes: number;
  /** 0: there is none. */
  readonly checkpointBytes: number;
  /** What the collection keeps; `null`: it was never counted. */
  readonly usage: Usage | null;
}

/** A state that the records themselves were written down at, so that batches up to it are needed no more. */
export interface Checkpoint extends LogHead {
  /** The log whose batches make that state of nothing, which is removed with the checkpoint; or the name of a file of records. */
  readonly place: string;
  readonly bytes: number;
}

/** Of a part that changes nothing, and says of every partition that the batch is there. */
export const EVERY_PARTITION = -1;

export interface LogPart {
  /** Of the collection's partitions, which one it changes; or `EVERY_PARTITION`. */
  readonly partition: number;
  readonly body: Uint8Array;
}

/** What one write changes. */
export interface LogBatch {
  /**
   * Made once for one write, and kept however often the write is planned again: it is how the writer learns whether an append
   * that was not answered was done.
   */
  readonly id: string;
  /** Sequence number of its last operation; its first one follows the batch before. */
  readonly sequence: number;
  /** At least one. */
  readonly parts: readonly LogPart[];
}

/** Whose collection a log is of, and how much all collections of theirs may keep; 0 is no bound. */
export interface LogOwner {
  readonly owner: string;
  readonly most: Usage;
}

export interface LogAppend {
  /** At least one, sequence numbers ascending. They become visible together. */
  readonly batches: readonly LogBatch[];
  /** What the writer keeps beside the head: counts, the next offset. Small. */
  readonly state: Uint8Array;
  /** By how much it changes what the collection keeps, if that is counted. */
  readonly usage?: Usage;
  /** Whose bounds it has to keep, where it has any. */
  readonly quota?: LogOwner | undefined;
  /** Also where the log gets larger than it should; for checkpoints, which there is one of. */
  readonly unbounded?: boolean;
}

/**
 * `done`: durable and visible to every read that begins afterwards. `moved`: the head is another one; or one of the batches is
 * in the log already, from an attempt that nobody knew the outcome of. `gone`: there is no such collection, or its epoch is
 * another one. `full`: the log has reached its bound and has to be trimmed first. `over`: its owner would keep more than they
 * may. After these four nothing was written.
 *
 * `unknown`: nobody can tell yet, and the append may even be done later. The writer reads the log, looks for its batch ids, and
 * plans what is not there again under the same ids; whichever attempt comes second finds the head or the id changed.
 */
export type AppendOutcome = "done" | "moved" | "gone" | "full" | "over" | "unknown";

export interface LogCopy {
  readonly collection: string;
  readonly epoch: string;
  readonly quota?: LogOwner | undefined;
}

export interface CommitLog {
  /** `exists`: there is a collection of this id, and nothing has changed. */
  create(
    collection: string,
    head: Pick<FoundHead, "epoch" | "state"> & { readonly owner?: string },
  ): Promise<"done" | "exists">;
  /**
   * Makes a collection that begins with all that is in the log of another, also with its sequence numbers, batch ids and
   * checkpoint, as one state, and of the same owner. `gone`: there is no other, or it is trimmed all the time. `over`: as of an
   * append. Done once, however often it is asked for.
   */
  copy(from: string, to: LogCopy): Promise<"done" | "gone" | "over">;
  /** With its log and its checkpoint. Nothing happens where there is none. */
  drop(collection: string): Promise<void>;
  /** One for each collection, in their order, as one request; `null`: there is none. */
  heads(collections: readonly string[]): Promise<readonly ((FoundHead & LogSizes) | null)[]>;
  append(collection: string, from: LogHead, append: LogAppend): Promise<AppendOutcome>;
  /**
   * The batches after a state, oldest first, up to the head as it is now or newer. `trimmed`: the log does not go back so far,
   * or that state never was one of this log; whoever has it must be made anew. Batches that are trimmed meanwhile end it with
   * `LogTrimmed`.
   *
   * @param partition Whose parts are wanted, and those of none; left out: all.
   */
  read(collection: string, after: LogHead, partition?: number): Promise<AsyncIterable<LogBatch> | "trimmed">;
  /** What all collections of an owner keep. */
  usageOf(owner: string): Promise<Usage>;
  /** Says what a collection keeps that was never counted, at this head; nothing where it was, or the head has moved. */
  count(collection: string, head: LogHead, owner: string, usage: Usage): Promise<void>;
  /**
   * Sequence number of the batch with this id, kept for a day after it was trimmed; `null`: it is not there. What is found is as
   * durable as an append that is done, which a batch that `read` gives need not be.
   */
  find(collection: string, batch: string): Promise<number | null>;
  /**
   * Id of the batch whose last operation has this sequence number, also of one that was trimmed, for a day; `null`: there is
   * none, or it is not known any more.
   */
  batchAt(collection: string, sequence: number): Promise<string | null>;
  /** `null`: the log has everything. */
  checkpoint(collection: string): Promise<Checkpoint | null>;
  /**
   * Forgets batches up to a checkpoint, which takes the place of the one before. `moved`: that is as new, or this is of no
   * state of the log; nothing has changed then.
   */
  trim(collection: string, checkpoint: Checkpoint): Promise<"done" | "moved">;
  /**
   * Removes what servers that died have left: logs that nobody appended to for an hour and whose collection is gone, logs of
   * checkpoints that are of no collection for a day, and what lies there of logs that were dropped.
   *
   * @param absentOf Those of some ids that no collection has.
   */
  sweep(absentOf: (ids: readonly string[]) => Promise<readonly string[]>): Promise<void>;
  close(): Promise<void>;
}

export class LogTrimmed extends Error {
  override readonly name = "LogTrimmed";

  constructor() {
    super("the log was trimmed while it was read");
  }
}

/** What a server has of a log is of no state of it any more, and has to be read anew. */
export class ViewVoid extends SheafError {
  constructor() {
    super("unavailable", "the records on this server are being read anew", { retryAfterSeconds: 1 });
    this.name = "ViewVoid";
  }
}

/** Of the bodies in one log. */
export const MAX_LOG_BYTES = 1024 * 1024 * 1024;

/** Of every log of a checkpoint: what is in it does not depend on the collection's. */
export const CHECKPOINT_EPOCH = "checkpoint";

/**
 * A name for the log of a checkpoint; ids of collections have no slash. It says into how many parts its batches are divided: those
 * of programs of before never are.
 */
export function newCheckpointLog(collection: string, partitions = 1): string {
  return `${collection}/${randomUUID()}${partitions === 1 ? "" : `/${partitions}`}`;
}

/** For a copy of the log of a checkpoint, of another collection. */
export function copiedCheckpointLog(checkpointLog: string, collection: string): string {
  return newCheckpointLog(collection, partitionsOfLog(checkpointLog));
}

/** Of the log of a checkpoint. */
export function partitionsOfLog(checkpointLog: string): number {
  return Number(checkpointLog.split("/")[2] ?? 1);
}

/** Before the first batch. */
export function firstHead(epoch: string): LogHead {
  return { epoch, sequence: 0, batch: "" };
}

export function isSameHead(one: LogHead, other: LogHead): boolean {
  return one.epoch === other.epoch && one.sequence === other.sequence && one.batch === other.batch;
}

/** After an append to a log with this epoch. */
export function headAfter(epoch: string, batches: readonly LogBatch[]): LogHead {
  const { id, sequence } = batches.at(-1)!;
  return { epoch, sequence, batch: id };
}

export function bytesOf(batches: readonly LogBatch[]): number {
  return batches.reduce((sum, { parts }) => parts.reduce((bytes, { body }) => bytes + body.length, sum), 0);
}
