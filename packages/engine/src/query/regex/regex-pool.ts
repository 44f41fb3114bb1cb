/**
 * Threads that run regular expressions, shared by all tenants. Each serves one request at a time and is ended with it
 * where the request is over and the thread is not. Waiting requests take turns by tenant; a tenant has at most a share
 * of the threads and of the queue, so what it does there only makes its own requests wait.
 */
import { availableParallelism } from "node:os";
import { type CancelSignal, LIMITS, SheafError, abortError, invalid, throwIfAborted } from "@sheaf/protocol";
import type { TrigramQuery } from "../../segment/trigrams/trigram-query.ts";
import { RegexThread } from "./regex-thread.ts";

/** The regular expressions of one tenant's requests. */
export interface TenantRegexes {
  /**
   * What every match of each pattern has. `patterns`: pattern -> where it stands in the body. Throws 400 with that path
   * for one that is none or compiles to too much, 429 over the tenant's share of the queue.
   */
  check(
    patterns: ReadonlyMap<string, string>,
    signal: CancelSignal | undefined,
  ): Promise<ReadonlyMap<string, TrigramQuery>>;
  /** Has a thread to itself until `work` settles. Throws 429 over the tenant's share of the queue. */
  run<T>(signal: CancelSignal | undefined, work: (thread: RegexThread) => Promise<T>): Promise<T>;
}

export interface RegexPoolOptions {
  /** At most so many; by default one for each core, but four. */
  readonly threads?: number;
  /** At most so many for one tenant; by default half as many as there are cores. */
  readonly threadsPerTenant?: number;
  /** Idle threads leave after it. */
  readonly idleMs?: number;
}

/** Tenants can keep as many threads busy; a machine of few cores shares them between more of them. */
const LEAST_THREADS = 4;
const IDLE_MS = 60_000;
/** Patterns that are known to compile; the search of one then needs no question before it. */
const KNOWN_PATTERNS = 512;

interface IdleThread {
  readonly thread: RegexThread;
  readonly timer: NodeJS.Timeout;
}

interface WaitingRequest {
  readonly start: (thread: RegexThread) => void;
  readonly fail: (reason: unknown) => void;
}

interface TenantQueue {
  readonly waiting: WaitingRequest[];
  running: number;
}

export class RegexPool {
  readonly #threads: number;
  readonly #threadsPerTenant: number;
  readonly #idleMs: number;
  /** Those with requests; the one whose turn is next comes first. */
  readonly #tenants = new Map<string, TenantQueue>();
  readonly #idle: IdleThread[] = [];
  readonly #busy = new Set<RegexThread>();
  /** Pattern -> what its matches have, the least recently asked first. */
  readonly #known = new Map<string, TrigramQuery>();
  #waiting = 0;
  #endedThreads = 0;
  #isClosed = false;

  constructor(options: RegexPoolOptions = {}) {
    const cores = availableParallelism();
    this.#threads = options.threads ?? Math.max(LEAST_THREADS, cores);
    this.#threadsPerTenant = options.threadsPerTenant ?? Math.max(1, Math.floor(cores / 2));
    this.#idleMs = options.idleMs ?? IDLE_MS;
  }

  /** Requests that wait for a thread. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Threads that were ended because they ran past their request. */
  get endedThreads(): number {
    return this.#endedThreads;
  }

