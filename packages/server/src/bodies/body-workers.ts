/**
 * Threads that parse large bodies, so that the event loop of the gateway is free meanwhile. Each has one body at a time,
 * which bounds what parsing takes of memory; the others wait, and owners get their turns one after the other.
 *
 * A thread that dies, of a body that needs too much memory say, takes that one request with it and is replaced when it is
 * needed. A request that is aborted while it is parsed ends its thread. Threads without work for a while are ended.
 */
import { availableParallelism } from "node:os";
import type { Worker } from "node:worker_threads";
import { type PackedMessage, siblingModule, spawnWorker, unpackMessage } from "@sheaf/process";
import { type CancelSignal, SheafError, TurnQueue, abortError } from "@sheaf/protocol";
import type { BodyOutcome, BodyTask } from "./body-message.ts";

/** Parsing holds some four bytes for each of a body; more is no ordinary body. */
const HEAP_MEGABYTES = 1_024;
const IDLE_MS = 5_000;

export interface BodyWorkersOptions {
  /** Default: the cores but one, two at most. */
  readonly threads?: number;
  /** Of each thread. Default 1,024. */
  readonly heapMegabytes?: number;
}

export interface BodyJob {
  readonly task: BodyTask;
  /** Whose turn it takes. */
  readonly owner: string;
  readonly signal: CancelSignal;
  /** Told when a thread begins. */
  readonly onBegin?: () => void;
  /** Told how much memory the result is going to take. What it throws is thrown instead of the result. */
  readonly onParsed?: (heapBytes: number) => void;
}

type Packed = Extract<BodyOutcome, { packed: PackedMessage }>;

interface Waiting extends BodyJob {
  readonly resolve: (packed: Packed) => void;
  readonly reject: (error: unknown) => void;
  /** Ends it, wherever it is. */
  onAbort: () => void;
}

export class BodyWorkers {
  readonly #threads: number;
  readonly #heapMegabytes: number;
  readonly #queue = new TurnQueue<Waiting>();
  readonly #idle: BodyThread[] = [];
  readonly #busy = new Set<BodyThread>();
  #closed = false;

  constructor({ threads, heapMegabytes = HEAP_MEGABYTES }: BodyWorkersOptions = {}) {
    this.#heapMegabytes = heapMegabytes;
    this.#threads = threads ?? Math.max(1, Math.min(2, availableParallelism() - 1));
  }

  /** Bodies that wait for a thread. */
  get queued(): number {
    return this.#queue.size;
  }

  /**
   * What the parser of the task gives. Throws as it does, 413 where it needs too much memory, and the signal's reason
   * after an abort. Long typed arrays of the result are views of its packed form.
   */
  async parse(job: BodyJob): Promise<unknown> {
    const { packed, heapBytes } = await this.#packed(job);
    job.onParsed?.(heapBytes);
    return unpackMessage(packed, job.signal);
  }

  /** What waits is refused. */
  async close(): Promise<void> {
    this.#closed = true;
    const error = new SheafError("unavailable", "the server is shutting down");
    for (const { reject } of this.#queue.clear()) reject(error);
    await Promise.all([...this.#idle, ...this.#busy].map((thread) => thread.end(error)));
  }

  #packed(job: BodyJob): Promise<Packed> {
    const { signal, owner } = job;
    if (signal.aborted) return Promise.reject(abortError(signal));
    if (this.#closed) return Promise.reject(new SheafError("unavailable", "the server is shutting down"));
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { ...job, resolve, reject, onAbort: () => this.#drop(waiting) };
      signal.addEventListener("abort", () => waiting.onAbort(), { once: true });
      this.#queue.push(owner, waiting);
      this.#assign();
    });
  }

  #drop(waiting: Waiting): void {
    if (this.#queue.remove(waiting.owner, waiting)) waiting.reject(abortError(waiting.signal));
  }

  #assign(): void {
    while (this.#queue.size > 0 && !this.#closed) {
      const thread =
        this.#idle.pop() ?? (this.#busy.size < this.#threads ? new BodyThread(this.#heapMegabytes) : null);
      if (thread === null) return;
      this.#busy.add(thread);
      void this.#run(thread, this.#queue.shift()!);
    }
  }

  async #run(thread: BodyThread, waiting: Waiting): Promise<void> {
    waiting.onAbort = () => void thread.end(abortError(waiting.signal));
    waiting.onBegin?.();
    try {
      waiting.resolve(await thread.parse(waiting.task));
    } catch (error) {
      waiting.reject(error);
    }
    waiting.onAbort = () => {};
    // Its memory is in use until it has ended; a piece of native code goes on for a while.
    if (thread.ended || this.#closed) await thread.end();
    this.#busy.delete(thread);
    if (!thread.ended) {
      this.#idle.push(thread);
      thread.rest(() => this.#idle.splice(this.#idle.indexOf(thread), 1));
    }
    this.#assign();
  }
}

class BodyThread {
  readonly #worker: Worker;
  #settle: { resolve(packed: Packed): void; reject(error: unknown): void } | null = null;
  #ending: Promise<unknown> | null = null;
  #idleTimer: NodeJS.Timeout | undefined;

  constructor(heapMegabytes: number) {
    const limits = { maxOldGenerationSizeMb: heapMegabytes };
    this.#worker = spawnWorker(siblingModule(import.meta.url, "./body.worker"), null, limits);
    this.#worker.on("message", (outcome: BodyOutcome) => this.#answered(outcome));
    this.#worker.on("error", (error) => void this.end(reasonOf(error)));
    this.#worker.on("exit", () => void this.end());
    // What it works on keeps the process alive by itself.
    this.#worker.unref();
  }

  get ended(): boolean {
    return this.#ending !== null;
  }

  parse(task: BodyTask): Promise<Packed> {
    clearTimeout(this.#idleTimer);
    this.#worker.ref();
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      this.#worker.postMessage(task, [...task.pieces]);
    });
  }

  /** Ends the thread where nothing comes for a while. */
  rest(onEnd: () => void): void {
    this.#worker.unref();
    this.#idleTimer = setTimeout(() => {
      onEnd();
      void this.end();
    }, IDLE_MS).unref();
  }

  /** What it works on fails with the reason. */
  async end(
    reason: unknown = new SheafError("unavailable", "the thread that read the body has ended"),
  ): Promise<void> {
    this.#settle?.reject(reason);
    this.#settle = null;
    clearTimeout(this.#idleTimer);
    this.#ending ??= this.#worker.terminate();
    await this.#ending;
  }

  #answered(outcome: BodyOutcome): void {
    const settle = this.#settle;
    this.#settle = null;
    if ("packed" in outcome) settle?.resolve(outcome);
    else if ("error" in outcome) settle?.reject(SheafError.fromMessage(outcome.error));
    else settle?.reject(new Error(`a body worker failed: ${outcome.fault}`));
  }
}

function reasonOf(error: Error): Error {
  if (!("code" in error) || error.code !== "ERR_WORKER_OUT_OF_MEMORY") return error;
  return new SheafError(
    "too_large",
    "the request body takes more memory than one body may; send less at a time",
    {
      cause: error,
    },
  );
}
