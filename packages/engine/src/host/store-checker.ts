/**
 * Checks one file at a time for damage, of a collection or shared by several, in a process of its own that only lives while
 * there is something to check: it reads what may end a process, and its memory is not the engine's.
 */
import { InspectionProcess } from "../doctor/inspection-process.ts";
import { type EngineLog, describeError } from "../engine-log.ts";

/** For the next check, which often comes soon. */
const IDLE_MS = 5_000;
/** A check reads some GB in that time; one that takes longer is given up. */
const LONGEST_CHECK_MS = 300_000;

export class StoreChecker {
  readonly #dataFolder: string;
  readonly #log: EngineLog;
  #process: InspectionProcess | null = null;
  #idle: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(dataFolder: string, log: EngineLog) {
    this.#dataFolder = dataFolder;
    this.#log = log;
  }

  /** How the file is damaged; `null`: it is not. Rejects where that cannot be told. */
  async check(store: string): Promise<string | null> {
    clearTimeout(this.#idle);
    this.#process ??= new InspectionProcess(this.#dataFolder);
    const inspection = this.#process;
    const tooLong = setTimeout(() => inspection.kill(), LONGEST_CHECK_MS);
    try {
      return await inspection.check(store);
    } catch (error) {
      if (!this.#closed) {
        const message = `the file of ${store} could not be checked`;
        this.#log({ level: "warn", message, error: describeError(error) });
      }
      throw error;
    } finally {
      clearTimeout(tooLong);
      if (!this.#closed) this.#idle = setTimeout(() => void this.#end(), IDLE_MS).unref();
    }
  }

  /** Ends a check under way. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#idle);
    await this.#end();
  }

  async #end(): Promise<void> {
    const inspection = this.#process;
    this.#process = null;
    await inspection?.close();
  }
}
