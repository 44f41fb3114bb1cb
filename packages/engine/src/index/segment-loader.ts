/**
 * Loads what searches look at of segments that were opened from files: first the codes of all, which any search needs, then
 * the columns that filters are likely to ask for, then vectors, so that rows are scored without reading them one by one; both
 * while the memory has room. In slices of less than a millisecond. A search that comes before reads what it needs itself.
 */
import { CODE_PARTS } from "../segment/dense/dense-source.ts";
import { takeRows } from "../segment/dense/take-rows.ts";
import type { DenseSegment } from "../segment/dense/dense-segment.ts";
import type { SegmentMemory } from "../storage/files/index-memory.ts";
import type { DocBlock } from "../segment/doc-block.ts";
import { EagerColumns } from "./eager-columns.ts";
import type { LiveSegment, SegmentList } from "./segment-list.ts";

interface FileSegment {
  readonly entry: LiveSegment;
  readonly dense: DenseSegment;
  readonly memory: SegmentMemory;
}

interface Loading {
  readonly entry: LiveSegment;
  readonly steps: Generator<void, void>;
}

export class SegmentLoader {
  readonly #segments: SegmentList;
  readonly #columns = new EagerColumns(() =>
    this.#inFiles().flatMap<DocBlock>(({ entry }) => entry.segment.blocks),
  );
  #loading: Loading | null = null;

  constructor(segments: SegmentList) {
    this.#segments = segments;
  }

  /** One slice; false: there is nothing to load, or no room. Throws `SegmentDamaged`. */
  step(): boolean {
    // What a segment that is gone had claimed was given back when it went.
    if (this.#loading !== null && !this.#segments.entries.includes(this.#loading.entry)) this.#loading = null;
    this.#loading ??= this.#codes();
    if (this.#loading === null && this.#columns.step()) return true;
    this.#loading ??= this.#rows();
    if (this.#loading === null) return false;
    if (this.#loading.steps.next().done === true) this.#loading = null;
    return true;
  }

  #codes(): Loading | null {
    for (const { entry, dense } of this.#inFiles())
      if (dense.lacks(CODE_PARTS)) return { entry, steps: dense.load(CODE_PARTS) };
    return null;
  }

  #rows(): Loading | null {
    for (const { entry, dense, memory } of this.#inFiles()) {
      const kept = dense.hasRows ? "none" : takeRows(memory, dense);
      if (kept !== "none") return { entry, steps: dense.loadRows(kept) };
    }
    return null;
  }

  /** What is on another machine is fetched by the searches that need it. */
  #inFiles(): FileSegment[] {
    return this.#segments.entries.flatMap((entry) => {
      if (!entry.segment.isSealed) return [];
      const { memory, vectors } = entry.segment;
      const dense = vectors.search.segment;
      return dense.source?.isLocal === true ? [{ entry, dense, memory }] : [];
    });
  }
}
