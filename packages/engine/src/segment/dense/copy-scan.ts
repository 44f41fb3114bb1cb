/**
 * The search of the slots of a filter by the copy of their codes. It begins with the most promising lists, of all segments
 * before anything else: what these have says how high the others must be. Lists whose bounds are below that are then left
 * out, where bounds count as in `code-gather.ts`. The others are estimated by FastScan, and what passes once more from 4-bit
 * codes, which leave a few of every hundred to be scored.
 */
import { type ArgumentBlock, setFields } from "../../kernels/argument-block.ts";
import { BASES, REFINE } from "../../kernels/argument-layouts.generated.ts";
import type { CodeCopy } from "./code-copies.ts";
import type { DenseQuery } from "./dense-query.ts";
import type { DenseSegment } from "./dense-segment.ts";
import type { SearchParts } from "./list-probe.ts";
import {
  type ListStretches,
  filteredReachFor,
  hasMostLists,
  orderLists,
  stretchesOf,
  takeFirstLists,
} from "./list-reach.ts";
import { COPIED_PER_CALL } from "./segment-layout.ts";

/** Lists to begin with, and the most of their slots. */
const FIRST_LISTS = 3;
const FIRST_SLOTS = 512;
/**
 * Estimates from 4-bit codes count at so many deviations above their value, where what a row lost points in a random
 * direction: of the rows right at the edge 1 in 700 is missed.
 */
const REFINED_CONFIDENCE = 3;

/** A copy of which the first lists were looked at. */
export interface BegunScan {
  /** A bit for each block of 32 slots that is done, in a word for each chunk. */
  readonly done: Uint32Array;
  readonly boundsCount: boolean;
}

export class CopyScan {
  readonly #segment: DenseSegment;
  readonly #parts: SearchParts;
  readonly #bases: ArgumentBlock<typeof BASES>;
  readonly #refine: ArgumentBlock<typeof REFINE>;
  readonly #masks: Uint32Array;
  /** Lists are ordered for the query that is loaded. */
  #isOrdered = false;
  /** By the slots of a copy. */
  readonly #stretches = new WeakMap<Uint32Array, ListStretches>();

  constructor(segment: DenseSegment, parts: SearchParts) {
    const { memory, at, nibbleBytes } = segment.layout;
    this.#segment = segment;
    this.#parts = parts;
    this.#masks = memory.u32(at.copiedMasks, COPIED_PER_CALL / 32);
    this.#bases = memory.block(BASES);
    this.#refine = memory.block(REFINE);
    setFields(this.#bases, { bases: at.bases, out: at.copiedSums });
    const { pointer: best } = parts.candidates;
    setFields(this.#refine, { codeBytes: nibbleBytes, words: at.queryWords, best });
  }

  /** Takes the query, which is loaded in the scorer and rotated. */
  load(query: DenseQuery): void {
    const { scorer, scan } = this.#parts;
    const { dimension } = this.#segment.shape;
    scan.load(query);
    scorer.scoreCentroids();
    this.#refine.wordStep = scorer.wordStep;
    this.#refine.perLoss = query.length * Math.min(1, REFINED_CONFIDENCE / Math.sqrt(dimension));
    this.#isOrdered = false;
  }

  /** Offers slots of the first lists, where that tells anything new, once the query is loaded. */
  begin(query: DenseQuery, slots: Uint32Array, copy: CodeCopy): BegunScan {
    const stretches = this.#stretchesOf(slots);
    const done = new Uint32Array(copy.length);
    const isFirst = query.nearest.bar === -Infinity;
    if (!isFirst && !hasMostLists(stretches)) return { done, boundsCount: false };
    this.#orderLists(query);
    const { lists, boundsCount } = takeFirstLists(this.#parts.order, stretches, 0);
    if (!isFirst && !boundsCount) return { done, boundsCount };
    const first = boundsCount ? lists.slice(0, FIRST_LISTS) : this.#bestOf(stretches);
    let left = FIRST_SLOTS;
    for (const list of first) {
      const start = stretches.starts[list]!;
      const end = Math.min(stretches.ends[list]!, start + left);
      left -= end - start;
      for (let block = start >>> 5; block < Math.ceil(end / 32); block++)
        done[block >>> 5]! |= 1 << (block & 31);
    }
    this.#parts.candidates.restart(query);
    for (const [chunk, row] of copy.entries())
      if (done[chunk] !== 0) this.#scan(query, { row, names: namesOf(slots, chunk), blocks: done[chunk]! });
    return { done, boundsCount };
  }

  /** Offers the others that can be among the nearest. The query is loaded. */
  search(query: DenseQuery, slots: Uint32Array, copy: CodeCopy, { done, boundsCount }: BegunScan): void {
    if (boundsCount) this.#orderLists(query);
    this.#parts.candidates.restart(query);
    for (const [chunk, row] of copy.entries()) {
      const names = namesOf(slots, chunk);
      const open = ~done[chunk]! & lowBits(Math.ceil(names.length / 32));
      const blocks = boundsCount ? this.#within(query, names, open) : open;
      if (blocks !== 0) this.#scan(query, { row, names, blocks });
    }
  }

  /** Those of the blocks that have a list whose bound reaches the k-th score. */
  #within(query: DenseQuery, names: Uint32Array, open: number): number {
    const { listOfBlock } = this.#segment;
    const { bounds } = this.#parts.order;
    const { bar } = query.nearest;
    let within = 0;
    for (let left = open; left !== 0; left &= left - 1) {
      const block = 31 - Math.clz32(left & -left);
      const last = listOfBlock[names[Math.min(32 * block + 31, names.length - 1)]! >>> 5]!;
      let list = listOfBlock[names[32 * block]! >>> 5]!;
      while (list < last && bounds[list]! < bar) list++;
      if (bounds[list]! >= bar) within |= 1 << block;
    }
    return within;
  }

  #scan(query: DenseQuery, part: CopiedPart): void {
    const { candidates } = this.#parts;
    this.#estimate(part);
    if (query.nearest.bar === -Infinity) candidates.offerBest(query, part.names);
    if (this.#segment.hasRows) this.#refineFrom(part.row);
    candidates.drain(query, part.names);
  }

  #estimate({ row, names, blocks }: CopiedPart): void {
    const { memory, at, codeBytes } = this.#segment.layout;
    const first = 31 - Math.clz32(blocks & -blocks);
    const end = 32 - Math.clz32(blocks);
    const from = row + 32 * first;
    this.#bases.lists = at.copiedLists + from * 2;
    this.#bases.biases = at.copiedBiases + from * 4;
    this.#bases.count = Math.min(32 * end, names.length) - 32 * first;
    memory.kernels.addBases(this.#bases.pointer);
    for (let block = first; block < end; block++)
      this.#masks[block - first] = (blocks >>> block) & 1 ? lowBits(names.length - 32 * block) : 0;
    this.#parts.scan.run({
      codes: at.copiedBlocks + from * codeBytes,
      blocks: end - first,
      factors: at.copiedFactors + from * 4,
      biases: at.copiedSums,
      masks: at.copiedMasks,
      firstId: 32 * first,
      base: 0,
    });
  }

