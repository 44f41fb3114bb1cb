/**
 * Counts what waits and refuses more than a bound: a refusal now is kinder than a reply after the caller has gone. An
 * empty queue admits anything, so that no request is impossible, whatever its size.
 */
import { SheafError } from "@sheaf/protocol";

export interface AdmissionOptions {
  /** For the message: `the queue of BAAI/bge-m3`. */
  readonly name: string;
  readonly unit: "tokens" | "characters";
  readonly bound: number;
  /** Units a second at present, for `Retry-After`; 0 while unknown. */
  readonly rate: () => number;
}

const MAX_RETRY_AFTER_SECONDS = 60;

export class Admission {
  readonly #options: AdmissionOptions;
  #waiting = 0;

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** 429 `rate_limited` with `Retry-After` if `units` more would exceed the bound. */
  enter(units: number): void {
    const { name, unit, bound } = this.#options;
    if (this.#waiting > 0 && this.#waiting + units > bound) {
      throw new SheafError(
        "rate_limited",
        `${name} is full: ${this.#waiting} ${unit} wait and ${units} more would exceed ${bound}; try again later`,
        { retryAfterSeconds: this.#retryAfterSeconds() },
      );
    }
    this.#waiting += units;
  }

  leave(units: number): void {
    this.#waiting -= units;
  }

  #retryAfterSeconds(): number {
    const rate = this.#options.rate();
    if (rate <= 0) return 1;
    return Math.min(MAX_RETRY_AFTER_SECONDS, Math.max(1, Math.ceil(this.#waiting / rate)));
  }
}
