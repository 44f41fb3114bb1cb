/**
 * Calls over a channel. Arguments and results are plain messages (typed arrays and plain objects); a `SheafError`
 * crosses with its code, anything else as an internal error that the callee has logged. Aborting a call's signal
 * cancels it on the other side too.
 */
import { abortError, type CancelSignal, Cancellation, type ErrorMessage, SheafError } from "@sheaf/protocol";
import { WaitTimes } from "./wait-times.ts";
import { BusyWait } from "./busy-wait.ts";
import type { Channel } from "./channel.ts";
import { type PackedMessage, packedFormOf, unopenedMessage, unpackMessage } from "./packed-message.ts";

type Frame =
  | {
      readonly type: "call";
      readonly id: number;
      readonly method: string;
      readonly args: readonly unknown[];
      /** Of arguments that come as packed messages: the numbers of their parts; `args` has `null` in their places. */
      readonly packed?: readonly { readonly at: number; readonly parts: readonly number[] }[];
      /** The caller wants to know when the answer is near. */
      readonly tellNear?: true;
    }
  | { readonly type: "cancel"; readonly id: number }
  /** A call is about to come. */
  | { readonly type: "expect" }
  | { readonly type: "near"; readonly id: number }
  | {
      readonly type: "result";
      readonly id: number;
      readonly value: unknown;
      readonly report: unknown;
      /** Of a value that comes as a packed message, instead of it: the numbers of its parts. */
      readonly packed?: readonly number[];
    }
  | { readonly type: "error"; readonly id: number; readonly error: ErrorMessage; readonly report: unknown }
  /** Instead of an answer to a call that was cancelled: nothing works on it any more. */
  | { readonly type: "ended"; readonly id: number }
  | { readonly type: "event"; readonly name: string; readonly value: unknown }
  | { readonly type: "ping" }
  | { readonly type: "pong" }
  /** Has the calling side say the number: it still waits for all that it has sent before, and has not cancelled. */
  | { readonly type: "still"; readonly number: number }
  | { readonly type: "waits"; readonly number: number };

type CallFrame = Extract<Frame, { type: "call" }>;
type ResultFrame = Extract<Frame, { type: "result" }>;
type AnswerFrame = Extract<Frame, { type: "result" | "error" | "ended" }>;

/** How long an expected call may take to come: what the caller has to do before it makes it. */
const EXPECTED_CALL_MS = 0.5;
/** As if it had a number. */
const EXPECTED_CALL = 0;
/** How long its caller waits awake for the answer. */
const EXPECTED_ANSWER_MS = 1;

const INTERNAL_ERROR: ErrorMessage = Object.freeze({ code: "internal", message: "internal error" });

export interface CallOptions {
  readonly signal?: CancelSignal | undefined;
  /** The other side has work for every core, so its answer is waited for awake only once it says that it is near. */
  readonly takesCores?: boolean | undefined;
  /** Told what the other side says of the call beside its answer, before the answer. */
  onReport?(report: unknown): void;
  /** Called where the call is aborted under way; what it gives is called once the other side works on it no more. */
  keep?(): () => void;
}

interface Pending {
  readonly method: string;
  readonly args: readonly unknown[];
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly options: CallOptions;
  readonly onAbort: () => void;
  /** The other side may have it. */
  isSent: boolean;
}

/** What was under way on a channel, for whoever explains a child's death. */
export interface InFlightCall {
  readonly method: string;
  readonly args: readonly unknown[];
}

export interface RpcClientHooks {
  /** Makes the error of every call that the channel's end leaves unanswered. `false`: the other side has certainly not seen it. */
  readonly closedError: (isSent: boolean) => Error;
  readonly onEvent?: ((name: string, value: unknown) => void) | undefined;
  /** Hears the result of a call that was cancelled after the other side had answered it. */
  readonly onUnclaimed?: ((value: unknown) => void) | undefined;
  /** Awaited before this side says that it still waits: it may call for others. */
  readonly beforeSign?: (() => Promise<unknown> | undefined) | undefined;
}

export class RpcClient {
  readonly #channel: Channel;
  readonly #pending = new Map<number, Pending>();
  /** Aborted calls that the other side may still work on -> what to call when it does no more. */
  readonly #kept = new Map<number, () => void>();
  readonly #closedError: (isSent: boolean) => Error;
  readonly #wait = new BusyWait();
  /** Of calls that were expected, by their kind. */
  readonly #times = new WaitTimes(EXPECTED_ANSWER_MS);
  #nextId = 1;
  /** Kind of the call that comes next; `null`: nothing is known of it. */
  #expected: string | null = null;
  #heard = 0;

