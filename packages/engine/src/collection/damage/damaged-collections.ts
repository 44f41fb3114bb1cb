/**
 * Collections whose stored data was found damaged, since the engine started. The operator is told of each once, with the
 * place of the damage; callers learn that it is damaged and what to do, and nothing of the data folder.
 */
import { SheafError } from "@sheaf/protocol";
import { type EngineLog, describeError } from "../../engine-log.ts";
import { UnreadableRecord } from "./damaged-records.ts";

export class DamagedCollections {
  readonly #log: EngineLog;
  readonly #found = new Set<string>();

  constructor(log: EngineLog) {
    this.#log = log;
  }

  get count(): number {
    return this.#found.size;
  }

  /** It is known already, and was logged. */
  add(id: string): void {
    this.#found.add(id);
  }

  /** An error of a call on the collection as its caller may see it. */
  refusal(error: unknown, id: string): unknown {
    return this.hear(error, id) && !(error instanceof UnreadableRecord) ? unreadable(id, error) : error;
  }

  /** Whether the error is about damage. */
  hear(error: unknown, id: string): boolean {
    if (!(error instanceof SheafError) || error.code !== "collection_unavailable") return false;
    if (!this.#found.has(id)) {
      this.#found.add(id);
      this.#log({
        level: "error",
        message: "a collection is damaged: requests that need the damaged data are 500; run `sheaf doctor`",
        collection: id,
        error: describeError(error),
      });
    }
    return true;
  }
}

/** For callers: the place of the damage is in the log. */
export function unreadable(id: string, cause?: unknown): SheafError {
  const message =
    `the stored data of collection [${id}] cannot be read; the operator of the server has to run \`sheaf doctor\`, ` +
    "which says what to do";
  return new SheafError("collection_unavailable", message, { cause });
}
