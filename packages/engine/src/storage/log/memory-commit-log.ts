/** Logs in memory: for tests, and as the plain meaning of the seam. */
import {
  type AppendOutcome,
  type Checkpoint,
  type CommitLog,
  EVERY_PARTITION,
  type FoundHead,
  type LogAppend,
  type LogBatch,
  type LogCopy,
  type LogHead,
  type LogOwner,
  type LogPart,
  type LogSizes,
  LogTrimmed,
  bytesOf,
  copiedCheckpointLog,
  firstHead,
  headAfter,
  isSameHead,
} from "./commit-log.ts";
import { NO_USAGE, type Usage, fits, sumOf } from "../usage.ts";
import { isRecordFile } from "./checkpoint-files.ts";

interface Log {
  head: FoundHead;
  /** The state that the oldest batch follows. */
  trimmed: LogHead;
  checkpoint: Checkpoint | null;
  batches: readonly LogBatch[];
  readonly owner: string | null;
  usage: Usage | null;
  /** Of all batches, also of those that were trimmed. */
  readonly sequences: Map<string, number>;
}

export class MemoryCommitLog implements CommitLog {
  readonly #maxBytes: number;
  readonly #logs = new Map<string, Log>();

  /** @param maxBytes Of the bodies in one log. */
  constructor(maxBytes = Infinity) {
    this.#maxBytes = maxBytes;
  }