  forTenant(tenant: string): TenantRegexes {
    return {
      check: (patterns, signal) => this.#check(tenant, patterns, signal),
      run: (signal, work) => this.#run(tenant, signal, work),
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const queue of this.#tenants.values()) {
      for (const request of [...queue.waiting]) request.fail(closedError());
    }
    const threads = [...this.#busy];
    for (let thread = this.#takeIdle(); thread !== null; thread = this.#takeIdle()) threads.push(thread);
    for (const thread of threads) thread.abandon(closedError());
    await Promise.all(threads.map((thread) => thread.end()));
  }

  async #check(
    tenant: string,
    patterns: ReadonlyMap<string, string>,
    signal: CancelSignal | undefined,
  ): Promise<ReadonlyMap<string, TrigramQuery>> {
    const unknown = [...patterns.keys()].filter((pattern) => !this.#known.has(pattern));
    const found = new Map<string, TrigramQuery>();
    if (unknown.length > 0) {
      const replies = await this.#run(tenant, signal, (thread) =>
        thread.ask({ type: "check", patterns: unknown }, []),
      );
      for (const [i, reply] of replies.entries()) {
        const pattern = unknown[i]!;
        if ("problem" in reply) throw invalid(patterns.get(pattern) ?? "", reply.problem);
        found.set(pattern, reply.required);
      }
    }
    for (const pattern of patterns.keys()) {
      const required = found.get(pattern) ?? this.#known.get(pattern)!;
      found.set(pattern, required);
      this.#remember(pattern, required);
    }
    return found;
  }

  #remember(pattern: string, required: TrigramQuery): void {
    this.#known.delete(pattern);
    this.#known.set(pattern, required);
    if (this.#known.size > KNOWN_PATTERNS) this.#known.delete(this.#known.keys().next().value!);
  }

  async #run<T>(
    tenant: string,
    signal: CancelSignal | undefined,
    work: (thread: RegexThread) => Promise<T>,
  ): Promise<T> {
    const thread = await this.#turn(tenant, signal);
    const abandon = (): void => {
      if (signal !== undefined) thread.abandon(abortError(signal));
    };
    signal?.addEventListener("abort", abandon, { once: true });
    try {
      throwIfAborted(signal);
      return await work(thread);
    } finally {
      signal?.removeEventListener("abort", abandon);
      this.#release(tenant, thread);
    }
  }

  /** A thread, once it is the request's turn. */
  #turn(tenant: string, signal: CancelSignal | undefined): Promise<RegexThread> {
    throwIfAborted(signal);
    if (this.#isClosed) throw closedError();
    const queue = this.#queueOf(tenant);
    if (queue.waiting.length >= LIMITS.queuedRegexRequests) throw overShare();
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        if (signal !== undefined) request.fail(abortError(signal));
      };
      const request: WaitingRequest = {
        start: (thread) => {
          signal?.removeEventListener("abort", leave);
          resolve(thread);
        },
        fail: (reason) => {
          signal?.removeEventListener("abort", leave);
          queue.waiting.splice(queue.waiting.indexOf(request), 1);
          this.#waiting--;
          this.#forget(tenant);
          reject(reason);
        },
      };
      signal?.addEventListener("abort", leave, { once: true });
      queue.waiting.push(request);
      this.#waiting++;
      this.#dispatch();
    });
  }

  #dispatch(): void {
    for (const [tenant, queue] of this.#tenants) {
      if (this.#busy.size >= this.#threads) return;
      if (queue.waiting.length === 0 || queue.running >= this.#threadsPerTenant) continue;
      const thread = this.#takeIdle() ?? new RegexThread();
      this.#busy.add(thread);
      queue.running++;
      this.#waiting--;
      // A map iterates over what is added to it: the tenant comes last from now on, and again if there is a thread.
      this.#tenants.delete(tenant);
      this.#tenants.set(tenant, queue);
      queue.waiting.shift()!.start(thread);
    }
  }

  #release(tenant: string, thread: RegexThread): void {
    void thread.settle().then((wasEnded) => {
      this.#busy.delete(thread);
      this.#queueOf(tenant).running--;
      this.#forget(tenant);
      if (wasEnded) this.#endedThreads++;
      else this.#keep(thread);
      this.#dispatch();
    });
  }

  /** The one that was used last; `null`: all work. */
  #takeIdle(): RegexThread | null {
    const idle = this.#idle.pop();
    if (idle === undefined) return null;
    clearTimeout(idle.timer);
    return idle.thread.hasEnded ? this.#takeIdle() : idle.thread;
  }

  #keep(thread: RegexThread): void {
    const timer = setTimeout(() => {
      this.#idle.splice(this.#idle.indexOf(idle), 1);
      void thread.end();
    }, this.#idleMs).unref();
    const idle = { thread, timer };
    this.#idle.push(idle);
  }

  #queueOf(tenant: string): TenantQueue {
    let queue = this.#tenants.get(tenant);
    if (queue === undefined) {
      queue = { waiting: [], running: 0 };
      this.#tenants.set(tenant, queue);
    }
    return queue;
  }

  /** A tenant without requests. */
  #forget(tenant: string): void {
    const queue = this.#tenants.get(tenant);
    if (queue?.waiting.length === 0 && queue.running === 0) this.#tenants.delete(tenant);
  }
}

function overShare(): SheafError {
  const message = `over ${LIMITS.queuedRegexRequests} requests of the tenant wait for regular expressions`;
  return new SheafError("rate_limited", message, { retryAfterSeconds: 1 });
}

function closedError(): SheafError {
  return new SheafError("unavailable", "the engine is closing");
}
