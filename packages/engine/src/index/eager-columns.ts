/**
 * Makes the columns that filters are likely to ask for of each full block of a mutable segment: a search that had to make
 * those of all blocks would take long. Sealed segments get theirs where they are written.
 */
import { EAGER_KEYS } from "../segment/columns/doc-columns.ts";
import type { BlockColumns } from "../segment/doc-block.ts";
import { BLOCK_DOCS } from "../segment/block-docs.ts";
import type { SegmentList } from "./segment-list.ts";

export class EagerColumns {
  readonly #segments: SegmentList;
  readonly #made = new WeakSet<BlockColumns>();

  constructor(segments: SegmentList) {
    this.#segments = segments;
  }

  /** One column; false: there are all. */
  step(): boolean {
    for (const { segment } of this.#segments.entries) {
      if (segment.isSealed) continue;
      for (const { columns } of segment.blocks) {
        if (columns.rows < BLOCK_DOCS || this.#made.has(columns)) continue;
        for (const key of columns.common.slice(0, EAGER_KEYS)) if (columns.preload(key)) return true;
        this.#made.add(columns);
      }
    }
    return false;
  }
}
