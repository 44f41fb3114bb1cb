/** A request that an object store has refused, or has not answered. Callers hear that; why is for whoever runs the server. */
import { SheafError } from "@sheaf/protocol";

export class StoreFailure extends SheafError {
  /** Of all failures with one cause the same: the status and code of the answer, or the code of the network. */
  readonly kind: string;
  /** Kind and what was said beside it. */
  readonly reason: string;

  constructor(kind: string, words: string, cause?: unknown) {
    super("unavailable", "the object store cannot be used now", { cause, retryAfterSeconds: 1 });
    this.kind = kind;
    this.reason = words === "" ? kind : `${kind}: ${words}`;
  }
}

/** What an error says to whoever runs the server. */
export function inFull(error: SheafError): string {
  return error instanceof StoreFailure ? `${error.message}: ${error.reason}` : error.message;
}
