/**
 * A few worker threads that share large scans. A scan is cut into tasks of whole segments, which idle workers take in
 * turn; an abort empties the queue of the scan's tasks and stops the running ones within a slice. Workers start when
 * there is work and leave when there has been none for a while, so that they hold no memory of dropped collections.
 */
import { availableParallelism } from "node:os";
import type { Worker } from "node:worker_threads";
import { siblingModule, spawnWorker } from "@sheaf/process";
import { type CancelSignal, SheafError, throwIfAborted } from "@sheaf/protocol";
import { type DenseScan, type SegmentScan, scanWork } from "../segment/dense-scan.ts";
import type { ScanReply, ScanTask } from "./scan.worker.ts";
import { SideThread } from "./side-thread.ts";
import { type Nearest, TopK } from "../segment/top-k.ts";

export interface ScanPool {
  /** The `scan.k` nearest rows, best first. */
  scan(scan: DenseScan, signal?: CancelSignal): Promise<Nearest>;
  /** For sparse leaves beside others; `null`: there is none. */
  readonly sideThread: SideThread | null;
  close(): Promise<void>;
}

export interface ScanPoolOptions {
  /** At most so many workers; by default one less than there are cores, but one. */
  readonly threads?: number;
}

/** Multiplications below which a task is not cut further: some milliseconds. */
const TASK_WORK = 2 ** 22;
const IDLE_MS = 10_000;

interface QueuedTask extends Pick<ScanTask, "scan" | "stop"> {
  readonly resolve: (reply: ScanReply) => void;
  readonly reject: (error: Error) => void;
}

export function createScanPool(options: ScanPoolOptions = {}): ScanPool {
  return new WorkerScanPool(options.threads ?? Math.max(1, availableParallelism() - 1));
}

class WorkerScanPool implements ScanPool {
  readonly sideThread = SideThread.create();
  readonly #threads: number;
  readonly #queue: QueuedTask[] = [];
  readonly #idle: Worker[] = [];
  readonly #busy = new Map<Worker, QueuedTask>();
  /** The shared memory that each worker was sent. */
  readonly #sent = new WeakMap<Worker, WeakSet<ArrayBufferLike>>();
  #idleTimer: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(threads: number) {
    this.#threads = threads;
  }

  async scan(scan: DenseScan, signal?: CancelSignal): Promise<Nearest> {
    throwIfAborted(signal);
    const stop = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const abandon = (): void => this.#abandon(stop);
    signal?.addEventListener("abort", abandon, { once: true });
    try {
      const replies = await Promise.all(
        tasksOf(scan).map((segments) => this.#enqueue({ ...scan, segments }, stop)),
      );
      throwIfAborted(signal);
      const top = new TopK(scan.k);
      for (const reply of replies) if (reply !== null) top.pushAll(reply);
      return top.sorted();
    } finally {
      signal?.removeEventListener("abort", abandon);
      // After a failed task its siblings need not finish.
      abandon();
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const task of this.#queue.splice(0)) task.reject(closedError());
    const workers = [...this.#idle, ...this.#busy.keys()];
    await Promise.all([this.sideThread?.close(), ...workers.map((worker) => worker.terminate())]);
    if (this.#idleTimer !== null) clearTimeout(this.#idleTimer);
  }

  #enqueue(scan: DenseScan, stop: Int32Array): Promise<ScanReply> {
    if (this.#closed) return Promise.reject(closedError());
    return new Promise((resolve, reject) => {
      this.#queue.push({ scan, stop, resolve, reject });
      this.#dispatch();
    });
  }

  #abandon(stop: Int32Array): void {
    Atomics.store(stop, 0, 1);
    for (let i = this.#queue.length - 1; i >= 0; i--) {
      if (this.#queue[i]!.stop === stop) this.#queue.splice(i, 1)[0]!.resolve(null);
    }
  }

  #dispatch(): void {
    while (this.#queue.length > 0) {
      const worker = this.#idle.pop() ?? (this.#busy.size < this.#threads ? this.#start() : null);
      if (worker === null) return;
      const task = this.#queue.shift()!;
      this.#busy.set(worker, task);
      // A running scan keeps the process alive, an idle worker does not.
      worker.ref();
      const { scan, stop } = task;
      worker.postMessage({ scan, stop, newBytes: this.#newBytes(worker, scan) } satisfies ScanTask, []);
    }
  }

  #start(): Worker {
    const worker = spawnWorker(siblingModule(import.meta.url, "./scan.worker"), null);
    let failure: Error | null = null;
    worker.on("message", (reply: ScanReply) => {
      const task = this.#busy.get(worker);
      this.#busy.delete(worker);
      worker.unref();
      this.#idle.push(worker);
      task?.resolve(reply);
      this.#dispatch();
      this.#retireLater();
    });
    worker.on("error", (error: Error) => {
      failure = error;
    });
    worker.on("exit", () => {
      const index = this.#idle.indexOf(worker);
      if (index !== -1) this.#idle.splice(index, 1);
      const task = this.#busy.get(worker);
      this.#busy.delete(worker);
      task?.reject(this.#closed ? closedError() : diedError(failure));
      this.#dispatch();
    });
    return worker;
  }

  /** Bytes of the scan's shared memory that go to the worker for the first time. */
  #newBytes(worker: Worker, { segments }: DenseScan): number {
    const sent = this.#sent.get(worker) ?? new WeakSet();
    this.#sent.set(worker, sent);
    let bytes = 0;
    for (const { buffer } of segments.flatMap(({ vectors, offsets }) => [vectors, offsets])) {
      if (sent.has(buffer)) continue;
      sent.add(buffer);
      bytes += buffer.byteLength;
    }
    return bytes;
  }

  #retireLater(): void {
    if (this.#idleTimer !== null) clearTimeout(this.#idleTimer);
    this.#idleTimer = setTimeout(() => {
      for (const worker of this.#idle.splice(0)) void worker.terminate();
    }, IDLE_MS).unref();
  }
}

/** Consecutive segments of at least `TASK_WORK` each, but for the last. */
function tasksOf(scan: DenseScan): SegmentScan[][] {
  const tasks: SegmentScan[][] = [];
  let task: SegmentScan[] = [];
  let work = 0;
  for (const segment of scan.segments) {
    task.push(segment);
    work += scanWork({ ...scan, segments: [segment] });
    if (work < TASK_WORK) continue;
    tasks.push(task);
    task = [];
    work = 0;
  }
  if (task.length > 0) tasks.push(task);
  return tasks;
}

function closedError(): SheafError {
  return new SheafError("unavailable", "the engine is closing");
}

function diedError(cause: Error | null): SheafError {
  return new SheafError("unavailable", "a scan worker died; try again", { retryAfterSeconds: 1, cause });
}
