/**
 * Has the columns that filters are likely to ask for in memory: a search that had to make or read those of all blocks would
 * take long.
 */
import type { BlockColumns, DocBlock } from "../segment/doc-block.ts";

export class EagerColumns {
  readonly #blocks: () => Iterable<DocBlock>;
  /** Of blocks that are done, as far as there was room. */
  readonly #done = new WeakSet<BlockColumns>();
  /** What is under way. */
  #work: Generator<undefined> | null = null;

  /** `blocks`: those that there are now, of which no row is to come. */
  constructor(blocks: () => Iterable<DocBlock>) {
    this.#blocks = blocks;
  }

  /** Some of one column; false: there are all, or no room. Throws `SegmentDamaged`. */
  step(): boolean {
    this.#work ??= this.#load();
    if (this.#work.next().done !== true) return true;
    this.#work = null;
    return false;
  }

  *#load(): Generator<undefined> {
    for (const { columns } of this.#blocks()) {
      if (this.#done.has(columns)) continue;
      for (const key of columns.common) if (yield* columns.preload(key)) yield;
      this.#done.add(columns);
    }
  }
}
