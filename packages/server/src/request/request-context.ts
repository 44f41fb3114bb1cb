/**
 * The time a request may take, and every reason to stop it early, in one signal: the time is up (504), the caller has
 * left, the server is going down (503), or what it was admitted by or for is gone: its key (401), its tenant or database
 * (404), even where another of the same name is there by then. The first reason wins and is the signal's `reason`.
 *
 * Invariant: from its admission until its answer is made a request can be stopped, whatever it waits for. Whoever waits
 * without the signal looks at it before it changes anything.
 */
import type { CallReport } from "@sheaf/engine";
import { type CancelSignal, Cancellation, LIMITS, SheafError } from "@sheaf/protocol";
import { RequestHold } from "./request-hold.ts";

/** Stage -> milliseconds, summed up over its calls. */
export type Stages = Map<string, number>;

/** What a service knows of the request it works for. */
export interface RequestBudget {
  readonly signal: CancelSignal;
  /** Whose share of what callers compete for it uses: its tenant's, or its key's where it has none. */
  readonly owner: string;
  /** Hears from the engine where the time of each call went. */
  readonly onReport: (report: CallReport) => void;
  /** Keeps what the body holds beyond the request, for a call that goes on after an abort, until what it gives is called. */
  readonly keep: () => () => void;
  /** Announces how many texts the server will embed for this request; many earn it the longer time. */
  expectTexts(count: number): void;
  /** Announces the copy of a whole collection, which earns the longer time too. */
  expectCopy(): void;
  /**
   * From here on the request is answered as its work ends, even if its key, tenant or database goes: to be called right
   * before what removes them.
   */
  outlastAccess(): void;
  /** Counts tokens of those texts against what the caller may have; throws 429, or on v2 routes 422 over a quota. */
  admitTokens(count: number): Promise<void>;
}

/** What counts the tokens of a request. */
export type AdmitTokens = RequestBudget["admitTokens"];

/** By which key a request was admitted, and for what its path names. */
export interface RequestAccess {
  /** With the tenant and database that it is bound to. */
  readonly key: {
    readonly id: string;
    readonly tenant: string | null;
    readonly database: string | null;
    /** Milliseconds since 1970. */
    readonly expires?: number | null;
  };
  readonly tenant: string | null;
  readonly database: string | null;
}

export interface DeadlineSeconds {
  readonly request: number;
  readonly bulk: number;
}

export const DEFAULT_DEADLINE_SECONDS: DeadlineSeconds = Object.freeze({
  request: LIMITS.requestSeconds,
  bulk: LIMITS.bulkRequestSeconds,
});

/** A key that ends later ends no request of now: none is in flight for so long. */
const LONGEST_REQUEST_MS = 24 * 3_600_000;

export class RequestContext implements RequestBudget {
  /** Where the time went so far. */
  readonly stages: Stages = new Map();
  readonly signal = new Cancellation();
  /** Of its body. */
  readonly hold = new RequestHold();
  readonly #seconds: DeadlineSeconds;
  #owner = "";
  #access: RequestAccess | null = null;
  #outlastsAccess = false;
  #expiry: NodeJS.Timeout | undefined;
  #admitTokens: AdmitTokens = () => Promise.resolve();
  #startedAt = 0;
  #texts = 0;
  #listener: ((report: CallReport) => void) | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(seconds: DeadlineSeconds) {
    this.#seconds = seconds;
  }

  readonly onReport = (report: CallReport): void => this.#listener?.(report);

  readonly keep = (): (() => void) => this.hold.keep();

  expectTexts(count: number): void {
    const before = this.#texts;
    this.#texts += count;
    if (before > LIMITS.bulkTexts || this.#texts <= LIMITS.bulkTexts) return;
    this.#prolong();
  }

  expectCopy(): void {
    this.#prolong();
  }

  admitTokens(count: number): Promise<void> {
    return this.#admitTokens(count);
  }

  reportTo(listener: (report: CallReport) => void): void {
    this.#listener = listener;
  }

  get owner(): string {
    return this.#owner;
  }

  /** `null` until the caller is known. */
  get access(): RequestAccess | null {
    return this.#access;
  }

  /** Once the caller is known. */
  belongsTo(owner: string, access: RequestAccess): void {
    this.#owner = owner;
    this.#access = access;
  }

  outlastAccess(): void {
    this.#outlastsAccess = true;
    clearTimeout(this.#expiry);
  }

  /** For a request whose access has ended, or ends in a while. One that is answered stays so. */
  endAccess(reason: SheafError, inMs = 0): void {
    if (this.#outlastsAccess || inMs > LONGEST_REQUEST_MS) return;
    clearTimeout(this.#expiry);
    if (inMs <= 0) this.abort(reason);
    else this.#expiry = setTimeout(() => this.abort(reason), Math.ceil(inMs)).unref();
  }

  /** Once the caller is known. */
  countTokensWith(admitTokens: AdmitTokens): void {
    this.#admitTokens = admitTokens;
  }

  abort(reason: SheafError): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#expiry);
    this.signal.abort(reason);
  }

  /** The time of the request begins with `work`. Settles as it does, or rejects with the reason to stop it. */
  run<T>(work: () => T | Promise<T>): Promise<T> {
    const { signal } = this;
    this.#startedAt = performance.now();
    return new Promise((resolve, reject) => {
      if (signal.aborted) throw signal.reason as SheafError;
      this.#timer = this.#arm(this.#seconds.request);
      signal.addEventListener("abort", () => reject(signal.reason));
      void this.#settle(work, resolve, reject);
    });
  }

  async #settle<T>(
    work: () => T | Promise<T>,
    resolve: (value: T) => void,
    reject: (error: unknown) => void,
  ): Promise<void> {
    try {
      resolve(await work());
    } catch (error) {
      reject(error);
    } finally {
      clearTimeout(this.#timer);
      this.outlastAccess();
    }
  }

  #prolong(): void {
    if (this.signal.aborted) return;
    clearTimeout(this.#timer);
    this.#timer = this.#arm(this.#seconds.bulk);
  }

  #arm(seconds: number): NodeJS.Timeout {
    const leftMs = seconds * 1_000 - (performance.now() - this.#startedAt);
    const timer = setTimeout(
      () =>
        this.abort(
          new SheafError("timeout", `the request took longer than ${seconds} seconds and was cancelled`),
        ),
      // Whole numbers, for Node keeps a list of timers for each length there is.
      Math.ceil(leftMs),
    );
    return timer.unref();
  }
}

/** Every request whose answer has not been sent whole, so that a server that goes down can wait for them or end them. */
export class DeadlineRegistry {
  readonly #seconds: DeadlineSeconds;
  readonly #running = new Set<RequestContext>();
  readonly #waiting: (() => void)[] = [];

  constructor(seconds: DeadlineSeconds) {
    this.#seconds = seconds;
  }

  start(): RequestContext {
    const deadline = new RequestContext(this.#seconds);
    this.#running.add(deadline);
    return deadline;
  }

  finish(deadline: RequestContext): void {
    deadline.outlastAccess();
    this.#running.delete(deadline);
    if (this.#running.size > 0) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Those whose caller is known, and that are not over. */
  *admitted(): Generator<readonly [RequestContext, RequestAccess]> {
    for (const deadline of this.#running) if (deadline.access !== null) yield [deadline, deadline.access];
  }

  abortAll(reason: SheafError): void {
    for (const deadline of this.#running) deadline.abort(reason);
  }

  /** Resolves when no request is in flight. */
  idle(): Promise<void> {
    if (this.#running.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
