/** Writes checkpoints of one collection beside its writes, one at a time, whenever its log has got large. */
import { Cancellation, SheafError } from "@sheaf/protocol";
import { isCheckpointDue, writeCheckpoint } from "./checkpoint-log.ts";
import type { CheckpointFiles } from "./checkpoint-files.ts";
import type { CommitLog, LogSizes } from "./commit-log.ts";
import type { LogView } from "./logged-record-store.ts";

/** The view as it was at one moment, apart from the one that goes on. */
export interface ViewCopy {
  readonly view: LogView;
  /** Closes and removes it. */
  readonly remove: () => Promise<void>;
}

export interface LogCheckpointsOptions {
  readonly id: string;
  readonly epoch: string;
  readonly log: CommitLog;
  /** Where records are written to; the log's own place where it is left out. */
  readonly files?: CheckpointFiles | undefined;
  readonly copy: () => Promise<ViewCopy>;
  /** Of a log that needs one; the default where it is left out. */
  readonly leastBytes?: number | undefined;
  /** As the log's own; the default where it is left out. */
  readonly maxLogBytes?: number | undefined;
  /** Whether there is another server that writes checkpoints; this one does where that does not. */
  readonly isLeft?: (() => boolean) | undefined;
  /** Told of a checkpoint that was not written. */
  readonly onProblem: (error: unknown) => void;
}

/** After one that failed, or that another server was faster with. */
const PAUSE_MS = 10_000;

export class LogCheckpoints {
  readonly #options: LogCheckpointsOptions;
  readonly #closing = new Cancellation();
  /** `null`: none is being written. Never rejects. */
  #writing: Promise<void> | null = null;
  #notBefore = 0;
  #dueSince: number | null = null;

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

  /** Begins where it is due. */
  consider(sizes: LogSizes): void {
    const { leastBytes, maxLogBytes, isLeft } = this.#options;
    const isDue = isCheckpointDue(sizes, { leastBytes, maxLogBytes, isLeft: isLeft?.() });
    this.#dueSince = isDue ? (this.#dueSince ?? performance.now()) : null;
    if (!isDue) return;
    if (this.#writing !== null || this.#closing.aborted || performance.now() < this.#notBefore) return;
    this.#writing = this.#write().finally(() => (this.#writing = null));
  }

  /** Where one is due, until it is written, by this server or another. Rejects where it is not. */
  async settle(sizes: LogSizes): Promise<void> {
    this.consider(sizes);
    await this.#writing;
    if (this.#dueSince !== null)
      throw new SheafError("unavailable", "the log of the collection could not be trimmed yet");
  }

  /** Breaks off what is under way. */
  async close(): Promise<void> {
    this.#closing.abort(new SheafError("unavailable", "the collection is being closed"));
    await this.#writing;
  }

  async #write(): Promise<void> {
    const { id: collection, epoch, log, files, onProblem } = this.#options;
    try {
      const { view, remove } = await this.#options.copy();
      try {
        const { batch, head } = view;
        const state = { epoch, sequence: head.sequence, batch: batch ?? "" };
        const outcome = await writeCheckpoint({ log, files }, { collection, state }, view, this.#closing);
        this.#dueSince = null;
        if (outcome === "moved") this.#notBefore = performance.now() + PAUSE_MS;
      } finally {
        await remove();
      }
    } catch (error) {
      this.#notBefore = performance.now() + PAUSE_MS;
      if (!this.#closing.aborted) onProblem(error);
    }
  }
}
