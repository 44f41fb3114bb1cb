/**
 * Candidates of segments whose vectors are in files, of all together, waiting to be read: the best of them first, whichever
 * segment they are of. A read takes as long as twenty estimates or more, and what the best ones score rules out most others,
 * which a segment that is looked at by itself reads to find its own best.
 */
import type { DenseQuery } from "./dense-query.ts";
import { KthBest, type Nearest } from "./nearest.ts";
import type { SegmentSearch } from "./segment-search.ts";

/** Candidates that are read at first; then twice as many each time, up to what is read between two pauses. */
const FIRST_READ = 32;
const MOST_READ = 512;

export class CandidatePool {
  readonly #k: number;
  readonly #nearest: Nearest;
  readonly #parts: PooledPart[] = [];

  constructor({ k, nearest }: Pick<DenseQuery, "k" | "nearest">) {
    this.#k = k;
    this.#nearest = nearest;
  }

  /** The query, for a segment whose candidates wait here instead of being offered. */
  pooling(query: DenseQuery, search: SegmentSearch): DenseQuery {
    const waiting = new WaitingCandidates();
    const pooled = { ...query, waiting };
    this.#parts.push({ search, query: pooled, waiting });
    return pooled;
  }

  /** Offers those that can be among the nearest. Nothing waits afterwards. */
  *read(): Generator<void, void> {
    for (
      let most = Math.max(FIRST_READ, 2 * this.#k);
      ;
      most = Math.max(most, Math.min(2 * most, MOST_READ))
    ) {
      const best = new KthBest(most);
      let count = 0;
      for (const { waiting } of this.#parts) count += waiting.offerBounds(best, this.#nearest.bar);
      const cut = best.value;
      for (const { search, query, waiting } of this.#parts)
        search.offer(query, waiting.take(cut, this.#nearest.bar));
      if (count <= most) return;
      yield;
    }
  }
}

interface PooledPart {
  readonly search: SegmentSearch;
  readonly query: DenseQuery;
  readonly waiting: WaitingCandidates;
}

/** Slots of one segment by the most that their scores may be. */
export class WaitingCandidates {
  #slots: number[] = [];
  #bounds: number[] = [];

  /** Those that reach the bar. `ids` are slots, or positions among `names`. */
  add(ids: Uint32Array, bounds: Float32Array, names: Uint32Array | null, bar: number): void {
    for (let i = 0; i < ids.length; i++) {
      if (!(bounds[i]! >= bar)) continue;
      this.#slots.push(names === null ? ids[i]! : names[ids[i]!]!);
      this.#bounds.push(bounds[i]!);
    }
  }

  /** Of those that reach the threshold; how many. */
  offerBounds(best: KthBest, threshold: number): number {
    let count = 0;
    for (const bound of this.#bounds)
      if (bound >= threshold) {
        best.offer(bound);
        count++;
      }
    return count;
  }

  /** Takes out those that reach both, ascending, and leaves those that reach the threshold alone. */
  take(cut: number, threshold: number): readonly number[] {
    const [slots, bounds] = [this.#slots, this.#bounds];
    const taken: number[] = [];
    let left = 0;
    for (const [i, bound] of bounds.entries()) {
      if (!(bound >= threshold)) continue;
      if (bound >= cut) taken.push(slots[i]!);
      else {
        slots[left] = slots[i]!;
        bounds[left++] = bound;
      }
    }
    slots.length = bounds.length = left;
    return taken.sort((a, b) => a - b);
  }
}
