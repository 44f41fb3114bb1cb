/**
 * The search of the slots of a filter by the copy of their codes. All of them are estimated by FastScan: that takes less
 * time than to find out which lists could be left out. What passes is estimated once more from 4-bit codes, which leave
 * a few of every hundred to be scored.
 */
import { type ArgumentBlock, setFields } from "../../kernels/argument-block.ts";
import { BASES, REFINE } from "../../kernels/argument-layouts.generated.ts";
import type { CodeCopy } from "./code-copies.ts";
import type { DenseQuery } from "./dense-query.ts";
import type { DenseSegment } from "./dense-segment.ts";
import type { SearchParts } from "./list-probe.ts";
import { COPIED_PER_CALL } from "./segment-layout.ts";

/** Slots to estimate before the first candidates are scored, for what they rule out of the others. */
const FIRST_STRETCH = 512;
/**
 * Estimates from 4-bit codes count at so many deviations above their value, where what a row lost points in a random
 * direction: of the rows right at the edge 1 in 700 is missed.
 */
const REFINED_CONFIDENCE = 3;

type CopyScanParts = Omit<SearchParts, "order">;

export class CopyScan {
  readonly #segment: DenseSegment;
  readonly #parts: CopyScanParts;
  readonly #bases: ArgumentBlock<typeof BASES>;
  readonly #refine: ArgumentBlock<typeof REFINE>;
  readonly #masks: Uint32Array;

  constructor(segment: DenseSegment, parts: CopyScanParts) {
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

  /** Offers those of the slots that can be among the nearest. The query is loaded in the scorer and rotated. */
  search(query: DenseQuery, slots: Uint32Array, copy: CodeCopy): void {
    const { scorer, candidates, scan } = this.#parts;
    const { dimension } = this.#segment.shape;
    scan.load(query);
    scorer.scoreCentroids();
    this.#refine.wordStep = scorer.wordStep;
    this.#refine.perLoss = query.length * Math.min(1, REFINED_CONFIDENCE / Math.sqrt(dimension));
    candidates.restart(query);
    for (const [i, row] of copy.entries()) {
      const names = slots.subarray(i * COPIED_PER_CALL, (i + 1) * COPIED_PER_CALL);
      const first = i === 0 ? Math.min(FIRST_STRETCH, names.length) : 0;
      if (first > 0) this.#scan(query, row, names.subarray(0, first));
      this.#scan(query, row + first, names.subarray(first));
    }
  }

  #scan(query: DenseQuery, row: number, slots: Uint32Array): void {
    const { candidates } = this.#parts;
    this.#estimate(row, slots.length);
    if (query.nearest.threshold === -Infinity) candidates.offerBest(query, slots);
    if (this.#segment.hasRows) this.#refineFrom(row);
    candidates.drain(query, slots);
  }

  #estimate(row: number, count: number): void {
    const { memory, at, codeBytes } = this.#segment.layout;
    this.#bases.lists = at.copiedLists + row * 2;
    this.#bases.biases = at.copiedBiases + row * 4;
    this.#bases.count = count;
    memory.kernels.addBases(this.#bases.pointer);
    const blocks = Math.ceil(count / 32);
    this.#masks.fill(0xff_ff_ff_ff, 0, blocks);
    if (count % 32 !== 0) this.#masks[blocks - 1] = 2 ** (count % 32) - 1;
    this.#parts.scan.run({
      codes: at.copiedBlocks + row * codeBytes,
      blocks,
      factors: at.copiedFactors + row * 4,
      biases: at.copiedSums,
      masks: at.copiedMasks,
      firstId: 0,
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
}