  async create(
    collection: string,
    { epoch, state, owner }: Pick<FoundHead, "epoch" | "state"> & { readonly owner?: string },
  ): Promise<"done" | "exists"> {
    if (this.#logs.has(collection)) return "exists";
    const head = firstHead(epoch);
    const log = {
      head: { ...head, state: Buffer.from(state) },
      ...{ trimmed: head, checkpoint: null },
      batches: [],
      ...{ owner: owner ?? null, usage: NO_USAGE },
      sequences: new Map(),
    };
    this.#logs.set(collection, log);
    return "done";
  }

  async copy(from: string, { collection, epoch, quota }: LogCopy): Promise<"done" | "gone" | "over"> {
    const source = this.#logs.get(from);
    if (this.#logs.has(collection)) return "done";
    if (source === undefined) return "gone";
    const { head, trimmed, batches, sequences, owner, usage } = source;
    if (quota !== undefined && !this.#fits(quota, usage ?? NO_USAGE)) return "over";
    const checkpoint = this.#copyCheckpoint(source.checkpoint, { collection, epoch });
    this.#logs.set(collection, {
      head: { ...head, epoch },
      ...{ trimmed: { ...trimmed, epoch }, checkpoint },
      batches,
      ...{ owner, usage },
      sequences: new Map(sequences),
    });
    return "done";
  }

  async drop(collection: string): Promise<void> {
    const log = this.#logs.get(collection)?.checkpoint?.place;
    this.#logs.delete(collection);
    if (log !== undefined) this.#logs.delete(log);
  }

  async heads(collections: readonly string[]): Promise<readonly ((FoundHead & LogSizes) | null)[]> {
    return collections.map((collection) => {
      const log = this.#logs.get(collection);
      if (log === undefined) return null;
      const sizes = { bytes: bytesOf(log.batches), checkpointBytes: log.checkpoint?.bytes ?? 0 };
      return { ...log.head, ...sizes, usage: log.usage };
    });
  }

  async append(collection: string, from: LogHead, append: LogAppend): Promise<AppendOutcome> {
    const { batches, state, usage = NO_USAGE, quota, unbounded = false } = append;
    const log = this.#logs.get(collection);
    if (log === undefined || log.head.epoch !== from.epoch) return "gone";
    if (!isSameHead(log.head, from) || batches.some(({ id }) => log.sequences.has(id))) return "moved";
    if (!unbounded && bytesOf(log.batches) + bytesOf(batches) > this.#maxBytes) return "full";
    if (quota !== undefined && !this.#fits(quota, usage)) return "over";
    log.usage = log.usage && sumOf(log.usage, usage);
    log.batches = [...log.batches, ...batches.map(copyOf)];
    for (const { id, sequence } of batches) log.sequences.set(id, sequence);
    log.head = { ...headAfter(from.epoch, batches), state: Buffer.from(state) };
    return "done";
  }

  async read(
    collection: string,
    after: LogHead,
    partition?: number,
  ): Promise<AsyncIterable<LogBatch> | "trimmed"> {
    const log = this.#logs.get(collection);
    if (log === undefined || log.head.epoch !== after.epoch) return "trimmed";
    const isKnown = log.batches.some(({ id, sequence }) => id === after.batch && sequence === after.sequence);
    return isKnown || isSameHead(log.trimmed, after)
      ? this.#readAfter(log, after.sequence, partition)
      : "trimmed";
  }

  #copyCheckpoint(
    checkpoint: Checkpoint | null,
    { collection, epoch }: { readonly collection: string; readonly epoch: string },
  ): Checkpoint | null {
    if (checkpoint !== null && isRecordFile(checkpoint.place)) return { ...checkpoint, epoch };
    const log = checkpoint === null ? undefined : this.#logs.get(checkpoint.place);
    if (checkpoint === null || log === undefined) return null;
    const name = copiedCheckpointLog(checkpoint.place, collection);
    this.#logs.set(name, log);
    return { ...checkpoint, epoch, place: name };
  }

  async *#readAfter(log: Log, from: number, wanted: number | undefined): AsyncGenerator<LogBatch> {
    const isWanted = ({ partition }: LogPart): boolean =>
      wanted === undefined || partition === wanted || partition === EVERY_PARTITION;
    for (let after = from; ;) {
      if (after < log.trimmed.sequence) throw new LogTrimmed();
      const next = log.batches.find(({ sequence }) => sequence > after);
      if (next === undefined) return;
      yield { ...next, parts: next.parts.filter(isWanted) };
      after = next.sequence;
    }
  }

  async usageOf(owner: string): Promise<Usage> {
    const logs = [...this.#logs.values()].filter((log) => log.owner === owner);
    return logs.reduce((sum, { usage }) => sumOf(sum, usage ?? NO_USAGE), NO_USAGE);
  }

  async count(collection: string, head: LogHead, _owner: string, usage: Usage): Promise<void> {
    const log = this.#logs.get(collection);
    if (log?.usage === null && isSameHead(log.head, head)) log.usage = usage;
  }

  #fits({ owner, most }: LogOwner, more: Usage): boolean {
    let kept = NO_USAGE;
    for (const log of this.#logs.values()) if (log.owner === owner) kept = sumOf(kept, log.usage ?? NO_USAGE);
    return fits(more, kept, most);
  }

  async find(collection: string, batch: string): Promise<number | null> {
    return this.#logs.get(collection)?.sequences.get(batch) ?? null;
  }

  async batchAt(collection: string, sequence: number): Promise<string | null> {
    const known = [...(this.#logs.get(collection)?.sequences ?? [])];
    return known.find(([, each]) => each === sequence)?.[0] ?? null;
  }

  async checkpoint(collection: string): Promise<Checkpoint | null> {
    return this.#logs.get(collection)?.checkpoint ?? null;
  }

  async trim(collection: string, checkpoint: Checkpoint): Promise<"done" | "moved"> {
    const log = this.#logs.get(collection);
    const { epoch, sequence, batch } = checkpoint;
    const isState = log?.batches.some((one) => one.sequence === sequence && one.id === batch) === true;
    if (log === undefined || log.head.epoch !== epoch || !isState) return "moved";
    log.batches = log.batches.filter((one) => one.sequence > sequence);
    log.trimmed = { epoch, sequence, batch };
    if (log.checkpoint !== null) this.#logs.delete(log.checkpoint.place);
    log.checkpoint = checkpoint;
    return "done";
  }

  async sweep(): Promise<void> {}

  async close(): Promise<void> {}
}

function copyOf({ id, sequence, parts }: LogBatch): LogBatch {
  return {
    id,
    sequence,
    parts: parts.map(({ partition, body }) => ({ partition, body: Buffer.from(body) })),
  };
}
