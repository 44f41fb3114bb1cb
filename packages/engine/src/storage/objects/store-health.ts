/** Whether an object store can be used: for the metrics now, and for the log once a minute for each cause. */
import type { EngineLog } from "../../engine-log.ts";
import type { ObjectStoreSettings } from "./object-store.ts";
import type { StoreFailure } from "./store-failure.ts";

const TOLD_EACH_MS = 60_000;
/** Causes that are remembered; once there are more, all may be told again. */
const MOST_CAUSES = 100;

export class StoreHealth {
  readonly #place: string;
  readonly #log: EngineLog;
  readonly #now: () => number;
  /** When each cause was last in the log. */
  readonly #told = new Map<string, number>();
  #isFailing = false;

  /** @param now In milliseconds. */
  constructor(
    { endpoint, bucket }: Pick<ObjectStoreSettings, "endpoint" | "bucket">,
    log: EngineLog = () => {},
    now: () => number = () => performance.now(),
  ) {
    this.#place = `bucket ${bucket} at ${endpoint}`;
    this.#log = log;
    this.#now = now;
  }

  /** The request that ended last was refused, or not answered. */
  get isFailing(): boolean {
    return this.#isFailing;
  }

  answered(): void {
    this.#isFailing = false;
  }

  failed({ kind, reason }: StoreFailure): void {
    this.#isFailing = true;
    const now = this.#now();
    if (now - (this.#told.get(kind) ?? -Infinity) < TOLD_EACH_MS) return;
    if (this.#told.size >= MOST_CAUSES) this.#told.clear();
    this.#told.set(kind, now);
    this.#log({ level: "error", message: `the object store cannot be used: ${this.#place}`, error: reason });
  }
}
