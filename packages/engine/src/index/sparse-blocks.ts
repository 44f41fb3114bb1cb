/**
 * The packed sparse vectors of all full segments, per key. Segments come in with lists of their own; in the background
 * lists are merged into blocks of more and more segments, each with lists that are not larger, so that a posting is
 * copied only about as often as its block doubles. A search finds the same in a block as in the lists it was made of.
 */
import { BackgroundWork } from "./background-work.ts";
import { MAX_SLOTS } from "./posting-lists.ts";
import type { KernelKind } from "../kernels/kernel-memory.ts";
import { SparseBlock } from "./sparse-block.ts";
import type { SparsePostings } from "./sparse-postings.ts";

export interface SparseBlocksOptions {
  /** Blocks could not be made, for lack of memory say; searches go on, slower. */
  readonly onProblem: (error: unknown) => void;
  /** Of the blocks; see `KernelMemoryOptions`. */
  readonly kernels?: KernelKind | undefined;
}

/** Of a block: at up to six bytes each far from what a memory can hold. */
const MAX_VALUES = 2 ** 27;
/** V8 does not see how large shared memory is and collects it late; the small blocks that are soon merged are not. */
const MIN_SHARED_SLOTS = 4;

interface Entry {
  readonly block: SparseBlock;
  /** By slot; `null` where the segment is gone. */
  readonly members: (SparsePostings | null)[];
  /** Made here, not by the segment. */
  readonly merged: boolean;
}

interface Merge {
  readonly sources: readonly Entry[];
  readonly members: readonly SparsePostings[];
  readonly steps: Generator<void, SparseBlock>;
}

export class SparseBlocks {
  readonly #options: SparseBlocksOptions;
  readonly #work: BackgroundWork;
  /** Per key, oldest first. */
  readonly #entries = new Map<string, Entry[]>();
  #merge: { readonly key: string; readonly merge: Merge } | null = null;
  #building = false;

  constructor(options: SparseBlocksOptions) {
    this.#options = options;
    this.#work = new BackgroundWork({
      step: () => (this.#building = this.#step()),
      onFailure: (error) => {
        this.#building = false;
        options.onProblem(error);
      },
    });
  }

  /** Lists wait to be merged. */
  get isBuilding(): boolean {
    return this.#building;
  }

  /** The segment is full. */
  add(key: string, postings: SparsePostings): void {
    if (postings.block === null) return;
    const entries = this.#entries.get(key) ?? [];
    this.#entries.set(key, entries);
    entries.push({ block: postings.block, members: [postings], merged: false });
    this.#wake();
  }

  /** The segment is gone; snapshots that still have it keep its block. */
  remove(key: string, postings: SparsePostings): void {
    const entry = this.#entries.get(key)?.find(({ block }) => block === postings.block);
    if (entry === undefined) return;
    entry.members[postings.slot] = null;
    this.#wake();
  }

  /** The key is not indexed any more. */
  drop(key: string): void {
    if (this.#merge?.key === key) this.#giveUp(this.#merge.merge);
    for (const { block } of this.#entries.get(key) ?? []) block.close();
    this.#entries.delete(key);
  }

  clear(): void {
    for (const key of [...this.#entries.keys()]) this.drop(key);
  }

  close(): void {
    this.#work.close();
    this.#building = false;
    this.clear();
  }

  #giveUp({ steps }: Merge): void {
    steps.return(undefined as never);
    this.#merge = null;
  }

  #wake(): void {
    this.#building = true;
    this.#work.wake();
  }

  #step(): boolean {
    this.#merge ??= this.#nextMerge();
    if (this.#merge === null) return false;
    const { key, merge } = this.#merge;
    const step = merge.steps.next();
    if (step.done === true) {
      this.#swap(key, merge, step.value);
      this.#merge = null;
    }
    return true;
  }

  #nextMerge(): { readonly key: string; readonly merge: Merge } | null {
    for (const [key, entries] of this.#entries) {
      for (const entry of entries.filter(({ members }) => liveSlots(members) === 0)) leave(entries, entry);
      const sources = chooseSources(entries);
      if (sources.length > 0) return { key, merge: startMerge(sources, this.#options.kernels) };
    }
    return null;
  }

  #swap(key: string, { sources, members }: Merge, block: SparseBlock): void {
    const entries = this.#entries.get(key)!;
    const stillThere = members.map((postings) => {
      const source = sources.find((entry) => entry.block === postings.block)!;
      return source.members[postings.slot] === postings ? postings : null;
    });
    for (const source of sources) leave(entries, source);
    // One that is gone keeps the block that its snapshots know.
    stillThere.forEach((postings, slot) => postings?.moveTo(block, slot));
    // Before those that wait: the next merge begins with them.
    const waiting = entries.findIndex(({ merged }) => !merged);
    entries.splice(waiting === -1 ? entries.length : waiting, 0, {
      block,
      members: stillThere,
      merged: true,
    });
  }
}

function leave(entries: Entry[], entry: Entry): void {
  entries.splice(entries.indexOf(entry), 1);
  entry.block.close();
}

function startMerge(sources: readonly Entry[], kernels: KernelKind | undefined): Merge {
  const members: SparsePostings[] = [];
  const slots = sources.map((entry) =>
    entry.members.map((postings) => (postings === null ? -1 : members.push(postings) - 1)),
  );
  const lists = sources.map(({ block }, i) => ({ lists: block.lists, slots: slots[i]! }));
  return {
    sources,
    members,
    steps: SparseBlock.merge(lists, { kernels, shared: members.length >= MIN_SHARED_SLOTS }),
  };
}

/** The newest lists, with the blocks before them that are not larger; else a block that is more than half gone. */
function chooseSources(entries: readonly Entry[]): readonly Entry[] {
  const sources: Entry[] = [];
  let slots = 0;
  let values = 0;
  for (const entry of entries.toReversed()) {
    const live = liveSlots(entry.members);
    slots += live;
    values += entry.block.values;
    const isLarger = entry.merged && live > slots - live;
    if (isLarger || slots > MAX_SLOTS || (values > MAX_VALUES && sources.length > 0)) break;
    sources.unshift(entry);
  }
  if (sources.length > 0) return sources;
  const hollow = entries.find(({ members }) => liveSlots(members) < members.length / 2);
  return hollow === undefined ? [] : [hollow];
}

function liveSlots(members: Entry["members"]): number {
  return members.reduce((sum, postings) => sum + (postings === null ? 0 : 1), 0);
}
