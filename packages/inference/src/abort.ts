/** What an aborted signal means for a call: it ends at once, with the signal's own reason where that is one of ours. */
import { SheafError } from "@sheaf/protocol";

export function abortError(signal: AbortSignal): SheafError {
  return signal.reason instanceof SheafError
    ? signal.reason
    : new SheafError("cancelled", "the request was cancelled", { cause: signal.reason });
}

export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw abortError(signal);
}

/** `work`, or the abort if that comes first; the work itself goes on unheard. */
export function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(abortError(signal));
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
