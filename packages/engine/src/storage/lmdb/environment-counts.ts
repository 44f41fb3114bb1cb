/** What LMDB counts in an environment. */
import type { EnvironmentStats } from "./free-list.ts";

export class EnvironmentCounts {
  readonly #stats: () => EnvironmentStats;

  constructor(stats: () => EnvironmentStats) {
    this.#stats = stats;
  }

  /** As the meta page says. */
  get entryCount(): number {
    return this.#stats().entryCount;
  }

  /** What the entries take of the file; the rest is free for the next writes. */
  get usedBytes(): number {
    const { treeBranchPageCount, treeLeafPageCount, overflowPages, pageSize } = this.#stats();
    return (treeBranchPageCount + treeLeafPageCount + overflowPages) * pageSize;
  }

  /** Pages that hold entries. */
  get leafPages(): number {
    return this.#stats().treeLeafPageCount;
  }

  /** Number of the newest transaction. */
  get transaction(): number {
    return this.#stats().lastTxnId;
  }
}
