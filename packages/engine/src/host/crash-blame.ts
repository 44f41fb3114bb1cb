/**
 * Which collection to blame when the engine host crashes. Damaged pages end the process, they throw nothing. The
 * collections in flight at a crash become suspects: for a while their calls run one at a time, so that a second
 * crash has at most one suspect in flight, and that one is quarantined. A process that was killed counts for nothing.
 */
import { SheafError } from "@sheaf/protocol";

const CRASH_SIGNALS: ReadonlySet<NodeJS.Signals> = new Set(["SIGSEGV", "SIGBUS", "SIGABRT"]);
/** How long a suspect must live without a crash to be trusted again. */
const SUSPICION_MS = 60_000;
/** An aborted call may still run in the host for a moment. */
const ABORT_GRACE_MS = 5_000;

export class CrashBlame {
  readonly #inFlight = new Map<string, number>();
  /** Collection -> when it is trusted again. */
  readonly #suspects = new Map<string, number>();
  readonly #quarantined = new Set<string>();
  readonly #now: () => number;
  /** The last suspect call in line. Never rejects. */
  #line: Promise<unknown> = Promise.resolve();

  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  get suspects(): readonly string[] {
    return [...this.#suspects.keys()];
  }

  /** Runs a call on a collection; a quarantined one is refused. */
  async run<T>(id: string, signal: AbortSignal | undefined, call: () => Promise<T>): Promise<T> {
    if (!this.#isSuspect(id)) return this.#track(id, signal, call);
    const turn = this.#line.then(() => this.#track(id, signal, call));
    this.#line = turn.catch(() => undefined);
    return turn;
  }

  /** The host has died. Returns the collections that are quarantined from now on. */
  died(signal: NodeJS.Signals | null): readonly string[] {
    const inFlight = [...this.#inFlight.keys()];
    if (signal === null || !CRASH_SIGNALS.has(signal)) return [];
    const guilty = inFlight.filter((id) => this.#isSuspect(id));
    for (const id of guilty) {
      this.#quarantined.add(id);
      this.#suspects.delete(id);
    }
    const trustedFrom = this.#now() + SUSPICION_MS;
    for (const id of inFlight) if (!this.#quarantined.has(id)) this.#suspects.set(id, trustedFrom);
    return guilty;
  }

  async #track<T>(id: string, signal: AbortSignal | undefined, call: () => Promise<T>): Promise<T> {
    if (this.#quarantined.has(id)) throw quarantined(id);
    this.#inFlight.set(id, (this.#inFlight.get(id) ?? 0) + 1);
    try {
      return await call();
    } finally {
      if (signal?.aborted === true) setTimeout(() => this.#leave(id), ABORT_GRACE_MS).unref();
      else this.#leave(id);
    }
  }

  #leave(id: string): void {
    const left = (this.#inFlight.get(id) ?? 0) - 1;
    if (left > 0) this.#inFlight.set(id, left);
    else this.#inFlight.delete(id);
  }

  #isSuspect(id: string): boolean {
    const trustedFrom = this.#suspects.get(id);
    if (trustedFrom === undefined) return false;
    if (this.#now() < trustedFrom) return true;
    this.#suspects.delete(id);
    return false;
  }
}

function quarantined(id: string): SheafError {
  return new SheafError(
    "collection_unavailable",
    `Collection [${id}] crashed the engine twice and is quarantined; run \`sheaf doctor\``,
  );
}
