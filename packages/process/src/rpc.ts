/**
 * Calls over a channel. Arguments and results are plain messages (typed arrays and plain objects); a `SheafError`
 * crosses with its code, anything else as an internal error that the callee has logged. Aborting a call's signal
 * cancels it on the other side too.
 */
import { abortError, type CancelSignal, Cancellation, type ErrorMessage, SheafError } from "@sheaf/protocol";
import type { Channel } from "./channel.ts";

type Frame =
  | { readonly type: "call"; readonly id: number; readonly method: string; readonly args: readonly unknown[] }
  | { readonly type: "cancel"; readonly id: number }
  | { readonly type: "result"; readonly id: number; readonly value: unknown; readonly report?: unknown }
  | { readonly type: "error"; readonly id: number; readonly error: ErrorMessage; readonly report?: unknown }
  | { readonly type: "event"; readonly name: string; readonly value: unknown }
  | { readonly type: "ping" }
  | { readonly type: "pong" };

export interface CallOptions {
  readonly signal?: CancelSignal | undefined;
  /** Told what the other side says of the call beside its answer, before the answer. */
  onReport?(report: unknown): void;
}

interface Pending {
  readonly method: string;
  readonly args: readonly unknown[];
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly options: CallOptions;
}

/** What was under way on a channel, for whoever explains a child's death. */
export interface InFlightCall {
  readonly method: string;
  readonly args: readonly unknown[];
}

export class RpcClient {
  readonly #channel: Channel;
  readonly #pending = new Map<number, Pending>();
  readonly #closedError: () => Error;
  #nextId = 1;
  #heard = 0;

  /** `closedError` makes the error of every call that the channel's end leaves unanswered. */
  constructor(
    channel: Channel,
    hooks: { closedError: () => Error; onEvent?: (name: string, value: unknown) => void },
  ) {
    this.#channel = channel;
    this.#closedError = hooks.closedError;
    channel.onMessage((message) => this.#receive(message as Frame, hooks.onEvent));
  }

  get inFlight(): readonly InFlightCall[] {
    return [...this.#pending.values()].map(({ method, args }) => ({ method, args }));
  }

  /** Messages from the other side so far. */
  get heard(): number {
    return this.#heard;
  }

  /** Asks for a message, which the other side sends as soon as its event loop turns. */
  ping(): void {
    this.#channel.send({ type: "ping" } satisfies Frame);
  }

  /** Rejects everything unanswered; the owner calls it when the channel has closed. */
  rejectAll(): void {
    for (const pending of this.#pending.values()) pending.reject(this.#closedError());
    this.#pending.clear();
  }

  call(method: string, args: readonly unknown[], options: CallOptions = {}): Promise<unknown> {
    const { signal } = options;
    if (signal?.aborted === true) return Promise.reject(abortError(signal));
    if (this.#channel.closed) return Promise.reject(this.#closedError());
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#pending.delete(id);
        this.#channel.send({ type: "cancel", id } satisfies Frame);
        if (signal !== undefined) reject(abortError(signal));
      };
      const settle = (): void => signal?.removeEventListener("abort", onAbort);
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#pending.set(id, {
        method,
        args,
        options,
        resolve: (value) => {
          settle();
          resolve(value);
        },
        reject: (error) => {
          settle();
          reject(error);
        },
      });
      try {
        this.#channel.send({ type: "call", id, method, args } satisfies Frame);
      } catch (error) {
        this.#pending.get(id)?.reject(error as Error);
        this.#pending.delete(id);
      }
    });
  }

  #receive(frame: Frame, onEvent: ((name: string, value: unknown) => void) | undefined): void {
    this.#heard++;
    if (frame.type === "event") {
      onEvent?.(frame.name, frame.value);
      return;
    }
    if (frame.type !== "result" && frame.type !== "error") return;
    const pending = this.#pending.get(frame.id);
    if (pending === undefined) return;
    this.#pending.delete(frame.id);
    if ("report" in frame) pending.options.onReport?.(frame.report);
    if (frame.type === "result") pending.resolve(frame.value);
    else pending.reject(SheafError.fromMessage(frame.error));
  }
}

export type RpcHandler = (
  method: string,
  args: readonly unknown[],
  options: HandlerOptions,
) => Promise<unknown>;

export interface HandlerOptions {
  readonly signal: CancelSignal;
  /** What the caller learns beside the answer; the last report counts. */
  onReport(report: unknown): void;
}

export class RpcServer {
  readonly #channel: Channel;

  /** `onUnexpected` is told of every error that is not a `SheafError`; the caller only hears "internal error". */
  constructor(channel: Channel, handler: RpcHandler, onUnexpected: (error: unknown) => void) {
    this.#channel = channel;
    const running = new Map<number, Cancellation>();
    channel.onMessage((message) => {
      const frame = message as Frame;
      if (frame.type === "ping") {
        channel.send({ type: "pong" } satisfies Frame);
      } else if (frame.type === "cancel") {
        running.get(frame.id)?.abort(new SheafError("cancelled", "the request was cancelled"));
      } else if (frame.type === "call") {
        const signal = new Cancellation();
        running.set(frame.id, signal);
        let report: unknown;
        const options: HandlerOptions = {
          signal,
          onReport: (value) => (report = value),
        };
        void answer(frame, handler, options).then((reply) => {
          if (reply.type === "error" && reply.unexpected !== undefined) onUnexpected(reply.unexpected);
          running.delete(frame.id);
          if (signal.aborted) return;
          try {
            channel.send(report === undefined ? reply.frame : { ...reply.frame, report });
          } catch (error) {
            // A result that cannot be sent must not leave its caller waiting.
            onUnexpected(error);
            channel.send(internalError(frame.id));
          }
        });
      }
    });
  }

  /** Sends an unasked message to the other side. */
  emit(name: string, value: unknown): void {
    this.#channel.send({ type: "event", name, value } satisfies Frame);
  }
}

interface Answer {
  readonly type: "result" | "error";
  readonly frame: Frame;
  readonly unexpected?: unknown;
}

async function answer(
  call: Extract<Frame, { type: "call" }>,
  handler: RpcHandler,
  options: HandlerOptions,
): Promise<Answer> {
  try {
    const value = await handler(call.method, call.args, options);
    return { type: "result", frame: { type: "result", id: call.id, value } };
  } catch (error) {
    if (error instanceof SheafError) {
      return { type: "error", frame: { type: "error", id: call.id, error: error.toMessage() } };
    }
    return { type: "error", frame: internalError(call.id), unexpected: error };
  }
}

function internalError(id: number): Frame {
  return { type: "error", id, error: { code: "internal", message: "internal error" } };
}
