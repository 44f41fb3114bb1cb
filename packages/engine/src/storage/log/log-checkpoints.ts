/**
 * Writes checkpoints of one collection beside its writes, one at a time, whenever its log has got large. A log that nobody
 * writes any more gets one sooner: a server that has nothing of the collection reads all of the log before it answers.
 */
import { type CancelSignal, Cancellation, SheafError } from "@sheaf/protocol";
import type { RecordSource } from "./changed/record-source.ts";
import { isCheckpointDue, isWorthTrimming, writeCheckpoint } from "./checkpoint-log.ts";
import type { CheckpointFiles } from "./checkpoint-files.ts";
import { type CommitLog, type LogSizes, ViewVoid } from "./commit-log.ts";

/** The records as they were at one moment, apart from those that go on. */
export interface RecordsCopy {
  readonly source: RecordSource;
  /** Of the log, that they are of; `null`: of none. */
  readonly batch: string | null;
  /** So many the log has at that state, if that is known. */
  readonly count?: number | undefined;
  /** Closes and removes them. */
  readonly remove: () => Promise<void>;
}

export interface LogCheckpointsOptions {
  readonly id: string;
  readonly epoch: string;
  readonly log: CommitLog;
  /** Where records are written to; the log's own place where it is left out. */
  readonly files?: CheckpointFiles | undefined;
  /** Throws `ViewVoid` where the log was trimmed meanwhile. */
  readonly copy: (signal: CancelSignal) => Promise<RecordsCopy>;
  /** Has the view follow what other servers have written; nobody else writes where it is left out. */
  readonly refresh?: (() => Promise<void>) | undefined;
  /** Of a log that needs one; the default where it is left out. */
  readonly leastBytes?: number | undefined;
  /** As the log's own; the default where it is left out. */
  readonly maxLogBytes?: number | undefined;
  /** Whether there is another server that writes checkpoints; this one does where that does not. */
  readonly isLeft?: (() => boolean) | undefined;
  /** Between two looks, in milliseconds; a log that is the same at both counts as one that nobody writes. */
  readonly quietMs?: number | undefined;
  /** After one that failed, or that another server was faster with; the default where it is left out. */
  readonly pauseMs?: number | undefined;
  /** Few logs of those that nobody writes are trimmed at a time; as many as there are where it is left out. */
  readonly inTurn?: ((work: () => Promise<void>) => Promise<void>) | undefined;
  /** Told of a checkpoint that was not written. */
  readonly onProblem: (error: unknown) => void;
}

/** A copy is of a state that was the newest a moment before. */
const COUNTED_STATES = 256;
/** After one that failed, or that another server was faster with. */
const PAUSE_MS = 10_000;
export const QUIET_MS = 150_000;

export class LogCheckpoints {
  readonly #options: LogCheckpointsOptions;
  readonly #closing = new Cancellation();
  /** `null`: none is being written. Never rejects. */
  #writing: Promise<void> | null = null;
  #notBefore = 0;
  #dueSince: number | null = null;
  /** One was due while none could begin. */
  #isAskedLater = false;
  #later: NodeJS.Timeout | undefined;
  #quiet: NodeJS.Timeout | undefined;
  /** By sequence number, how many records there were, of the newest states of which that is known. */
  readonly #counts = new Map<number, number>();

  constructor(options: LogCheckpointsOptions) {
    this.#options = options;
  }

  get isWriting(): boolean {
    return this.#writing !== null;
  }

  /** For how long one has been due, in milliseconds, as far as writes here have shown; 0: none is. */
  get dueMs(): number {
    return this.#dueSince === null ? 0 : performance.now() - this.#dueSince;
  }

