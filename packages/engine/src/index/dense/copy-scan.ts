/**
 * The search of the slots of a filter by the copy of their codes. All of them are estimated: that takes FastScan less time
 * than to find out which lists could be left out. It is scoring the candidates that takes the time then, so the best of
 * each stretch are scored before the others, which they mostly rule out.
 */
import type { CodeCopy } from "./code-copies.ts";
import type { DenseQuery } from "./dense-query.ts";
import type { DenseSegment } from "./dense-segment.ts";
import type { SearchParts } from "./list-probe.ts";
import { COPIED_PER_CALL } from "./segment-layout.ts";

/** Slots to estimate before the first candidates are scored, for what they rule out of the others. */
const FIRST_STRETCH = 512;

type CopyScanParts = Omit<SearchParts, "order">;

export class CopyScan {
  readonly #segment: DenseSegment;
  readonly #parts: CopyScanParts;
  /** In the kernel memory: what one call of the kernel looks at. */
  readonly #blocks: Uint8Array;
  readonly #factors: Float32Array;
  readonly #biases: Float32Array;
  readonly #masks: Uint32Array;

  constructor(segment: DenseSegment, parts: CopyScanParts) {
    const { memory, at, codeBytes } = segment.layout;
    this.#segment = segment;
    this.#parts = parts;
    this.#blocks = memory.u8(at.copiedBlocks, COPIED_PER_CALL * codeBytes);
    this.#factors = memory.f32(at.copiedFactors, COPIED_PER_CALL);
    this.#biases = memory.f32(at.copiedBiases, COPIED_PER_CALL);
    this.#masks = memory.u32(at.copiedMasks, COPIED_PER_CALL / 32);
  }

  /** Offers those of the slots that can be among the nearest. The query is loaded in the scorer and rotated. */
  search(query: DenseQuery, slots: Uint32Array, copy: CodeCopy): void {
    const { scorer, candidates, scan } = this.#parts;
    scan.load(query);
    scorer.scoreCentroids();
    candidates.restart(query);
    for (let first = 0, stretch = FIRST_STRETCH; first < slots.length;) {
      const end = Math.min(first + stretch, slots.length);
      this.#estimate(copy, first, end - first);
      candidates.rename(slots);
      candidates.drain(query, { bestFirst: true });
      first = end;
      stretch = COPIED_PER_CALL;
    }
  }

  #estimate(copy: CodeCopy, first: number, count: number): void {
    const { at, codeBytes } = this.#segment.layout;
    const blocks = Math.ceil(count / 32);
    this.#blocks.set(copy.blocks.subarray(first * codeBytes, (first + blocks * 32) * codeBytes));
    this.#factors.set(copy.factors.subarray(first, first + count));
    const { bases } = this.#parts.scorer;
    for (let i = 0; i < count; i++)
      this.#biases[i] = copy.biases[first + i]! + bases[copy.lists[first + i]!]!;
    this.#masks.fill(0xff_ff_ff_ff, 0, blocks);
    if (count % 32 !== 0) this.#masks[blocks - 1] = 2 ** (count % 32) - 1;
    this.#parts.scan.run({
      codes: at.copiedBlocks,
      blocks,
      factors: at.copiedFactors,
      biases: at.copiedBiases,
      masks: at.copiedMasks,
      firstId: first,
      base: 0,
    });
  }
}
