/**
 * Logs in PostgreSQL. An append is one statement, which compares and sets the head and inserts the rows; two that were planned
 * on one head meet at the head's row, and the second finds it changed.
 */
import { setTimeout as sleep } from "node:timers/promises";
import {
  type AppendOutcome,
  type Checkpoint,
  type CommitLog,
  type FoundHead,
  type LogAppend,
  type LogBatch,
  type LogCopy,
  type LogHead,
  type LogPart,
  type LogSizes,
  LogTrimmed,
  MAX_LOG_BYTES,
  bytesOf,
  copiedCheckpointLog,
  headAfter,
  isSameHead,
  CHECKPOINT_EPOCH,
} from "../log/commit-log.ts";
import { NO_USAGE, type Usage, isBounded } from "../usage.ts";
import { checkpointOwner, isLogOfRecords, isRecordFile } from "../log/checkpoint-files.ts";
import { AppendMeter } from "../log/append-meter.ts";
import { columnsOf } from "./log-columns.ts";
import { LogOwners } from "./log-owners.ts";
import type { Connection, PostgresDatabase, Row, Verdict } from "./postgres-database.ts";
import { CommitUnknown, isDuplicate } from "./postgres-errors.ts";

/** Of one answer, so at most 16 MiB. */
const PAGE_ROWS = 32;
/** Between two steps of a drop: what others do comes first. */
const STEP_PAUSE_MS = 1;
/** A log that is trimmed while it is copied is copied again. */
const MOST_COPIES = 8;

export class PostgresCommitLog implements CommitLog {
  readonly meter = new AppendMeter();
  readonly #database: PostgresDatabase;
  readonly #owners: LogOwners;
  readonly #maxBytes: number;

  /**
   * @param database Closed with this.
   * @param maxBytes Of the bodies in one log.
   */
  constructor(database: PostgresDatabase, maxBytes = MAX_LOG_BYTES) {
    this.#database = database;
    this.#owners = new LogOwners(database);
    this.#maxBytes = maxBytes;
  }

  async create(
    collection: string,
    { epoch, state, owner }: Parameters<CommitLog["create"]>[1],
  ): Promise<"done" | "exists"> {
    const values = [collection, epoch, Buffer.from(state), owner ?? null];
    const rows = await this.#change(this.#sql.create, values);
    return rows.length > 0 ? "done" : "exists";
  }

