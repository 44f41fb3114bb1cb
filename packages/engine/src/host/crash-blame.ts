/**
 * Which collection to blame when the engine host crashes. Damaged pages end the process, they throw nothing. The
 * collections in flight at a crash become suspects, and their calls wait until the next host has gone through their
 * files: a damaged one is out of service then, and the others are cleared. Where all files are sound, calls of
 * suspects run one at a time for a while, so that a second crash has at most one suspect in flight, and that one is
 * out of service. A process that was killed counts for nothing.
 */
import { type CancelSignal, SheafError } from "@sheaf/protocol";
import type { OutOfService } from "../collection/collection-opener.ts";

/** What ends a process that reads nonsense; V8 ends itself by some of them too. */
const CRASH_SIGNALS: ReadonlySet<NodeJS.Signals> = new Set([
  "SIGSEGV",
  "SIGBUS",
  "SIGABRT",
  "SIGFPE",
  "SIGILL",
  "SIGTRAP",
]);
/** How long a suspect must live without a crash to be trusted again. */
const SUSPICION_MS = 60_000;
/** An aborted call may still run in the host for a moment. */
const ABORT_GRACE_MS = 5_000;

/** Not one that somebody has sent. */
export function isCrash(signal: NodeJS.Signals | null): signal is NodeJS.Signals {
  return signal !== null && CRASH_SIGNALS.has(signal);
}

/** What an engine says that no host could start for. */
export function crashedAtStart(signal: NodeJS.Signals): string {
  return `the engine host ended with ${signal} as it opened the catalog, which may be damaged; run \`sheaf doctor\``;
}

export class CrashBlame {
  readonly #inFlight = new Map<string, number>();
  /** What the host has told of itself. */
  readonly #touched = new Map<string, number>();
  /** Collection -> when it is trusted again. */
  readonly #suspects = new Map<string, number>();
  /** Collection -> why. */
  readonly #outOfService = new Map<string, string>();
  readonly #now: () => number;
  /** The last suspect call in line. Never rejects. */
  #line: Promise<unknown> = Promise.resolve();
  /** Lets the line go on; `null`: nothing holds it. */
  #release: (() => void) | null = null;

  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  get suspects(): readonly string[] {
    return [...this.#suspects.keys()];
  }

  get outOfService(): readonly OutOfService[] {
    return [...this.#outOfService].map(([id, reason]) => ({ id, reason }));
  }

  /** Runs a call on a collection; one that is out of service is refused. */
  run<T>(id: string, signal: CancelSignal | undefined, call: () => Promise<T>): Promise<T> {
    if (!this.#isSuspect(id)) return this.#track(id, signal, call);
    const turn = this.#line.then(() => this.#track(id, signal, call));
    this.#line = turn.catch(() => undefined);
    return turn;
  }

  /** The host begins, or ends, to read the collection for another reason than a call on it. */
  touch(id: string, touching: boolean): void {
    if (touching) enter(this.#touched, id);
    else leave(this.#touched, id);
  }

  /**
   * The host has died. Returns the collections that are out of service from now on. While there are suspects their
   * calls wait for `judge`.
   */
  died(signal: NodeJS.Signals | null): readonly string[] {
    const inFlight = [...new Set([...this.#inFlight.keys(), ...this.#touched.keys()])];
    this.#touched.clear();
    if (!isCrash(signal)) return [];
    const guilty = inFlight.filter((id) => this.#isSuspect(id));
    for (const id of guilty) {
      this.#outOfService.set(id, `Collection [${id}] crashed the engine twice; run \`sheaf doctor\``);
      this.#suspects.delete(id);
    }
    const trustedFrom = this.#now() + SUSPICION_MS;
    for (const id of inFlight) if (!this.#outOfService.has(id)) this.#suspects.set(id, trustedFrom);
    if (this.#suspects.size > 0) this.#hold();
    return guilty;
  }

  /** The files of all suspects were gone through: what is wrong is out of service, and explains the crash. */
  judge(damaged: readonly OutOfService[]): void {
    for (const { id, reason } of damaged) this.#outOfService.set(id, reason);
    if (damaged.length > 0) this.#suspects.clear();
    this.#release?.();
    this.#release = null;
  }

  async #track<T>(id: string, signal: CancelSignal | undefined, call: () => Promise<T>): Promise<T> {
    const reason = this.#outOfService.get(id);
    if (reason !== undefined) throw new SheafError("collection_unavailable", reason);
    enter(this.#inFlight, id);
    try {
      return await call();
    } finally {
      const done = (): void => leave(this.#inFlight, id);
      if (signal?.aborted === true) setTimeout(done, ABORT_GRACE_MS).unref();
      else done();
    }
  }

  #hold(): void {
    if (this.#release !== null) return;
    const held = new Promise<void>((resolve) => (this.#release = resolve));
    this.#line = this.#line.then(() => held);
  }

  #isSuspect(id: string): boolean {
    const trustedFrom = this.#suspects.get(id);
    if (trustedFrom === undefined) return false;
    if (this.#now() < trustedFrom) return true;
    this.#suspects.delete(id);
    return false;
  }
}

function enter(counts: Map<string, number>, id: string): void {
  counts.set(id, (counts.get(id) ?? 0) + 1);
}

function leave(counts: Map<string, number>, id: string): void {
  const left = (counts.get(id) ?? 0) - 1;
  if (left > 0) counts.set(id, left);
  else counts.delete(id);
}
