/**
 * Counts what waits for each owner and refuses more than a bound: a refusal now is kinder than a reply after the caller
 * has gone. An owner for whom nothing waits is admitted with anything, so that no request is impossible, whatever its
 * size, as long as the owners together stay within their bound.
 */
import { SheafError } from "@sheaf/protocol";

export interface AdmissionOptions {
  /** For the message: `the queue of BAAI/bge-m3`. */
  readonly name: string;
  readonly unit: "tokens" | "characters";
  /** Of one owner. */
  readonly bound: number;
  /** Units a second at present, for `Retry-After`; 0 while unknown. */
  readonly rate: () => number;
}

const MAX_RETRY_AFTER_SECONDS = 60;
/** The bound of all owners together, in bounds of one. */
const WHOLE = 4;

export class Admission {
  readonly #options: AdmissionOptions;
  readonly #byOwner = new Map<string, number>();
  #waiting = 0;

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  /** Of all owners. */
  get waiting(): number {
    return this.#waiting;
  }

  /** 429 if `units` more would exceed the owner's bound, 503 if that of all; both say when to come back. */
  enter(units: number, owner: string): void {
    const { name, unit, bound } = this.#options;
    const own = this.#byOwner.get(owner) ?? 0;
    if (own > 0 && own + units > bound) {
      throw new SheafError(
        "rate_limited",
        `${name} is full: ${own} ${unit} of yours wait and ${units} more would exceed ${bound}; try again later`,
        { retryAfterSeconds: this.#retryAfterSeconds(own) },
      );
    }
    if (this.#waiting > 0 && this.#waiting + units > WHOLE * bound) {
      throw new SheafError(
        "unavailable",
        `${name} is full: ${this.#waiting} ${unit} wait and ${units} more would exceed ${WHOLE * bound}; try again later`,
        { retryAfterSeconds: this.#retryAfterSeconds(this.#waiting) },
      );
    }
    this.#waiting += units;
    this.#byOwner.set(owner, own + units);
  }

  leave(units: number, owner: string): void {
    this.#waiting -= units;
    const own = (this.#byOwner.get(owner) ?? 0) - units;
    if (own > 0) this.#byOwner.set(owner, own);
    else this.#byOwner.delete(owner);
  }

  #retryAfterSeconds(waiting: number): number {
    const rate = this.#options.rate();
    if (rate <= 0) return 1;
    return Math.min(MAX_RETRY_AFTER_SECONDS, Math.max(1, Math.ceil(waiting / rate)));
  }
}
