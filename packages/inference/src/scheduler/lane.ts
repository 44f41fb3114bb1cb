/**
 * A queue of texts with its share of the model. Shares are kept in virtual time: each batch moves its lane forward by
 * its cost over the lane's weight, and the lane furthest behind is next. A lane that had nothing waiting starts at the
 * clock of all lanes, so that it has saved up neither credit nor debt (start-time fair queueing).
 *
 * Within a lane the owners of texts share alike, by the same rule: a text's turn is the end of its owner's previous
 * text, or the turn of the lane where that is later, and texts wait in the order of their turns. So an owner with one
 * text waits for at most one text of every other owner, however many those have sent. The requests of one owner share what
 * the owner has, by the same rule again: a small write beside a large one of the same tenant has its vectors soon.
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

/** Waiting texts beyond which requests of an owner come one after the other: to arrange more takes the loop too long. */
const MOST_REARRANGED = 10_000;

interface Waiting<T> {
  readonly text: T;
  readonly length: number;
  /** In virtual time of the lane: tokens that one owner has had. */
  turn: number;
  /** The same among the requests of its owner, whose waiting texts are in its order. */
  readonly place: number;
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
    const turn = Math.max(this.#turn, this.#ends.get(owner) ?? 0);
    const isBeside = this.#ends.has(owner) && this.#queue.length <= MOST_REARRANGED;
    const before = isBeside ? this.#queue.filter(({ text }) => text.owner === owner) : [];
    const left = before.reduce((sum, { length }) => sum + length, 0);
    let place = before[0]?.place ?? this.#endOfPlaces(owner);
    const added = texts.map((text): Waiting<T> => {
      const waiting = { text, length: text.length, turn, place };
      place += text.length;
      return waiting;
    });
    const own = merged(before, added, "place");
    // Texts that ran ahead of their turns have been had: the owner's time goes on as if they had run in order.
    this.#ends.set(owner, takeTurns(own, turn - left));
    if (isBeside) this.#queue = this.#queue.filter(({ text }) => text.owner !== owner);
    this.#queue = merged(this.#queue, own, "turn");
  }

  /** Behind all that the owner has waiting. */
  #endOfPlaces(owner: string): number {
    if (!this.#ends.has(owner)) return 0;
    const last = this.#queue.findLast(({ text }) => text.owner === owner);
    return last === undefined ? 0 : last.place + last.length;
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

/** Gives the texts turns one after the other, and where the last one ends. */
function takeTurns<T>(waiting: readonly Waiting<T>[], start: number): number {
  let turn = start;
  for (const text of waiting) {
    text.turn = turn;
    turn += text.length;
  }
  return turn;
}

/** Both are in order; where they are equal, `queue` goes first. */
function merged<T>(queue: Waiting<T>[], added: readonly Waiting<T>[], order: "turn" | "place"): Waiting<T>[] {
  const first = added[0]?.[order] ?? Infinity;
  // The usual case: one owner, or others that are not ahead.
  const last = queue.at(-1)?.[order] ?? 0;
  if (last <= first) {
    for (const waiting of added) queue.push(waiting);
    return queue;
  }
  const both: Waiting<T>[] = [];
  let next = 0;
  for (const waiting of queue) {
    while (next < added.length && added[next]![order] < waiting[order]) both.push(added[next++]!);
    both.push(waiting);
  }
  while (next < added.length) both.push(added[next++]!);
  return both;
}

function tokensOf(texts: readonly LaneText[]): number {
  return texts.reduce((sum, text) => sum + text.length, 0);
}
