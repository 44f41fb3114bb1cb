/**
 * What callers hear of damage that is no single collection's, such as the catalog's: that there is some, and who can help. Also
 * told to the operator is that a setting lacks.
 * The place and the command are for the operator, who finds them in the log, each once.
 */
import { SheafError } from "@sheaf/protocol";
import { type EngineLog, describeError } from "../engine-log.ts";
import { namesPlace } from "../storage/corrupt-data-error.ts";
import { OBJECTS_UNKNOWN } from "../storage/log/checkpoint-files.ts";

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
    if (!(error instanceof SheafError)) return error;
    const isUnset = error.message === OBJECTS_UNKNOWN;
    if (!isUnset && !namesPlace(error)) return error;
    this.#tell(error);
    if (isUnset) return error;
    return new SheafError(
      "collection_unavailable",
      `stored data that the server needs for this is damaged; ${ASK_THE_OPERATOR}`,
      { cause: error },
    );
  }

  #tell(error: SheafError): void {
    if (this.#told.has(error.message)) return;
    if (this.#told.size >= MOST_TOLD) this.#told.clear();
    this.#told.add(error.message);
    this.#log({ level: "error", message: error.message, error: describeError(error) });
  }
}

/** For callers where no engine can start, which was logged. */
export function cannotStart(): SheafError {
  return new SheafError("collection_unavailable", `the server cannot open its data; ${ASK_THE_OPERATOR}`);
}