  /** One transaction of several statements, for a log may be large. */
  async copy(from: string, to: LogCopy): Promise<"done" | "gone" | "over"> {
    if (to.quota !== undefined && isBounded(to.quota.most)) await this.#owners.ensure(to.quota.owner);
    for (let attempt = 0; attempt < MOST_COPIES; attempt++) {
      const outcome = await this.#database.retry(() =>
        this.#database.transact((connection) => this.#copy(connection, from, to)),
      );
      if (outcome !== "trimmed") return outcome;
    }
    return "gone";
  }

  async #copy(
    { query }: Connection,
    from: string,
    { collection, epoch, quota }: LogCopy,
  ): Promise<Verdict<"done" | "gone" | "over" | "trimmed">> {
    const { copySource, copyBatches, copyHead } = this.#sql;
    const { lockSource, copy, copyRefs } = this.#database.statements.manifests;
    if ((await query(copySource, [collection])).length > 0) return { commit: false, value: "done" };
    const owner = (await query(copySource, [from]))[0]?.["owner"];
    const add = await this.#owners.lock({ query }, owner);
    await query(lockSource, [from]);
    const [source] = await query(copySource, [from]);
    if (source === undefined) return { commit: false, value: "gone" };
    const { kept_records: records, kept_bytes: keptBytes } = source;
    if (!(await add(usageOf(records, keptBytes), quota?.most))) return { commit: false, value: "over" };
    const { seq, batch, state, trimmed_seq: trimmed, checkpoint_bytes: bytes } = source;
    const checkpoint = await this.#copyCheckpoint({ query }, source["checkpoint"], collection);
    await this.#copyBodies({ query }, { from, to: collection, after: trimmed, until: seq });
    await query(copyBatches, [from, collection, seq]);
    await query(copy, [from, collection, epoch]);
    await query(copyRefs, [from, collection]);
    await query(copyRefs, [checkpointOwner(from), checkpointOwner(collection)]);
    const values = [
      from,
      collection,
      epoch,
      seq,
      batch,
      state,
      trimmed,
      checkpoint,
      bytes,
      records,
      keptBytes,
    ];
    const isDone = (await query(copyHead, values)).length > 0;
    return { commit: isDone, value: isDone ? "done" : "trimmed" };
  }

  async #copyCheckpoint({ query }: Connection, from: unknown, collection: string): Promise<string | null> {
    if (!isLogOfRecords(from)) return typeof from === "string" ? from : null;
    const { copySource, copyHead } = this.#sql;
    const [source] = await query(copySource, [from]);
    // Replaced since it was named, which the copy of the head finds out.
    if (source === undefined) return null;
    const { seq, batch, state, trimmed_seq: trimmed } = source;
    const to = copiedCheckpointLog(from, collection);
    await this.#copyBodies({ query }, { from, to, after: trimmed, until: seq });
    await query(copyHead, [from, to, CHECKPOINT_EPOCH, seq, batch, state, trimmed, null, 0, null, null]);
    return to;
  }

  async #copyBodies({ query }: Connection, { from, to, after, until }: CopiedRows): Promise<void> {
    for (let cursor: unknown[] = [after, MAX_INT, MAX_INT]; ;) {
      const [row] = await query(this.#sql.copyBodies, [from, to, ...cursor, until]);
      if (row === undefined) return;
      cursor = [row["seq"], row["part"], row["chunk"]];
    }
  }

  async drop(collection: string): Promise<void> {
    const [dropped] = await this.#change(this.#sql.dropHead, [collection]);
    const checkpoint = dropped?.["checkpoint"];
    if (isLogOfRecords(checkpoint)) await this.drop(checkpoint);
    for (const statement of [this.#sql.dropBodies, this.#sql.dropBatches])
      while ((await this.#change(statement, [collection])).length > 0) await sleep(STEP_PAUSE_MS);
    const { remove, removeRefs } = this.#database.statements.manifests;
    // A checkpoint that was written meanwhile has its reference, which the statement that dropped the head did not see.
    for (const owner of [checkpointOwner(collection), collection])
      await this.#change(removeRefs, [owner, []]);
    // Last: a sweep finds by it what a server that dies here has left.
    await this.#change(remove, [collection]);
  }

  async heads(collections: readonly string[]): Promise<readonly ((FoundHead & LogSizes) | null)[]> {
    const rows = await this.#database.read(this.#sql.heads, [[...collections]]);
    const found = new Map(rows.map((row) => [row["collection"], headOf(row)]));
    return collections.map((collection) => found.get(collection) ?? null);
  }

  async append(collection: string, from: LogHead, append: LogAppend): Promise<AppendOutcome> {
    const { batches, state, usage = NO_USAGE, quota, unbounded = false } = append;
    const most = unbounded ? Number.MAX_SAFE_INTEGER : this.#maxBytes;
    const to = headAfter(from.epoch, batches);
    const values = [
      ...[collection, from.epoch, from.sequence, from.batch],
      ...[to.sequence, to.batch, Buffer.from(state), bytesOf(batches), most],
      ...[batches.map(({ id }) => id), batches.map(({ sequence }) => sequence)],
      ...columnsOf(from.sequence, batches),
      ...[quota?.owner ?? null, usage.records, usage.bytes],
      ...[quota?.most.records || null, quota?.most.bytes || null],
    ];
    const attempt = async (): Promise<AppendOutcome> => {
      try {
        const [row] = await this.#database.change(this.#sql.append, values);
        return Number(row?.["moved"]) > 0 ? "done" : await this.#refusal(collection, from, append);
      } catch (error) {
        if (error instanceof CommitUnknown) return "unknown";
        if (isDuplicate(error)) return "moved";
        throw error;
      }
    };
    return this.meter.measure(() => this.#database.retry(attempt));
  }

  usageOf(owner: string): Promise<Usage> {
    return this.#owners.usageOf(owner);
  }

  async count(collection: string, head: LogHead, owner: string, usage: Usage): Promise<void> {
    const { epoch, sequence, batch } = head;
    const { records, bytes } = usage;
    await this.#change(this.#sql.countHead, [collection, epoch, sequence, batch, owner, records, bytes]);
  }

  async read(
    ...[collection, after, partition]: Parameters<CommitLog["read"]>
  ): ReturnType<CommitLog["read"]> {
    const values = [collection, after.epoch, after.sequence, after.batch];
    const isState = (await this.#database.read(this.#sql.isState, values)).length > 0;
    return isState ? this.#readAfter(collection, after.sequence, partition) : "trimmed";
  }

  async find(collection: string, batch: string): Promise<number | null> {
    const [row] = await this.#change(this.#sql.find, [collection, batch]);
    return row === undefined ? null : Number(row["seq"]);
  }

  async batchAt(collection: string, sequence: number): Promise<string | null> {
    const [row] = await this.#database.read(this.#sql.batchAt, [collection, sequence]);
    return (row?.["batch"] as string | null | undefined) ?? null;
  }

  async checkpoint(collection: string): Promise<Checkpoint | null> {
    const [row] = await this.#database.read(this.#sql.checkpoint, [collection]);
    if (row === undefined) return null;
    const { epoch, batch, checkpoint: place } = row as Readonly<Record<string, string>>;
    const [sequence, bytes] = [Number(row["seq"]), Number(row["checkpoint_bytes"])];
    return { epoch: epoch!, sequence, batch: batch!, place: place!, bytes };
  }

  /** The head says first what is gone; rows go behind, also those that an earlier trim did not come to. */
  async trim(collection: string, checkpoint: Checkpoint): Promise<"done" | "moved"> {
    const { trimBodies, trimBatches } = this.#sql;
    const { sequence } = checkpoint;
    const replaced = await this.#database.retry(() =>
      this.#database.transact((connection) => this.#trimHead(connection, collection, checkpoint)),
    );
    if (replaced === "moved") return "moved";
    if (replaced !== null) await this.drop(replaced);
    while ((await this.#change(trimBodies, [collection, sequence])).length > 0) await sleep(STEP_PAUSE_MS);
    await this.#change(trimBatches, [collection, sequence]);
    return "done";
  }

  /** The log of the checkpoint that was replaced, if it had one. Done once, however often it is asked for. */
  async #trimHead(
    { query }: Connection,
    collection: string,
    { epoch, sequence, batch, place, bytes }: Checkpoint,
  ): Promise<Verdict<string | null>> {
    const moved = { commit: false, value: "moved" } as const;
    const { lockHead, trimHead } = this.#sql;
    const [head] = await query(lockHead, [collection]);
    if (head?.["checkpoint"] === place) return { commit: false, value: null };
    if (head?.["epoch"] !== epoch || Number(head["trimmed_seq"]) >= sequence) return moved;
    if ((await query(trimHead, [collection, sequence, batch, place, bytes])).length === 0) return moved;
    // As a manifest refers to the files of an index.
    const { revive, addRefs, removeRefs } = this.#database.statements.manifests;
    const [owner, files] = [checkpointOwner(collection), isRecordFile(place) ? [place] : []];
    if ((await query(revive, [files])).length < files.length) return moved;
    await query(addRefs, [owner, files]);
    await query(removeRefs, [owner, files]);
    const before = head["checkpoint"];
    return { commit: true, value: isLogOfRecords(before) ? before : null };
  }

  async sweep(absentOf: (ids: readonly string[]) => Promise<readonly string[]>): Promise<void> {
    const { lostCheckpoints, oldHeads, lostBodies, lostBatches } = this.#sql;
    const collectionsOf = async (text: string, values: readonly unknown[] = []): Promise<string[]> =>
      (await this.#database.read(text, values)).map((row) => String(row["collection"]));
    for (let ids = await collectionsOf(oldHeads, [""]); ids.length > 0;) {
      for (const id of await absentOf(ids)) await this.drop(id);
      ids = await collectionsOf(oldHeads, [ids.at(-1)]);
    }
    for (const lost of [lostCheckpoints, lostBodies, lostBatches])
      for (const id of await collectionsOf(lost)) await this.drop(id);
  }

  close(): Promise<void> {
    return this.#database.close();
  }

  get #sql(): PostgresDatabase["statements"]["log"] {
    return this.#database.statements.log;
  }

  /** For what may be done twice. */
  #change(text: string, values: readonly unknown[]): Promise<readonly Row[]> {
    return this.#database.retry(() => this.#database.change(text, values));
  }

  async #refusal(collection: string, from: LogHead, append: LogAppend): Promise<AppendOutcome> {
    const { batches, quota, unbounded = false } = append;
    const [head] = await this.heads([collection]);
    if (head?.epoch !== from.epoch) return "gone";
    if (!isSameHead(head, from)) return "moved";
    if (!unbounded && head.bytes + bytesOf(batches) > this.#maxBytes) return "full";
    if (quota === undefined || !isBounded(quota.most)) return "moved";
    // The first write of an owner who is to be counted from now on.
    return (await this.#owners.ensure(quota.owner)) ? "moved" : "over";
  }

  async *#readAfter(collection: string, from: number, partition?: number): AsyncGenerator<LogBatch> {
    const page = partition === undefined ? this.#sql.page : this.#sql.pageOfPartition;
    const wanted = partition === undefined ? [] : [partition];
    let cursor: readonly [sequence: number, part: number, chunk: number] = [from, MAX_INT, MAX_INT];
    let last = from;
    let open: OpenBatch | null = null;
    for (;;) {
      const rows = await this.#database.read(page, [collection, ...cursor, PAGE_ROWS, ...wanted]);
      if (open !== null) await this.#requireKept(collection, last);
      for (const row of rows.map(rowOf)) {
        if (open !== null && open.sequence !== row.sequence) {
          yield whole(open);
          last = open.sequence;
          open = null;
        }
        // What lies between was trimmed, or the first rows of this one.
        if (open === null && (row.previous !== last || row.part + row.chunk > 0)) throw new LogTrimmed();
        open ??= { id: row.batch, sequence: row.sequence, parts: [] };
        if (row.chunk === 0) open.parts.push({ partition: row.partition, chunks: [] });
        open.parts.at(-1)!.chunks.push(row.body);
        cursor = [row.sequence, row.part, row.chunk];
      }
      if (rows.length === PAGE_ROWS) continue;
      await this.#requireKept(collection, last);
      if (open !== null) yield whole(open);
      return;
    }
  }

  /** A batch is inserted whole; only trimming can have taken the rest of it, which the head says before rows go. */
  async #requireKept(collection: string, before: number): Promise<void> {
    const [head] = await this.#database.read(this.#sql.trimmed, [collection]);
    if (head === undefined || Number(head["trimmed_seq"]) > before) throw new LogTrimmed();
  }
}

const MAX_INT = 2 ** 31 - 1;

/** Rows of a log, by their sequence numbers. */
interface CopiedRows {
  readonly from: string;
  readonly to: string;
  readonly after: unknown;
  readonly until: unknown;
}

interface OpenBatch {
  readonly id: string;
  readonly sequence: number;
  readonly parts: { readonly partition: number; readonly chunks: Buffer[] }[];
}

function whole({ id, sequence, parts }: OpenBatch): LogBatch {
  return {
    id,
    sequence,
    parts: parts.map(({ partition, chunks }): LogPart => ({ partition, body: bodyOf(chunks) })),
  };
}

function bodyOf(chunks: readonly Buffer[]): Buffer {
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}

function headOf(row: Row): FoundHead & LogSizes {
  const { epoch, batch, state } = row as Readonly<Record<string, string>> & { readonly state: Buffer };
  const [sequence, bytes] = [Number(row["seq"]), Number(row["bytes"])];
  return {
    epoch: epoch!,
    sequence,
    batch: batch!,
    state,
    bytes,
    checkpointBytes: Number(row["checkpoint_bytes"]),
    usage: row["kept_records"] === null ? null : usageOf(row["kept_records"], row["kept_bytes"]),
  };
}

function usageOf(records: unknown, bytes: unknown): Usage {
  return { records: Number(records), bytes: Number(bytes) };
}

function rowOf(row: Row) {
  const [sequence, previous] = [Number(row["seq"]), Number(row["previous"])];
  const [part, chunk, partition] = [Number(row["part"]), Number(row["chunk"]), Number(row["partition"])];
  return {
    sequence,
    previous,
    part,
    chunk,
    partition,
    batch: String(row["batch"]),
    body: row["body"] as Buffer,
  };
}