  /** The log had so many records when it came to this sequence number. */
  counted(sequence: number, records: number): void {
    this.#counts.set(sequence, records);
    const [oldest] = this.#counts.keys();
    if (this.#counts.size > COUNTED_STATES) this.#counts.delete(oldest!);
  }

  /** Begins where it is due. */
  consider(sizes: LogSizes): void {
    const { files, leastBytes, maxLogBytes, isLeft } = this.#options;
    if (this.#closing.aborted) return;
    const isDue = isCheckpointDue(sizes, { leastBytes, maxLogBytes, isLeft: isLeft?.() });
    this.#dueSince = isDue ? (this.#dueSince ?? performance.now()) : null;
    if (isDue && !this.#begin()) this.#askLater();
    // Also where one is being written, which will not have all of it.
    if (files !== undefined && isWorthTrimming(sizes, leastBytes)) this.#lookLater(null);
  }

  /** `false`: not now. */
  #begin(): boolean {
    if (this.#writing !== null || this.#closing.aborted || performance.now() < this.#notBefore) return false;
    this.#writing = this.#write().finally(() => {
      this.#writing = null;
      if (this.#isAskedLater) this.#askLater();
    });
    return true;
  }

  /** Perhaps nobody writes any more when the one that is being written, or the pause, has come to its end. */
  #askLater(): void {
    this.#isAskedLater = true;
    if (this.#writing !== null || this.#later !== undefined || this.#closing.aborted) return;
    const ask = (): void => {
      this.#later = undefined;
      this.#isAskedLater = false;
      void this.#askAgain();
    };
    this.#later = setTimeout(ask, Math.max(0, this.#notBefore - performance.now())).unref();
  }

  /** The log has been trimmed meanwhile, perhaps. */
  async #askAgain(): Promise<void> {
    const { id, log } = this.#options;
    // Where it does not answer, the next write asks.
    const [head] = await log.heads([id]).catch(() => []);
    if (head) this.consider(head);
  }

  /** Where one is due, or worth it and `isQuiet`, until it is written, by this server or another. Rejects where it is not. */
  async settle(sizes: LogSizes, isQuiet: boolean): Promise<void> {
    this.consider(sizes);
    if (isQuiet && isWorthTrimming(sizes, this.#options.leastBytes)) this.#dueSince ??= performance.now();
    if (this.#dueSince !== null) this.#begin();
    await this.#writing;
    if (this.#dueSince !== null)
      throw new SheafError("unavailable", "the log of the collection could not be trimmed yet");
  }

  /** Until it is trimmed, by this server or another. `seen`: its sequence number at the last look. */
  #lookLater(seen: number | null): void {
    const { quietMs = QUIET_MS, inTurn = (work) => work() } = this.#options;
    if (this.#quiet !== undefined || this.#closing.aborted) return;
    // Servers that have written together do not look together.
    const look = (): void => void inTurn(() => this.#look(seen));
    this.#quiet = setTimeout(look, quietMs * (1 + Math.random() / 2)).unref();
  }

  async #look(seen: number | null): Promise<void> {
    const { id, log, leastBytes, isLeft, refresh } = this.#options;
    await this.#writing;
    const [head] = await log.heads([id]).catch(() => []);
    this.#quiet = undefined;
    if (head === null || (head && !isWorthTrimming(head, leastBytes))) return;
    if (head?.sequence === seen && isLeft?.() !== true) {
      // Nobody may have read here what others have written last, and an older state is of no use to anybody.
      const hasAll = await Promise.resolve(refresh?.()).then(
        () => true,
        () => false,
      );
      if (hasAll) this.#begin();
    }
    await this.#writing;
    this.#lookLater(head?.sequence ?? seen);
  }

  /** Breaks off what is under way. */
  async close(): Promise<void> {
    clearTimeout(this.#quiet);
    clearTimeout(this.#later);
    this.#closing.abort(new SheafError("unavailable", "the collection is being closed"));
    await this.#writing;
  }

  async #write(): Promise<void> {
    const { pauseMs = PAUSE_MS, onProblem } = this.#options;
    try {
      const outcome = await this.#writeCopy();
      this.#dueSince = null;
      if (outcome === "moved") this.#notBefore = performance.now() + pauseMs;
    } catch (error) {
      this.#notBefore = performance.now() + pauseMs;
      if (!this.#closing.aborted) onProblem(error);
    }
  }

  async #writeCopy(): Promise<"done" | "moved"> {
    const { id: collection, epoch, log, files, copy } = this.#options;
    try {
      const { source, batch, count, remove } = await copy(this.#closing);
      try {
        const { sequence } = source.head;
        const state = { epoch, sequence, batch: batch ?? "" };
        const written = { collection, state, records: count ?? this.#counts.get(sequence) };
        return await writeCheckpoint({ log, files }, written, source, this.#closing);
      } finally {
        await remove();
      }
    } catch (error) {
      // The checkpoint that it was made of has been replaced.
      if (error instanceof ViewVoid) return "moved";
      throw error;
    }
  }
}
