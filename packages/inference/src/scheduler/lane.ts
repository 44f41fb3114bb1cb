/**
 * A queue of texts with its share of the model. Shares are kept in virtual time: each batch moves its lane forward by
 * its cost over the lane's weight, and the lane furthest behind is next. A lane that had nothing waiting starts at the
 * clock of all lanes, so that it has saved up neither credit nor debt (start-time fair queueing).
 *
 * Within a lane the owners of texts share alike, by the same rule: a text's turn is the end of its owner's previous
 * text, or the turn of the lane where that is later, and texts wait in the order of their turns. So an owner with one
 * text waits for at most one text of every other owner, however many those have sent.
 */
import { Admission, type AdmissionOptions } from "./admission.ts";
import type { BatchPolicy } from "./take-batch.ts";

export interface LaneText {
  readonly ids: Int32Array;
  readonly length: number;
  /** Whose share of the lane it uses. */
  readonly owner: string;
}

export interface LaneOptions {
  readonly weight: number;
  readonly admission: AdmissionOptions;
  readonly policy: BatchPolicy;
}

interface Waiting<T> {
  readonly text: T;
  readonly length: number;
  /** In virtual time of the lane: tokens that one owner has had. */
  readonly turn: number;
}

export class Lane<T extends LaneText> {
  readonly admission: Admission;
  readonly #weight: number;
  readonly #policy: BatchPolicy;
  /** By ascending turn, then arrival. */
  #queue: Waiting<T>[] = [];
  /** Where the next text of an owner begins. Empty with the queue. */
  readonly #ends = new Map<string, number>();
  /** Of the text that led the batch served last. */
  #turn = 0;
  #time = 0;

  constructor({ weight, admission, policy }: LaneOptions) {
    this.#weight = weight;
    this.#policy = policy;
    this.admission = new Admission(admission);
  }

  get empty(): boolean {
    return this.#queue.length === 0;
  }

  /** Of the text that leads the next batch. */
  get nextOwner(): string {
    return this.#queue[0]?.text.owner ?? "";
  }

  get time(): number {
    return this.#time;
  }

  /**
   * Throws 429 or 503 if the lane is full; else all of `texts`, which are of one owner, wait. `clock` is the time of the
   * batch served last.
   */
  push(texts: readonly T[], clock: number): void {
    const owner = texts[0]?.owner ?? "";
    this.admission.enter(tokensOf(texts), owner);
    if (this.empty) this.#time = Math.max(this.#time, clock);
    let turn = Math.max(this.#turn, this.#ends.get(owner) ?? 0);
    const added = texts.map((text) => {
      const waiting = { text, length: text.length, turn };
      turn += text.length;
      return waiting;
    });
    this.#ends.set(owner, turn);
    this.#queue = merged(this.#queue, added);
  }

  /** Removes and gives the next batch, in the order of turns. */
  take(budgetTokens: number): T[] {
    this.#turn = Math.max(this.#turn, this.#queue[0]?.turn ?? 0);
    const positions = this.#policy(this.#queue, budgetTokens);
    const batch = positions.map((position) => (this.#queue[position] as Waiting<T>).text);
    const taken = new Set(positions);
    const seen = (positions.at(-1) ?? -1) + 1;
    const left = this.#queue.slice(0, seen).filter((_, position) => !taken.has(position));
    this.#queue.splice(0, seen, ...left);
    for (const text of batch) this.admission.leave(text.length, text.owner);
    const longest = batch.reduce((max, text) => Math.max(max, text.length), 0);
    this.#time += (longest * batch.length) / this.#weight;
    this.#forget();
    return batch;
  }

  /** Drops the waiting texts that `unwanted` names; their owners need not wait for them. */
  drop(unwanted: (text: T) => boolean): void {
    const dropped = this.#queue.filter(({ text }) => unwanted(text));
    if (dropped.length === 0) return;
    this.#queue = this.#queue.filter(({ text }) => !unwanted(text));
    for (const { text } of dropped) {
      this.admission.leave(text.length, text.owner);
      this.#ends.delete(text.owner);
    }
    for (const { text, turn } of this.#queue) {
      this.#ends.set(text.owner, Math.max(this.#ends.get(text.owner) ?? 0, turn + text.length));
    }
    this.#forget();
  }

  /** What owners have had is of no account once nobody waits, nor where it is behind the lane's turn. */
  #forget(): void {
    if (this.empty) {
      this.#ends.clear();
      this.#turn = 0;
      return;
    }
    for (const [owner, end] of this.#ends) if (end <= this.#turn) this.#ends.delete(owner);
  }
}

/** Both are in order; where turns are equal, `queue` goes first. */
function merged<T>(queue: Waiting<T>[], added: readonly Waiting<T>[]): Waiting<T>[] {
  const first = added[0]?.turn ?? Infinity;
  // The usual case: one owner, or others that are not ahead.
  const last = queue.at(-1)?.turn ?? 0;
  if (last <= first) {
    for (const waiting of added) queue.push(waiting);
    return queue;
  }
  const both: Waiting<T>[] = [];
  let next = 0;
  for (const waiting of queue) {
    while (next < added.length && added[next]!.turn < waiting.turn) both.push(added[next++]!);
    both.push(waiting);
  }
  while (next < added.length) both.push(added[next++]!);
  return both;
}

function tokensOf(texts: readonly LaneText[]): number {
  return texts.reduce((sum, text) => sum + text.length, 0);
}
