/**
 * Has the columns that filters are likely to ask for in memory: a search that had to make or read those of all blocks would
 * take long.
 */
import type { BlockColumns, DocBlock } from "../segment/doc-block.ts";

interface Loading {
  readonly columns: BlockColumns;
  readonly steps: Generator<undefined, boolean>;
}

export class EagerColumns {
  readonly #blocks: () => Iterable<DocBlock>;
  /** Of blocks that are done, as far as there was room. */
  readonly #done = new WeakSet<BlockColumns>();
  #loading: Loading | null = null;

  /** `blocks`: those that there are now. One whose rows become many more has other columns then, which are made anew. */
  constructor(blocks: () => Iterable<DocBlock>) {
    this.#blocks = blocks;
  }

  /** Some of one column; false: there are all, or no room. Throws `SegmentDamaged`. */
  step(): boolean {
    const loading = this.#loading;
    this.#loading = null;
    if (loading !== null && this.#has(loading.columns)) {
      if (loading.steps.next().done !== true) this.#loading = loading;
      return true;
    }
    for (const { columns } of this.#blocks()) {
      if (this.#done.has(columns)) continue;
      for (const key of columns.common) if (this.#began(columns, key)) return true;
      this.#done.add(columns);
    }
    return false;
  }

  #began(columns: BlockColumns, key: string): boolean {
    const steps = columns.preload(key);
    const step = steps.next();
    if (step.done === true) return step.value;
    this.#loading = { columns, steps };
    return true;
  }

  /** A block that has gone has given its memory back, and must not take any more. */
  #has(wanted: BlockColumns): boolean {
    for (const { columns } of this.#blocks()) if (columns === wanted) return true;
    return false;
  }
}
