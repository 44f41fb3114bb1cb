/** A database whose disk is full, in the log once a minute: all that write hear of it, and whoever runs the server should. */
import type { EngineLog } from "../../engine-log.ts";

const TOLD_EACH_MS = 60_000;

export class RoomProblem {
  readonly #log: EngineLog;
  readonly #now: () => number;
  #toldAt = -Infinity;

  /** @param now In milliseconds. */
  constructor(log: EngineLog = () => {}, now: () => number = () => performance.now()) {
    this.#log = log;
    this.#now = now;
  }

  /** @param error What the database has said. */
  tell(error: unknown): void {
    const now = this.#now();
    if (now - this.#toldAt < TOLD_EACH_MS) return;
    this.#toldAt = now;
    const message = "the database has no room: writes are refused with 507 until its disk has some";
    this.#log({ level: "error", message, error: error instanceof Error ? error.message : String(error) });
  }
}
