/**
 * A queue of texts with its share of the model. Shares are kept in virtual time: each batch moves its lane forward by
 * its cost over the lane's weight, and the lane furthest behind is next. A lane that had nothing waiting starts at the
 * clock of all lanes, so that it has saved up neither credit nor debt (start-time fair queueing).
 */
import { Admission, type AdmissionOptions } from "./admission.ts";
import type { BatchPolicy } from "./take-batch.ts";

export interface LaneText {
  readonly ids: Int32Array;
  readonly length: number;
}

export interface LaneOptions {
  readonly weight: number;
  readonly admission: AdmissionOptions;
  readonly policy: BatchPolicy;
}

export class Lane<T extends LaneText> {
  readonly admission: Admission;
  readonly #weight: number;
  readonly #policy: BatchPolicy;
  #queue: T[] = [];
  #time = 0;

  constructor({ weight, admission, policy }: LaneOptions) {
    this.#weight = weight;
    this.#policy = policy;
    this.admission = new Admission(admission);
  }

  get empty(): boolean {
    return this.#queue.length === 0;
  }

  get time(): number {
    return this.#time;
  }

  /** Throws 429 if the lane is full; else all of `texts` wait. `clock` is the time of the batch served last. */
  push(texts: readonly T[], clock: number): void {
    this.admission.enter(tokensOf(texts));
    if (this.empty) this.#time = Math.max(this.#time, clock);
    for (const text of texts) this.#queue.push(text);
  }

  /** Removes and gives the next batch, oldest text first. */
  take(budgetTokens: number): T[] {
    const positions = this.#policy(this.#queue, budgetTokens);
    const batch = positions.map((position) => this.#queue[position] as T);
    const taken = new Set(positions);
    const seen = (positions.at(-1) ?? -1) + 1;
    const left = this.#queue.slice(0, seen).filter((_, position) => !taken.has(position));
    this.#queue.splice(0, seen, ...left);
    this.admission.leave(tokensOf(batch));
    const longest = batch.reduce((max, text) => Math.max(max, text.length), 0);
    this.#time += (longest * batch.length) / this.#weight;
    return batch;
  }

  /** Drops the waiting texts that `unwanted` names. */
  drop(unwanted: (text: T) => boolean): void {
    const dropped = this.#queue.filter(unwanted);
    if (dropped.length === 0) return;
    this.#queue = this.#queue.filter((text) => !unwanted(text));
    this.admission.leave(tokensOf(dropped));
  }
}

function tokensOf(texts: readonly LaneText[]): number {
  return texts.reduce((sum, text) => sum + text.length, 0);
}
