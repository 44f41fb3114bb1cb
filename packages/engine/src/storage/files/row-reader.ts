/**
 * Reads many rows of index files with a thread that holds them to their checksums, which takes most of the time of a read:
 * whoever wants them has only to copy them. The thread starts with the first rows and leaves after a while without; once it
 * has failed, rows are to be read without it.
 */
import type { Worker } from "node:worker_threads";
import { siblingModule, spawnWorker } from "@sheaf/process";
import { SheafError } from "@sheaf/protocol";
import { ROW_CHECKSUM_BYTES, type RowsEntry } from "./footer.ts";
import type { SegmentFile } from "./segment-files.ts";

/** Rows that follow each other in a section, in shared memory; checked in the order in which they come. */
export interface RowsToCheck {
  /** Each with its checksum behind it. The thread leaves them at the start, without checksums. */
  readonly bytes: Uint8Array;
  readonly entry: Pick<RowsEntry, "rowBytes" | "seed">;
  readonly first: number;
}

/** Whether the rows fit their checksums. */
export type RowsReply = boolean;

/** That are read at once, with their checksums: some 0.1 ms of copying. */
export const READ_BYTES = 2 ** 20;
/** Reads at a time: while the rows of some are checked, and this thread is at a search, others are read. */
export const READS_AT_A_TIME = 6;
const IDLE_MS = 10_000;

export class RowReader {
  readonly #idleMs: number;
  #worker: Worker | null = null;
  /** Who waits for a reply, in order; `null` says that there will be none. */
  readonly #asked: ((reply: RowsReply | null) => void)[] = [];
  #buffers: Uint8Array[] = [];
  #idleTimer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor({ idleMs = IDLE_MS }: { readonly idleMs?: number } = {}) {
    this.#idleMs = idleMs;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /**
   * Has `take` copy rows, which are gone afterwards. `false`: they do not fit their checksums. Rejects where they can be
   * neither read nor checked. @param range Rows, end excluded, of at most `READ_BYTES`.
   */
  async read(
    file: SegmentFile,
    entry: RowsEntry,
    [first, end]: readonly [number, number],
    take: (rows: Uint8Array) => void,
  ): Promise<boolean> {
    const stride = entry.rowBytes + ROW_CHECKSUM_BYTES;
    const buffer = this.#buffers.pop() ?? new Uint8Array(new SharedArrayBuffer(READ_BYTES));
    const bytes = buffer.subarray(0, (end - first) * stride);
    await file.read(bytes, entry.offset + first * stride);
    const isSound = await this.#check({ bytes, entry, first });
    if (isSound) take(bytes.subarray(0, (end - first) * entry.rowBytes));
    if (this.#worker !== null && this.#buffers.length < READS_AT_A_TIME) this.#buffers.push(buffer);
    return isSound;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#leave();
  }

  async #check({ bytes, entry: { rowBytes, seed }, first }: RowsToCheck): Promise<boolean> {
    if (this.#isClosed) throw failed();
    clearTimeout(this.#idleTimer);
    this.#worker ??= this.#start();
    this.#worker.postMessage({ bytes, entry: { rowBytes, seed }, first } satisfies RowsToCheck, []);
    const reply = await new Promise<RowsReply | null>((resolve) => this.#asked.push(resolve));
    if (reply === null) throw failed();
    if (this.#asked.length === 0)
      this.#idleTimer = setTimeout(() => void this.#leave(), this.#idleMs).unref();
    return reply;
  }

  #start(): Worker {
    const worker = spawnWorker(siblingModule(import.meta.url, "./row-reader.worker"), null);
    worker.unref();
    worker.on("message", (reply: RowsReply) => this.#asked.shift()?.(reply));
    // Whatever ends it would end the next one, too.
    worker.on("error", () => (this.#isClosed = true));
    worker.on("exit", () => {
      if (this.#worker === worker) this.#worker = null;
      for (const answer of this.#asked.splice(0)) answer(null);
    });
    return worker;
  }

  async #leave(): Promise<void> {
    clearTimeout(this.#idleTimer);
    const worker = this.#worker;
    this.#worker = null;
    this.#buffers = [];
    await worker?.terminate();
  }
}

function failed(): SheafError {
  return new SheafError("unavailable", "the thread that checks rows of index files has ended");
}
