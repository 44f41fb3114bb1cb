/** What a check says of a request: a list that is bounded, whatever the request. */
import type { ErrorCode, SheafError } from "../errors.ts";

export type WarningCode =
  | "ignored_member"
  | "constant_rank"
  | "fusion_limit"
  | "leaf_limit"
  | "mixed_numbers"
  | "never_matches"
  | "unknown_key"
  | "model_unavailable";

export interface Finding {
  /** Place in the body, "" for all of it. */
  readonly path: string;
  readonly code: ErrorCode | WarningCode;
  /** Of a problem: word for word what a search would be refused with. */
  readonly message: string;
}

const MOST_FINDINGS = 1_000;
/** Paths hold keys of the body. */
const MOST_CHARACTERS = 1024 * 1024;

export class Findings {
  readonly #list: Finding[] = [];
  readonly #known = new Set<string>();
  #characters = 0;

  constructor(list: readonly Finding[] = []) {
    for (const finding of list) this.add(finding);
  }

  get list(): readonly Finding[] {
    return this.#list;
  }

  get isFull(): boolean {
    return this.#list.length >= MOST_FINDINGS || this.#characters >= MOST_CHARACTERS;
  }

  /** Once, and not at all where the list is full. */
  add(finding: Finding): void {
    const { path, code, message } = finding;
    const identity = JSON.stringify([path, code, message]);
    if (this.isFull || this.#known.has(identity)) return;
    this.#known.add(identity);
    this.#characters += identity.length;
    this.#list.push(finding);
  }

  /** @param path Where the error does not say its own. */
  addError({ code, message, path }: SheafError, fallback: string): void {
    this.add({ path: path ?? fallback, code, message });
  }
}
