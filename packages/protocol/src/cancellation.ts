/**
 * How a call learns that nobody waits for it any more. An `AbortSignal` is a `CancelSignal`; `Cancellation` is one
 * without the platform's event target, of which making one and listening to it once takes longer than a small search
 * takes in the index.
 */
import { SheafError } from "./errors.ts";

export interface CancelSignal {
  readonly aborted: boolean;
  /** Why; set once it is aborted. */
  readonly reason: unknown;
  /** The listener is called once, and not at all where it is already aborted. */
  addEventListener(type: "abort", listener: () => void, options: { readonly once: true }): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

export class Cancellation implements CancelSignal {
  #aborted = false;
  #reason: unknown;
  #listeners: Set<() => void> | null = null;

  get aborted(): boolean {
    return this.#aborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  addEventListener(_type: "abort", listener: () => void): void {
    if (!this.#aborted) (this.#listeners ??= new Set()).add(listener);
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    this.#listeners?.delete(listener);
  }

  /** The first reason wins. Listeners are called at once, in their order; none of them may throw. */
  abort(reason: unknown): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    for (const listener of this.#listeners ?? []) listener();
    this.#listeners = null;
  }
}

/** What to tell whoever waited for an aborted call: the signal's own `SheafError`, or `cancelled`. */
export function abortError(signal: CancelSignal): SheafError {
  return signal.reason instanceof SheafError
    ? signal.reason
    : new SheafError("cancelled", "the request was cancelled", { cause: signal.reason });
}

export function throwIfAborted(signal: CancelSignal | undefined): void {
  if (signal?.aborted === true) throw abortError(signal);
}

/** `work`, or the abort if that comes first; the work itself goes on unheard. */
export function abortable<T>(work: Promise<T>, signal: CancelSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(abortError(signal));
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
