/**
 * Hands the texts of many requests to one model's replicas in small batches of like lengths. Nothing waits for a
 * timer: a replica that becomes idle takes the next batch at once. Requests of few texts have a lane of their own, so
 * that a large ingest cannot hold up a query, and owners share each lane alike. A batch that fails takes down the requests it held texts of, no other.
 */
import assert from "node:assert/strict";
import { SheafError, abortError, throwIfAborted } from "@sheaf/protocol";
import type { EmbedOptions } from "../embedder.ts";
import { Lane, type LaneText } from "./lane.ts";
import { RecentOwners } from "./recent-owners.ts";
import { type BatchPolicy, takeBatch } from "./take-batch.ts";

/** Requests of at most this many texts are interactive. */
const INTERACTIVE_TEXTS = 4;
/** While both lanes wait, interactive texts get four fifths of the padded tokens. */
const INTERACTIVE_WEIGHT = 4;
const BULK_WEIGHT = 1;
/** Padded tokens of a batch while another owner may come: whoever does waits for the batches that run. */
const SHARED_BATCH_TOKENS = 256;
/** An owner that has sent texts may send the next ones for so long. */
const RECENT_MS = 1_000;
/** Weight of the newest batch in the measured speed. */
const RATE_SMOOTHING = 0.2;

/** Runs one batch at a time; `V` is what becomes of a text. */
export interface BatchRunner<V> {
  /** Can run at once, without loading first. */
  readonly ready: boolean;
  /** One result per text, in order. */
  run(batch: readonly Int32Array[]): Promise<readonly V[]>;
}

export interface SchedulerOptions<V> {
  /** Model, for messages. */
  readonly name: string;
  readonly runners: readonly BatchRunner<V>[];
  /** Padded tokens of one batch. */
  readonly batchTokens: number;
  /** Bound of each owner in each lane. */
  readonly queuedTokens: number;
  /** Default `takeBatch`. */
  readonly policy?: BatchPolicy | undefined;
  /** Told of every batch that a loaded runner has answered. */
  readonly onBatch?: ((batch: BatchReport) => void) | undefined;
}

/** What a batch held and took. */
export interface BatchReport {
  /** Model identifier. */
  readonly model: string;
  /** Tokens of each text. */
  readonly lengths: readonly number[];
  readonly elapsedMs: number;
  /** Tokens that wait for the model after it. */
  readonly queuedTokens: number;
}

interface Request<V> {
  readonly lane: Lane<SchedulerText<V>>;
  readonly results: V[];
  remaining: number;
  readonly settle: (error: Error | null) => void;
}

interface SchedulerText<V> extends LaneText {
  readonly request: Request<V>;
  readonly index: number;
}

export class Scheduler<V> {
  readonly #options: SchedulerOptions<V>;
  readonly #interactive: Lane<SchedulerText<V>>;
  readonly #bulk: Lane<SchedulerText<V>>;
  readonly #idle: Set<BatchRunner<V>>;
  readonly #open = new Set<Request<V>>();
  readonly #owners = new RecentOwners(RECENT_MS);
  #clock = 0;
  #batchTokens: number;
  #tokensPerSecond = 0;
  #closed = false;

  constructor(options: SchedulerOptions<V>) {
    this.#options = options;
    this.#batchTokens = options.batchTokens;
    this.#idle = new Set(options.runners);
    const admission = {
      name: `the queue of ${options.name}`,
      unit: "tokens",
      bound: options.queuedTokens,
      rate: () => this.#tokensPerSecond * options.runners.length,
    } as const;
    const policy = options.policy ?? takeBatch;
    this.#interactive = new Lane({ weight: INTERACTIVE_WEIGHT, admission, policy });
    this.#bulk = new Lane({ weight: BULK_WEIGHT, admission, policy });
  }

  /** Padded tokens of the batches from here on. */
  setBatchTokens(batchTokens: number): void {
    this.#batchTokens = batchTokens;
  }

  /** Tokens that wait, in both lanes. */
  get queuedTokens(): number {
    return this.#interactive.admission.waiting + this.#bulk.admission.waiting;
  }

