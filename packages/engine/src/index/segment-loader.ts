/**
 * Loads what searches look at of segments that were opened from files: first the codes of all, which any search needs, then
 * the columns that filters are likely to ask for, then vectors, so that rows are scored without reading them one by one; both
 * while the memory has room. In slices of less than a millisecond. A search that comes before reads what it needs itself.
 */
import { CODE_PARTS } from "../segment/dense/dense-source.ts";
import { EAGER_KEYS } from "../segment/columns/doc-columns.ts";
import type { BlockColumns } from "../segment/doc-block.ts";
import { takeRows } from "../segment/dense/take-rows.ts";
import type { LiveSegment, SegmentList } from "./segment-list.ts";

interface Loading {
  readonly entry: LiveSegment;
  readonly steps: Generator<void, void>;
}

export class SegmentLoader {
  readonly #segments: SegmentList;
  /** Columns of blocks that were loaded, as far as there was room. */
  readonly #columns = new WeakSet<BlockColumns>();
  #loading: Loading | null = null;

  constructor(segments: SegmentList) {
    this.#segments = segments;
  }

  /** One slice; false: there is nothing to load, or no room. Throws `SegmentDamaged`. */
  step(): boolean {
    // What a segment that is gone had claimed was given back when it went.
    if (this.#loading !== null && !this.#segments.entries.includes(this.#loading.entry)) this.#loading = null;
    this.#loading ??= this.#next();
    if (this.#loading === null) return false;
    if (this.#loading.steps.next().done === true) this.#loading = null;
    return true;
  }

  #next(): Loading | null {
    const inFiles = this.#segments.entries.flatMap((entry) => {
      if (!entry.segment.isSealed) return [];
      const { memory, vectors } = entry.segment;
      const dense = vectors.search.segment;
      // What is on another machine is fetched by the searches that need it.
      return dense.source?.isLocal === true ? [{ entry, dense, memory }] : [];
    });
    for (const { entry, dense } of inFiles)
      if (dense.lacks(CODE_PARTS)) return { entry, steps: dense.load(CODE_PARTS) };
    for (const { entry } of inFiles) {
      const missing = entry.segment.blocks
        .map(({ columns }) => columns)
        .filter((one) => !this.#columns.has(one));
      if (missing.length > 0) return { entry, steps: this.#loadColumns(missing) };
    }
    for (const { entry, dense, memory } of inFiles) {
      const kept = dense.hasRows ? "none" : takeRows(memory, dense);
      if (kept !== "none") return { entry, steps: dense.loadRows(kept) };
    }
    return null;
  }

  *#loadColumns(blocks: readonly BlockColumns[]): Generator<void, void> {
    for (const columns of blocks) {
      this.#columns.add(columns);
      for (const key of columns.common.slice(0, EAGER_KEYS)) if (columns.preload(key)) yield;
    }
  }
}