  #refineFrom(row: number): void {
    const { memory, at, nibbleBytes } = this.#segment.layout;
    this.#refine.codes = at.copiedNibbles + row * nibbleBytes;
    this.#refine.steps = at.copiedSteps + row * 4;
    this.#refine.losses = at.copiedLosses + row * 4;
    this.#refine.biases = at.copiedBiases + row * 4;
    memory.kernels.refineCandidates(this.#refine.pointer);
  }

  #orderLists({ length, expected }: DenseQuery): void {
    if (this.#isOrdered) return;
    const reach = filteredReachFor(this.#segment.reach, expected);
    orderLists(this.#segment, this.#parts.order, this.#parts.scorer.bases, { length, reach });
    this.#isOrdered = true;
  }

  /** The lists with slots that promise most, which may be far behind in the order. */
  #bestOf({ starts, ends }: ListStretches): readonly number[] {
    const { bounds } = this.#parts.order;
    const best: number[] = [];
    for (let list = 0; list < bounds.length; list++) {
      if (starts[list] === ends[list]) continue;
      let at = best.length;
      while (at > 0 && bounds[best[at - 1]!]! < bounds[list]!) at--;
      if (at < FIRST_LISTS) best.splice(at, 0, list);
      if (best.length > FIRST_LISTS) best.pop();
    }
    return best;
  }

  #stretchesOf(slots: Uint32Array): ListStretches {
    let stretches = this.#stretches.get(slots);
    if (stretches === undefined) this.#stretches.set(slots, (stretches = stretchesOf(this.#segment, slots)));
    return stretches;
  }
}

/** Those that were not looked at when the scan was begun. */
export function slotsLeft(slots: Uint32Array, { done }: BegunScan): Uint32Array {
  return slots.filter(
    (_, i) => ((done[Math.floor(i / COPIED_PER_CALL)]! >>> ((i % COPIED_PER_CALL) >>> 5)) & 1) === 0,
  );
}

/** What is looked at of a chunk. */
interface CopiedPart {
  /** The chunk's first. */
  readonly row: number;
  /** The slots of the chunk. */
  readonly names: Uint32Array;
  /** A bit for each block of 32 of them; not 0. */
  readonly blocks: number;
}

function namesOf(slots: Uint32Array, chunk: number): Uint32Array {
  return slots.subarray(chunk * COPIED_PER_CALL, (chunk + 1) * COPIED_PER_CALL);
}

/** A word with as many bits, all of them from 32 on. */
function lowBits(count: number): number {
  return count >= 32 ? -1 : (1 << count) - 1;
}
