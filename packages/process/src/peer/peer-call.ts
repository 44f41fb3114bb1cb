/** One call that several peers can answer: whom to ask, when to ask a second one, and which errors another one may not have. */
import { type CancelSignal, Cancellation, SheafError, abortError } from "@sheaf/protocol";
import type { CallBudget } from "./call-budget.ts";
import type { HedgeDelay } from "./hedge-delay.ts";
import { type PeerCallOptions, PeerFailure, type PeerLink } from "./peer-link.ts";

/**
 * `once`: for what changes something: a second peer is asked only where the first has certainly not begun. `again`: also where
 * the first was lost. `hedged`: also where it is slow; the first answer counts.
 */
export type Repeat = "once" | "again" | "hedged";

export interface PeerCall {
  readonly method: string;
  readonly args: readonly unknown[];
  readonly options: PeerCallOptions;
  readonly repeat: Repeat;
}

export interface PeerAnswer {
  readonly value: unknown;
  readonly link: PeerLink;
}

export interface PeerCallRules {
  /** What the peers are, for messages: `search node`. */
  readonly what: string;
  readonly budget: CallBudget;
  readonly delay: HedgeDelay;
  /** An error of a peer that another one may not have. */
  readonly isOfPeer?: (error: unknown) => boolean;
  /** One of these that says that the peer has done nothing: the call is sent on, also where it changes something. */
  readonly isUndone?: (error: unknown) => boolean;
}

const MOST_ATTEMPTS = 3;

/** @param links Those that may be asked, in this order. */
export function callPeers(
  links: readonly PeerLink[],
  call: PeerCall,
  rules: PeerCallRules,
): Promise<PeerAnswer> {
  if (links.length === 0) return Promise.reject(nobody(rules.what));
  return new Attempts(links, call, rules).answer;
}

class Attempts {
  readonly answer: Promise<PeerAnswer>;
  readonly #links: readonly PeerLink[];
  readonly #call: PeerCall;
  readonly #rules: PeerCallRules;
  readonly #running = new Set<Cancellation>();
  readonly #onAbort: () => void;
  #resolve!: (answer: PeerAnswer) => void;
  #reject!: (error: unknown) => void;
  #next = 0;
  #hedge: NodeJS.Timeout | undefined;
  #isOver = false;
  /** What the caller is told rather than that one peer could do nothing: of a peer that may answer a moment later. */
  #failure: { readonly error: unknown } | null = null;

  constructor(links: readonly PeerLink[], call: PeerCall, rules: PeerCallRules) {
    this.#links = links;
    this.#call = call;
    this.#rules = rules;
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    const signal: CancelSignal | undefined = call.options.signal;
    this.#onAbort = () => this.#end(() => this.#reject(abortError(signal!)));
    if (signal?.aborted === true) {
      this.#onAbort();
      return;
    }
    signal?.addEventListener("abort", this.#onAbort, { once: true });
    rules.budget.earn();
    this.#begin();
  }

  #begin(): void {
    const link = this.#links[this.#next++];
    if (link === undefined) return;
    const { method, args, options, repeat } = this.#call;
    const signal = new Cancellation();
    const since = performance.now();
    this.#running.add(signal);
    clearTimeout(this.#hedge);
    if (repeat === "hedged" && this.#hasNext)
      this.#hedge = setTimeout(() => this.#rules.budget.take() && this.#begin(), this.#rules.delay.ms);
    link.call(method, args, { ...options, signal }).then(
      (value) => {
        if (repeat === "hedged") this.#rules.delay.add(performance.now() - since);
        this.#running.delete(signal);
        this.#end(() => this.#resolve({ value, link }));
      },
      (error: unknown) => {
        this.#running.delete(signal);
        if (!this.#isOver) this.#fail(error);
      },
    );
  }

  get #hasNext(): boolean {
    return this.#next < Math.min(this.#links.length, MOST_ATTEMPTS);
  }

  #fail(error: unknown): void {
    const { repeat } = this.#call;
    const isRefused = error instanceof PeerFailure && error.fate === "refused";
    // What a peer answers at once makes no overload worse.
    const isFree = isRefused || this.#rules.isUndone?.(error) === true;
    const isOfPeer = isFree || error instanceof PeerFailure || this.#rules.isOfPeer?.(error) === true;
    const mayRepeat = repeat !== "once" || isFree;
    if (isRefused || !isFree) this.#failure = { error };
    if (isOfPeer && mayRepeat && this.#hasNext && (isFree || this.#rules.budget.take())) this.#begin();
    // Another attempt that is under way may still answer, whatever this one says of its own peer.
    else if (!isOfPeer || this.#running.size === 0)
      this.#end(() => this.#reject(this.#told((this.#failure ?? { error }).error)));
  }

  /** What the caller is told of a peer that has failed. */
  #told(error: unknown): unknown {
    if (!(error instanceof PeerFailure)) return error;
    const { what } = this.#rules;
    if (error.fate === "refused") return nobody(what, error);
    const unknown = "; whether the change was made cannot be told: look before you send it again";
    return new SheafError(
      "unavailable",
      `the ${what} has ended before it answered${this.#call.repeat === "once" ? unknown : "; try again"}`,
      { retryAfterSeconds: 1, cause: error },
    );
  }

  /** The others, if any, are cancelled. */
  #end(settle: () => void): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#hedge);
    this.#call.options.signal?.removeEventListener("abort", this.#onAbort);
    settle();
    const reason = new SheafError("cancelled", "another peer has answered");
    for (const signal of this.#running) signal.abort(reason);
    this.#running.clear();
  }
}

function nobody(what: string, cause?: unknown): SheafError {
  return new SheafError("unavailable", `no ${what} takes calls now; try again`, {
    retryAfterSeconds: 1,
    cause,
  });
}