  /**
   * One result per text, in order. 429 or 503 if the lane is full; an abort drops the texts that still wait.
   */
  submit(texts: readonly Int32Array[], { signal, owner = "" }: EmbedOptions = {}): Promise<readonly V[]> {
    return new Promise((resolve, reject) => {
      throwIfAborted(signal);
      if (this.#closed) throw closedError(this.#options.name);
      if (texts.length === 0) {
        resolve([]);
        return;
      }
      const interactive = texts.length <= INTERACTIVE_TEXTS;
      const lane = interactive ? this.#interactive : this.#bulk;
      const onAbort = (): void => request.settle(signal === undefined ? null : abortError(signal));
      const request: Request<V> = {
        lane,
        results: [],
        remaining: texts.length,
        settle: (error) => {
          if (!this.#open.delete(request)) return;
          signal?.removeEventListener("abort", onAbort);
          if (error === null) {
            resolve(request.results);
            return;
          }
          lane.drop((text) => text.request === request);
          reject(error);
        },
      };
      const queued = texts.map((ids, index) => ({ ids, length: ids.length, owner, request, index }));
      lane.push(queued, this.#clock);
      this.#owners.note(owner, performance.now());
      this.#open.add(request);
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#dispatch();
    });
  }

  /** Refuses what waits and what comes. */
  close(): void {
    this.#closed = true;
    for (const request of this.#open) request.settle(closedError(this.#options.name));
  }

  #dispatch(): void {
    for (;;) {
      const lane = this.#nextLane();
      const runner = this.#nextRunner();
      if (lane === null || runner === null) return;
      this.#idle.delete(runner);
      this.#clock = Math.max(this.#clock, lane.time);
      void this.#run(runner, lane.take(this.#budgetOf(lane)));
    }
  }

  #budgetOf(lane: Lane<SchedulerText<V>>): number {
    const isShared = this.#owners.othersThan(lane.nextOwner, performance.now());
    return isShared ? Math.min(SHARED_BATCH_TOKENS, this.#batchTokens) : this.#batchTokens;
  }

  #nextLane(): Lane<SchedulerText<V>> | null {
    if (this.#interactive.empty) return this.#bulk.empty ? null : this.#bulk;
    if (this.#bulk.empty) return this.#interactive;
    return this.#interactive.time <= this.#bulk.time ? this.#interactive : this.#bulk;
  }

  /** A loaded runner before one that must load first. */
  #nextRunner(): BatchRunner<V> | null {
    const idle = [...this.#idle];
    return idle.find((runner) => runner.ready) ?? idle[0] ?? null;
  }

  async #run(runner: BatchRunner<V>, batch: readonly SchedulerText<V>[]): Promise<void> {
    const wasReady = runner.ready;
    const startedAt = performance.now();
    try {
      const results = await runner.run(batch.map((text) => text.ids));
      assert(results.length === batch.length, "a runner answers every text of its batch");
      if (wasReady) this.#measure(batch, performance.now() - startedAt);
      for (const [position, text] of batch.entries()) deliver(text, results[position] as V);
    } catch (error) {
      for (const text of batch) text.request.settle(error as Error);
    } finally {
      this.#idle.add(runner);
      this.#dispatch();
    }
  }

  #measure(batch: readonly SchedulerText<V>[], elapsedMs: number): void {
    const lengths = batch.map(({ length }) => length);
    this.#options.onBatch?.({
      model: this.#options.name,
      lengths,
      elapsedMs,
      queuedTokens: this.queuedTokens,
    });
    const tokens = lengths.reduce((sum, length) => sum + length, 0);
    const rate = (tokens * 1_000) / Math.max(elapsedMs, 0.1);
    const known = this.#tokensPerSecond;
    this.#tokensPerSecond = known === 0 ? rate : known + RATE_SMOOTHING * (rate - known);
  }
}

function deliver<V>(text: SchedulerText<V>, result: V): void {
  const { request, index } = text;
  request.results[index] = result;
  request.remaining -= 1;
  if (request.remaining === 0) request.settle(null);
}

function closedError(name: string): SheafError {
  return new SheafError("unavailable", `${name} is shutting down`);
}
