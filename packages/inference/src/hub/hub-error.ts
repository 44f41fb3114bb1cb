/** What can go wrong between here and a hub. Everything that does not pass by itself is 503 `model_unavailable`. */
import { SheafError } from "@sheaf/protocol";

/** May succeed when it is tried again: a cut connection, a busy server. */
export class TransientHubError extends Error {
  /** What the server asked for; `null`: nothing. */
  readonly retryAfterMs: number | null;

  constructor(message: string, options: { readonly retryAfterMs?: number | null; readonly cause?: unknown }) {
    super(message, { cause: options.cause });
    this.name = "TransientHubError";
    this.retryAfterMs = options.retryAfterMs ?? null;
  }
}

export function hubError(message: string, cause?: unknown): SheafError {
  return new SheafError("model_unavailable", message, { cause });
}
