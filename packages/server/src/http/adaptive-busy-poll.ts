/**
 * Decides when to busy-poll. A single client that sends one request after another spends much of its latency on waking
 * sleeping processes; so the gateway spins for up to 0.4 ms for that client's next request, and gateway and engine host
 * spin for each other's messages. With several clients there is always work, and spinning would take a core from it.
 */
import { BusyWait } from "@sheaf/process";

/** Consecutive requests without a concurrent one, and consecutive prompt ones, before polling begins. */
const STREAK = 8;
const MAX_STREAK = 2 * STREAK;
/** A request is prompt when it comes this soon after the previous answer, in milliseconds; also how long to spin. */
const PROMPT_MS = 0.4;

export class AdaptiveBusyPoll {
  readonly #expectCall: (kind: string) => void;
  readonly #now: () => number;
  readonly #wait = new BusyWait();
  #running = 0;
  #alone = 0;
  #prompt = 0;
  #endedAt = Number.NEGATIVE_INFINITY;

  /**
   * @param expectCall Called before a request that will most likely call the engine, with the kind of the request.
   * @param now Milliseconds of a clock.
   */
  constructor(expectCall: (kind: string) => void, now: () => number = () => performance.now()) {
    this.#expectCall = expectCall;
    this.#now = now;
  }

  /** Whether to spin for the next request once none is running. */
  get isPrompt(): boolean {
    return this.#alone > STREAK && this.#prompt > STREAK;
  }

  /** A request begins; `kind`: of one that will most likely call the engine, there are few of them. */
  begin(kind: string | null): void {
    this.#wait.end();
    this.#running++;
    this.#alone = this.#running === 1 ? this.#alone + 1 : 0;
    // A single late request halves the streak instead of ending it: the machine has other work, too.
    const isPrompt = this.#now() - this.#endedAt < PROMPT_MS;
    this.#prompt = isPrompt ? Math.min(this.#prompt + 1, MAX_STREAK) : this.#prompt >> 1;
    if (kind !== null && this.#alone > STREAK) this.#expectCall(kind);
  }

  /** A request is over. Call it once per request. */
  end(): void {
    this.#running--;
    this.#endedAt = this.#now();
    if (this.#running === 0 && this.isPrompt) this.#wait.begin(PROMPT_MS);
  }
}
