/**
 * What callers hear of damage that is no single collection's, such as the catalog's: that there is some, and who can help.
 * The place and the command are for the operator, who finds them in the log, each once.
 */
import { SheafError } from "@sheaf/protocol";
import { type EngineLog, describeError } from "../engine-log.ts";
import { namesPlace } from "../storage/corrupt-data-error.ts";

const ASK_THE_OPERATOR = "the operator of the server finds in its log what to do";

/** Messages that are remembered; once there are more, all may be told again. */
const MOST_TOLD = 1_000;

export class CallerErrors {
  readonly #log: EngineLog;
  readonly #told = new Set<string>();

  constructor(log: EngineLog) {
    this.#log = log;
  }

  /** An error of any call as its caller may see it. */
  translate(error: unknown): unknown {
    if (!(error instanceof SheafError) || !namesPlace(error)) return error;
    if (!this.#told.has(error.message)) {
      if (this.#told.size >= MOST_TOLD) this.#told.clear();
      this.#told.add(error.message);
      this.#log({ level: "error", message: error.message, error: describeError(error) });
    }
    return new SheafError(
      "collection_unavailable",
      `stored data that the server needs for this is damaged; ${ASK_THE_OPERATOR}`,
      { cause: error },
    );
  }
}

/** For callers where no engine can start, which was logged. */
export function cannotStart(): SheafError {
  return new SheafError("collection_unavailable", `the server cannot open its data; ${ASK_THE_OPERATOR}`);
}
