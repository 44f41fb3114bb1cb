/** The error of an aborted read: the signal's own `SheafError`, or `cancelled`. */
import { SheafError } from "@sheaf/protocol";

export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted !== true) return;
  throw signal.reason instanceof SheafError
    ? signal.reason
    : new SheafError("cancelled", "the request was cancelled", { cause: signal.reason });
}
