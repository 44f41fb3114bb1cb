/** Logs in memory: for tests, and as the plain meaning of the seam. */
import {
  type AppendOutcome,
  type CommitLog,
  type FoundHead,
  type LogAppend,
  type LogBatch,
  type LogHead,
  LogTrimmed,
  bytesOf,
  firstHead,
  headAfter,
  isSameHead,
} from "./commit-log.ts";

interface Log {
  head: FoundHead;
  /** The state that the oldest batch follows. */
  trimmed: LogHead;
  batches: readonly LogBatch[];
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
    { epoch, state }: Pick<FoundHead, "epoch" | "state">,
  ): Promise<"done" | "exists"> {
    if (this.#logs.has(collection)) return "exists";
    const head = firstHead(epoch);
    const log = {
      head: { ...head, state: Buffer.from(state) },
      trimmed: head,
      batches: [],
      sequences: new Map(),
    };
    this.#logs.set(collection, log);
    return "done";
  }

  async copy(
    from: string,
    { collection, epoch }: { readonly collection: string; readonly epoch: string },
  ): Promise<"done" | "gone"> {
    const source = this.#logs.get(from);
    if (this.#logs.has(collection)) return "done";
    if (source === undefined) return "gone";
    const { head, trimmed, batches, sequences } = source;
    this.#logs.set(collection, {
      head: { ...head, epoch },
      trimmed: { ...trimmed, epoch },
      batches,
      sequences: new Map(sequences),
    });
    return "done";
  }

  async drop(collection: string): Promise<void> {
    this.#logs.delete(collection);
  }

  async heads(collections: readonly string[]): Promise<readonly (FoundHead | null)[]> {
    return collections.map((collection) => this.#logs.get(collection)?.head ?? null);
  }

  async append(collection: string, from: LogHead, { batches, state }: LogAppend): Promise<AppendOutcome> {
    const log = this.#logs.get(collection);
    if (log === undefined || log.head.epoch !== from.epoch) return "gone";
    if (!isSameHead(log.head, from) || batches.some(({ id }) => log.sequences.has(id))) return "moved";
    if (bytesOf(log.batches) + bytesOf(batches) > this.#maxBytes) return "full";
    log.batches = [...log.batches, ...batches.map(copyOf)];
    for (const { id, sequence } of batches) log.sequences.set(id, sequence);
    log.head = { ...headAfter(from.epoch, batches), state: Buffer.from(state) };
    return "done";
  }

  async read(collection: string, after: LogHead): Promise<AsyncIterable<LogBatch> | "trimmed"> {
    const log = this.#logs.get(collection);
    if (log === undefined || log.head.epoch !== after.epoch) return "trimmed";
    const isKnown = log.batches.some(({ id, sequence }) => id === after.batch && sequence === after.sequence);
    return isKnown || isSameHead(log.trimmed, after) ? this.#readAfter(log, after.sequence) : "trimmed";
  }

  async *#readAfter(log: Log, from: number): AsyncGenerator<LogBatch> {
    for (let after = from; ;) {
      if (after < log.trimmed.sequence) throw new LogTrimmed();
      const next = log.batches.find(({ sequence }) => sequence > after);
      if (next === undefined) return;
      yield next;
      after = next.sequence;
    }
  }

  async find(collection: string, batch: string): Promise<number | null> {
    return this.#logs.get(collection)?.sequences.get(batch) ?? null;
  }

  async trim(collection: string, sequence: number): Promise<void> {
    const log = this.#logs.get(collection);
    const last = log?.batches.findLast((batch) => batch.sequence <= sequence);
    if (log === undefined || last === undefined) return;
    log.batches = log.batches.filter((batch) => batch.sequence > last.sequence);
    log.trimmed = headAfter(log.head.epoch, [last]);
  }

  async close(): Promise<void> {}
}

function copyOf({ id, sequence, parts }: LogBatch): LogBatch {
  return {
    id,
    sequence,
    parts: parts.map(({ partition, body }) => ({ partition, body: Buffer.from(body) })),
  };
}