  constructor(channel: Channel, hooks: RpcClientHooks) {
    this.#channel = channel;
    this.#closedError = hooks.closedError;
    channel.onMessage((message) => this.#receive(message as Frame, hooks));
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

  /**
   * Has the other side wait awake for the next call, which is about to be made, and this one for its answer, unless answers of
   * this kind take longer than that: they wait for a disk, or for a machine that has other work. For a caller that is alone, on
   * a machine with a core to spare; where calls are under way it does nothing.
   */
  expectCall(kind: string): void {
    if (this.#pending.size > 0) return;
    this.#expected = kind;
    if (this.#times.isShort(kind)) this.#channel.send({ type: "expect" } satisfies Frame);
  }

  /** Rejects everything unanswered; the owner calls it when the channel has closed. */
  rejectAll(): void {
    for (const [id, { isSent }] of this.#pending) this.#settled(id)?.reject(this.#closedError(isSent));
    for (const id of this.#kept.keys()) this.#letGo(id);
  }

  call(method: string, args: readonly unknown[], options: CallOptions = {}): Promise<unknown> {
    const { signal } = options;
    if (signal?.aborted === true) return Promise.reject(abortError(signal));
    if (this.#channel.closed) return Promise.reject(this.#closedError(false));
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#pending.delete(id);
        const letGo = options.keep?.();
        if (letGo !== undefined) this.#kept.set(id, letGo);
        this.#channel.send({ type: "cancel", id } satisfies Frame);
        if (signal !== undefined) reject(abortError(signal));
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      const pending: Pending = { method, args, resolve, reject, options, onAbort, isSent: false };
      this.#pending.set(id, pending);
      if (args.some((arg) => packedFormOf(arg) !== undefined)) {
        void this.#sendPacked(this.#frameOf(id, method, args, options), pending);
        return;
      }
      try {
        pending.isSent = true;
        this.#channel.send(this.#frameOf(id, method, args, options));
        if (this.#expected !== null && options.takesCores !== true) this.#awaitAnswer(id, this.#expected);
        this.#expected = null;
      } catch (error) {
        this.#settled(id)?.reject(error as Error);
      }
    });
  }

  #awaitAnswer(id: number, kind: string): void {
    this.#times.begin(id, kind);
    if (this.#times.isShort(kind)) this.#wait.begin(EXPECTED_ANSWER_MS);
  }

  /** Arguments that were packed go as they are, and before the call. */
  async #sendPacked(call: CallFrame, pending: Pending): Promise<void> {
    const args: unknown[] = [...call.args];
    const packed: { readonly at: number; readonly parts: readonly number[] }[] = [];
    const { signal } = pending.options;
    try {
      for (const [at, arg] of call.args.entries()) {
        const form = packedFormOf(arg);
        if (form === undefined) continue;
        args[at] = null;
        packed.push({ at, parts: await this.#channel.sendParts(form, signal) });
      }
      if (signal?.aborted === true) throw abortError(signal);
      pending.isSent = !this.#channel.closed;
      this.#channel.send({ ...call, args, packed } satisfies Frame);
    } catch (error) {
      for (const { parts } of packed) this.#channel.dropParts(parts);
      this.#settled(call.id)?.reject(error as Error);
      this.#letGo(call.id);
    }
  }

  #frameOf(id: number, method: string, args: readonly unknown[], { takesCores }: CallOptions): CallFrame {
    const call = { type: "call", id, method, args } as const;
    return this.#expected !== null && takesCores === true ? { ...call, tellNear: true } : call;
  }

  /** A call that is over in whatever way; `undefined`: it was before. */
  #settled(id: number): Pending | undefined {
    const pending = this.#pending.get(id);
    if (pending === undefined) return undefined;
    this.#pending.delete(id);
    this.#wait.end();
    this.#times.end(id);
    pending.options.signal?.removeEventListener("abort", pending.onAbort);
    return pending;
  }

  #letGo(id: number): void {
    this.#kept.get(id)?.();
    this.#kept.delete(id);
  }

  #receive(frame: Frame, hooks: RpcClientHooks): void {
    this.#heard++;
    if (frame.type === "event") hooks.onEvent?.(frame.name, frame.value);
    else if (frame.type === "near" && this.#pending.has(frame.id)) this.#wait.begin(EXPECTED_ANSWER_MS);
    else if (frame.type === "still") void this.#sayThatWaits(frame.number, hooks);
    else if (frame.type === "result" && frame.packed !== undefined)
      void this.#unpack(frame, frame.packed, hooks);
    else if (frame.type === "result" || frame.type === "error" || frame.type === "ended") {
      this.#hearAnswer(frame, hooks);
    }
  }

  async #sayThatWaits(number: number, { beforeSign }: RpcClientHooks): Promise<void> {
    await beforeSign?.();
    this.#channel.send({ type: "waits", number } satisfies Frame);
  }

  /** Whether anybody still waits for it or not: `onUnclaimed` has to hear of it in that case. */
  async #unpack(frame: ResultFrame, packed: readonly number[], hooks: RpcClientHooks): Promise<void> {
    let value: unknown;
    try {
      value = await unpackMessage(packed.map((part) => this.#channel.takePart(part)));
    } catch {
      // As with all bytes that are no message.
      this.#channel.close();
      return;
    }
    this.#hearAnswer({ ...frame, value }, hooks);
  }

  #hearAnswer(frame: AnswerFrame, { onUnclaimed }: RpcClientHooks): void {
    if (this.#kept.size > 0) this.#letGo(frame.id);
    if (frame.type === "ended") return;
    const pending = this.#settled(frame.id);
    if (pending === undefined) {
      if (frame.type === "result") onUnclaimed?.(frame.value);
      return;
    }
    if (frame.report !== undefined) pending.options.onReport?.(frame.report);
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
  /** What takes every core is done, the answer is not: whoever waits for it may wake up meanwhile. */
  onNear(): void;
}

export interface RpcServerHooks {
  /** Told of every error that is not a `SheafError`; the caller only hears "internal error". */
  readonly onUnexpected: (error: unknown) => void;
  /** Whose call it is: while answers wait to be sent, owners take turns. By default all are of one. */
  readonly ownerOf?: (args: readonly unknown[]) => string;
  /** An answer was handed to the channel. */
  readonly onAnswered?: () => void;
  /** Whether the handler of the method hands packed arguments on, and looks into none: they are not unpacked for it. */
  readonly relays?: (method: string) => boolean;
  /** Hears the number that `askCallers` was given. */
  readonly onSign?: (number: number) => void;
}

export class RpcServer {
  readonly #channel: Channel;
  readonly #handler: RpcHandler;
  readonly #onUnexpected: (error: unknown) => void;
  readonly #ownerOf: (args: readonly unknown[]) => string;
  readonly #onAnswered: () => void;
  readonly #relays: (method: string) => boolean;
  readonly #running = new Map<number, Cancellation>();

  constructor(channel: Channel, handler: RpcHandler, hooks: RpcServerHooks) {
    const { onUnexpected, ownerOf = () => "", onAnswered = () => {}, relays = () => false, onSign } = hooks;
    this.#channel = channel;
    this.#handler = handler;
    this.#onUnexpected = onUnexpected;
    this.#ownerOf = ownerOf;
    this.#onAnswered = onAnswered;
    this.#relays = relays;
    const wait = new BusyWait();
    const times = new WaitTimes(EXPECTED_CALL_MS);
    channel.onMessage((message) => {
      const frame = message as Frame;
      if (frame.type === "expect") {
        times.begin(EXPECTED_CALL, "call");
        if (times.isShort("call")) wait.begin(EXPECTED_CALL_MS);
        return;
      }
      wait.end();
      if (frame.type === "call") times.end(EXPECTED_CALL);
      if (frame.type === "ping") channel.send({ type: "pong" } satisfies Frame);
      else if (frame.type === "call") void this.#answer(frame);
      else if (frame.type === "waits") onSign?.(frame.number);
      else if (frame.type === "cancel") {
        this.#running.get(frame.id)?.abort(new SheafError("cancelled", "the request was cancelled"));
      }
    });
  }

  /** Calls whose answers are not handed to the channel yet. */
  get running(): number {
    return this.#running.size;
  }

  /** Has the other side say the number once it has said all that it has to say of its calls until now. */
  askCallers(number: number): void {
    this.#channel.send({ type: "still", number } satisfies Frame);
  }

  /** Nobody waits for an answer any more. */
  abortAll(): void {
    for (const signal of this.#running.values())
      signal.abort(new SheafError("cancelled", "the caller has gone"));
  }

  async #argsOf({ method, args, packed = [] }: CallFrame, signal: CancelSignal): Promise<readonly unknown[]> {
    const whole = [...args];
    const messages = packed.map(({ parts }) => parts.map((part) => this.#channel.takePart(part)));
    const relayed = this.#relays(method);
    const open = (message: PackedMessage): unknown =>
      relayed ? unopenedMessage(message) : unpackMessage(message, signal);
    for (const [i, { at }] of packed.entries()) whole[at] = await open(messages[i] ?? []);
    return whole;
  }

  /** Sends an unasked message to the other side. */
  emit(name: string, value: unknown): void {
    this.#channel.send({ type: "event", name, value } satisfies Frame);
  }

  async #answer(call: CallFrame): Promise<void> {
    const { id, method, args: sent, packed, tellNear } = call;
    const signal = new Cancellation();
    this.#running.set(id, signal);
    let report: unknown;
    const options: HandlerOptions = {
      signal,
      onReport: (value) => (report = value),
      onNear: () => tellNear === true && this.#channel.send({ type: "near", id } satisfies Frame),
    };
    let reply: Frame;
    try {
      const args = packed === undefined ? sent : await this.#argsOf(call, signal);
      const value = await this.#handler(method, args, options);
      const form = packedFormOf(value);
      reply =
        form === undefined
          ? { type: "result", id, value, report }
          : { type: "result", id, value: null, packed: await this.#channel.sendParts(form, signal), report };
    } catch (error) {
      if (!(error instanceof SheafError)) this.#onUnexpected(error);
      const told = error instanceof SheafError ? error.toMessage() : INTERNAL_ERROR;
      reply = { type: "error", id, error: told, report };
    }
    this.#running.delete(id);
    try {
      this.#channel.sendInTurn(signal.aborted ? { type: "ended", id } : reply, this.#ownerOf(sent));
    } catch (error) {
      // A result that cannot be sent must not leave its caller waiting.
      this.#onUnexpected(error);
      this.#channel.send({ type: "error", id, error: INTERNAL_ERROR, report } satisfies Frame);
    }
    this.#onAnswered();
  }
}
