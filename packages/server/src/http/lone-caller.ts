/**
 * Knows when a caller is alone and asks one thing after another. Most of what it then waits for, beside the work itself,
 * is that processes are woken; so its next request, and within the request the engine's answer, are waited for awake.
 * With several callers at a time there is always something to do, and no core to keep from doing it.
 */
import { BusyWait } from "@sheaf/process";

/** So many requests in a row without another beside them, and so many promptly after one another. */
const STREAK = 8;
const MAX_STREAK = 2 * STREAK;
/** How soon after an answer the next request comes that is waited for awake, in milliseconds. */
const PROMPT_MS = 0.4;

export class LoneCaller {
  readonly #expectCall: () => void;
  readonly #now: () => number;
  readonly #wait = new BusyWait();
  #running = 0;
  #alone = 0;
  #prompt = 0;
  #endedAt = Number.NEGATIVE_INFINITY;

  /**
   * @param expectCall Told that a call of the engine is about to come.
   * @param now Milliseconds of a clock.
   */
  constructor(expectCall: () => void, now: () => number = () => performance.now()) {
    this.#expectCall = expectCall;
    this.#now = now;
  }

  /** Whether the next request is waited for awake once nothing is running. */
  get isPrompt(): boolean {
    return this.#alone > STREAK && this.#prompt > STREAK;
  }

  /** A request begins, which will most likely ask the engine, or not. */
  begin(asksEngine: boolean): void {
    this.#wait.end();
    this.#running++;
    this.#alone = this.#running === 1 ? this.#alone + 1 : 0;
    // One that is late now and then, for whatever else the machine does, does not begin from nothing.
    const isPrompt = this.#now() - this.#endedAt < PROMPT_MS;
    this.#prompt = isPrompt ? Math.min(this.#prompt + 1, MAX_STREAK) : this.#prompt >> 1;
    if (asksEngine && this.#alone > STREAK) this.#expectCall();
  }

  /** It is over; to be called once for each. */
  end(): void {
    this.#running--;
    this.#endedAt = this.#now();
    if (this.#running === 0 && this.isPrompt) this.#wait.begin(PROMPT_MS);
  }
}
