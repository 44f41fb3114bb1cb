/**
 * The regular expressions of one request: gathered while its filters are planned, checked at once before any of them
 * runs.
 */
import { type CancelSignal, LIMITS, invalid } from "@sheaf/protocol";
import { EVERY_DOCUMENT, type TrigramQuery } from "../../segment/trigrams/trigram-query.ts";
import type { TenantRegexes } from "./regex-pool.ts";
import type { RegexThread } from "./regex-thread.ts";

export class RequestPatterns {
  readonly #regexes: TenantRegexes;
  readonly #signal: CancelSignal | undefined;
  /** Pattern -> where it stands in the body, for the first time. */
  readonly #paths = new Map<string, string>();
  #required: ReadonlyMap<string, TrigramQuery> = new Map();

  constructor(regexes: TenantRegexes, signal: CancelSignal | undefined) {
    this.#regexes = regexes;
    this.#signal = signal;
  }

  /** Throws 400 for one more than a request may have. */
  add(pattern: string, path: string): void {
    if (this.#paths.has(pattern)) return;
    if (this.#paths.size >= LIMITS.regexPatterns) {
      throw invalid(path, `a request takes at most ${LIMITS.regexPatterns} regular expressions`);
    }
    this.#paths.set(pattern, path);
  }

  get isEmpty(): boolean {
    return this.#paths.size === 0;
  }

  /** Throws 400, with the path, for a pattern that is none or compiles to too much. */
  async check(): Promise<void> {
    this.#required = await this.#regexes.check(this.#paths, this.#signal);
  }

  /** What every match has; of a checked pattern. */
  required(pattern: string): TrigramQuery {
    return this.#required.get(pattern) ?? EVERY_DOCUMENT;
  }

  /** As `TenantRegexes.run`. */
  run<T>(work: (thread: RegexThread) => Promise<T>): Promise<T> {
    return this.#regexes.run(this.#signal, work);
  }
}
