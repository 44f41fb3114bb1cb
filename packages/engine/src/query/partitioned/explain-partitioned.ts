/** As `Explanations`, of searches over partitions: plans have sums over these, and traces are made where the records are. */
import { type Explained, type Search, invalid } from "@sheaf/protocol";
import { leafPlans } from "../explain/explain-search.ts";
import { type PageLeaf, leavesOnPage } from "../explain/page-leaves.ts";
import { StageLaps } from "../explain/stage-laps.ts";
import { nodeCount } from "../explain/trace-size.ts";
import { TraceBudget } from "../explain/traces.ts";
import type { Pace } from "../pace.ts";
import type { StageTimes } from "../stage-times.ts";
import type { PartitionedRecords } from "./partitioned-records.ts";
import type { PartitionedStages } from "./search-partitions.ts";

export class PartitionedExplanations {
  readonly #records: PartitionedRecords;
  readonly #laps: StageLaps;
  readonly #budget = new TraceBudget();
  /** One per search that is done; `null` for those that did not ask. */
  readonly all: (Explained | null)[] = [];

  constructor(records: PartitionedRecords, times: StageTimes) {
    this.#records = records;
    this.#laps = new StageLaps(times);
  }

  /** Of the records on the page of a search; `null`: there is nothing to trace. */
  async traces(
    { rank, explain }: Search,
    { leaves, page }: PartitionedStages,
    pace: Pace,
  ): Promise<readonly PageLeaf[] | null> {
    if (rank === null || explain === undefined) return null;
    this.#budget.spend(nodeCount(rank) * page.positions.length, explain.path);
    return leavesOnPage(leaves, page.positions, pace);
  }

  add(search: Search, { rows, leaves, ranked, chosen, kept }: PartitionedStages): void {
    const { explain, mmr } = search;
    const plan = {
      ...{ records: this.#records.size, rows, ranked, leaves: leafPlans(search, leaves) },
      diversified: mmr === undefined || chosen === null ? null : chosen.positions.length,
      grouped: kept === null ? null : kept.positions.length,
      milliseconds: this.#laps.lap(),
    };
    this.all.push(explain === undefined ? null : { plan, whyNot: null });
    this.#laps.restart();
  }
}

/** Throws 400 where a search asks why records are not on its page, which nothing tells of partitions. */
export function checkExplained({ explain }: Search): void {
  if (explain === undefined || explain.ids === null) return;
  throw invalid(`${explain.path}.ids`, "not told of a collection in partitions");
}
