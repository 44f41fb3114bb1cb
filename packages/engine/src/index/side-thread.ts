/**
 * A thread that searches packed sparse lists while its owner does something else. It shares the memory of the blocks
 * and is told of work by one word that it sleeps on: a message would take as long as the work. It starts with the first
 * work there could be, and leaves when there has been none for a while.
 */
import { availableParallelism } from "node:os";
import type { Worker } from "node:worker_threads";
import { siblingModule, spawnWorker } from "@sheaf/process";
import type { SharedBlock, SparseBlock } from "../segment/postings/sparse-block.ts";
import type { SparseSeat } from "../segment/postings/sparse-seat.ts";

export interface SideThreadData {
  /** Of the process, from 1. */
  readonly number: number;
  /** One word that counts up whenever there may be something to do. */
  readonly bell: Int32Array;
  /** It leaves after so long without work. */
  readonly idleMs: number;
}

/** New blocks to work in. */
export type SideThreadMessage = readonly SharedBlock[];

interface Thread {
  readonly worker: Worker;
  readonly data: SideThreadData;
  /** Blocks that it was told of. */
  readonly invited: WeakSet<SparseBlock>;
}

const IDLE_MS = 10_000;

let started = 0;

export class SideThread {
  readonly #idleMs: number;
  #thread: Thread | null = null;
  #isClosed = false;

  constructor({ idleMs = IDLE_MS }: { readonly idleMs?: number } = {}) {
    this.#idleMs = idleMs;
  }

  /** `null` on a machine without a core for it. */
  static create(): SideThread | null {
    return availableParallelism() > 1 ? new SideThread() : null;
  }

  /** Where it works now, `null` for a block where it does not; it soon will in those that are shared with it. */
  ready(blocks: readonly SparseBlock[]): (SparseSeat | null)[] {
    const strangers: SharedBlock[] = [];
    const seats = blocks.map((block) => {
      const { seat, shared } = block;
      if (seat === null || shared === null || seat.isClosed || this.#isClosed) return null;
      const { data, invited } = (this.#thread ??= this.#start());
      if (!invited.has(block)) strangers.push(shared);
      invited.add(block);
      return seat.thread === data.number ? seat : null;
    });
    if (strangers.length > 0) {
      this.#thread?.worker.postMessage(strangers satisfies SideThreadMessage, []);
      this.ring();
    }
    return seats;
  }

  /** There is something to do. */
  ring(): void {
    const bell = this.#thread?.data.bell;
    if (bell === undefined) return;
    Atomics.add(bell, 0, 1);
    Atomics.notify(bell, 0);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#thread?.worker.terminate();
  }

  #start(): Thread {
    const bell = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const data: SideThreadData = { number: ++started, bell, idleMs: this.#idleMs };
    const worker = spawnWorker(siblingModule(import.meta.url, "./side-thread.worker"), data);
    worker.unref();
    // What it had begun is done by its owner, which does not wait for long, as is everything from then on.
    worker.on("error", () => {
      this.#isClosed = true;
    });
    worker.on("exit", () => {
      this.#thread = null;
    });
    return { worker, data, invited: new WeakSet() };
  }
}
