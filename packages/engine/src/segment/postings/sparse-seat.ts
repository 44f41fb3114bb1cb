/**
 * The place in a shared block where the side thread works: its own sums, the search that was left there for it, and
 * what it has found. The block's own thread posts and takes, the side thread works; every change of hands is one atomic
 * step. What has not been begun is taken back, so nobody waits for a thread that has not woken up. A search that does
 * not come back for what was found gives way to the next one, and finds it by itself if it comes after all.
 */
import { type KernelMemory, allocationBytes } from "../../kernels/kernel-memory.ts";
import type { PostingLists } from "./posting-lists.ts";
import { SparseSums, type WeightedTerms, sumsBytes } from "./sparse-sums.ts";
import { TopK } from "../top-k.ts";

/** What one search leaves in every block that it reads. */
export interface PostedSearch {
  /** The same for all blocks of a search, and for none of another. */
  readonly number: number;
  readonly batch: WeightedTerms;
  /** At least 1. */
  readonly k: number;
}

/** Rows that can be handed over; with more, to take them would be most of the work. */
const MAX_FOUND = 4_096;
/** How long to look before sleeping, and in all: most blocks take less than the one, none as long as the other. */
const AWAKE_MS = 1;
const PATIENCE_MS = 50;

const State = { free: 0, posted: 1, taken: 2, done: 3, failed: 4 } as const;
const Word = { state: 0, thread: 1, closed: 2, search: 3, k: 4, found: 5 } as const;
const WORDS = 16;

export function seatBytes(rowCount: number): number {
  return sumsBytes(rowCount) + allocationBytes(4 * WORDS) + 2 * allocationBytes(4 * MAX_FOUND);
}

export class SparseSeat {
  readonly #sums: SparseSums;
  readonly #words: Int32Array;
  readonly #rows: Uint32Array;
  readonly #distances: Float32Array;

  /** `lists` are in `memory`, where both threads allocate the same. */
  constructor(memory: KernelMemory, lists: PostingLists) {
    this.#sums = new SparseSums(memory, lists);
    this.#words = memory.i32(memory.allocate(4 * WORDS), WORDS);
    this.#rows = memory.u32(memory.allocate(4 * MAX_FOUND), MAX_FOUND);
    this.#distances = memory.f32(memory.allocate(4 * MAX_FOUND), MAX_FOUND);
  }

  /** The side thread, by its number, that works here; 0: none does. */
  get thread(): number {
    return Atomics.load(this.#words, Word.thread);
  }

  /** The newest that was posted. */
  get search(): number {
    return this.#words[Word.search]!;
  }

  /** What the search has posted is there to be taken. */
  isDone(search: number): boolean {
    return this.#state === State.done && this.search === search;
  }

  get isClosed(): boolean {
    return Atomics.load(this.#words, Word.closed) === 1;
  }

  /** The block is gone: the side thread need not keep it. */
  close(): void {
    Atomics.store(this.#words, Word.closed, 1);
  }

  /** `false`: another search's work waits or is under way. */
  post({ number, batch, k }: PostedSearch, mask: Uint32Array): boolean {
    if (this.#state === State.posted || this.#state === State.taken) return false;
    this.#sums.setTerms(batch);
    this.#sums.setMask(mask);
    this.#words[Word.search] = number;
    this.#words[Word.k] = k;
    Atomics.store(this.#words, Word.state, State.posted);
    return true;
  }

  /** What the search has posted will not be done here any more; `false`: it was begun. */
  takeBack(search: number): boolean {
    return this.search === search && this.#move(State.posted, State.free);
  }

  /**
   * Waits for what the search has posted, once it was begun, and calls `found` with the rows, among which the block's
   * share of the `k` nearest is. `false`: it is not to be had here.
   */
  take(search: number, found: (row: number, distance: number) => void): boolean {
    if (this.search !== search) return false;
    const end = performance.now() + AWAKE_MS;
    while (this.#state === State.taken && performance.now() < end);
    Atomics.wait(this.#words, Word.state, State.taken, PATIENCE_MS);
    if (this.#state !== State.done) return false;
    const count = this.#words[Word.found]!;
    for (let i = 0; i < count; i++) found(this.#rows[i]!, this.#distances[i]!);
    return true;
  }

  /** By a side thread: works here from now on. What another one has left undone is forgotten. */
  sit(thread: number): void {
    this.#sums.clear();
    Atomics.store(this.#words, Word.state, State.free);
    Atomics.store(this.#words, Word.thread, thread);
  }

  /** By the side thread: does what was posted. `best` knows what the same search has found in other blocks. */
  work(best: SearchBest): void {
    if (!this.#move(State.posted, State.taken)) return;
    const top = best.of(this.#words[Word.search]!, this.#words[Word.k]!);
    let count = 0;
    this.#sums.addSet();
    this.#sums.collectSet(top, (row, distance) => {
      // For the bound alone: the order of equals is not known here, so they are all handed over.
      top.push(distance, row, row);
      if (count < MAX_FOUND) {
        this.#rows[count] = row;
        this.#distances[count] = distance;
      }
      count++;
    });
    const isWhole = count <= MAX_FOUND;
    if (isWhole) this.#words[Word.found] = this.#keepWithin(top.bound, count);
    Atomics.store(this.#words, Word.state, isWhole ? State.done : State.failed);
    Atomics.notify(this.#words, Word.state);
  }

  /** Moves what is not further away than the bound to the front, and returns how much that is. */
  #keepWithin(bound: number, count: number): number {
    let kept = 0;
    for (let i = 0; i < count; i++) {
      if (this.#distances[i]! > bound) continue;
      this.#rows[kept] = this.#rows[i]!;
      this.#distances[kept++] = this.#distances[i]!;
    }
    return kept;
  }

  get #state(): number {
    return Atomics.load(this.#words, Word.state);
  }

  #move(from: number, to: number): boolean {
    return Atomics.compareExchange(this.#words, Word.state, from, to) === from;
  }
}

/** The best of the search that a side thread is at, over all its blocks. */
export class SearchBest {
  #search = -1;
  #top = new TopK(1);

  of(search: number, k: number): TopK {
    if (search !== this.#search) this.#top = new TopK(k);
    this.#search = search;
    return this.#top;
  }
}
