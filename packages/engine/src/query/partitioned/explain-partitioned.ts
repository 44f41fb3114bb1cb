/** As `Explanations`, of searches over partitions: plans have sums over these, and traces are made where the records are. */
import type { Explained, Search } from "@sheaf/protocol";
import { leafPlans } from "../explain/explain-search.ts";
import { type PageLeaf, leavesOnPage } from "../explain/page-leaves.ts";
import { StageLaps } from "../explain/stage-laps.ts";
import { nodeCount } from "../explain/trace-size.ts";
import { TraceBudget } from "../explain/traces.ts";
import { type NamedRecord, type SearchedRecords, whyNot } from "../explain/why-not.ts";
import type { Pace } from "../pace.ts";
import type { StageTimes } from "../stage-times.ts";
import type { NamedRow } from "./partition.ts";
import type { PartitionedRecords } from "./partitioned-records.ts";
import type { PartitionedStages } from "./search-partitions.ts";

interface ExplainedList {
  /** Its number in the question. */
  readonly list: number;
  readonly stages: PartitionedStages;
}

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

  async add(search: Search, { list, stages }: ExplainedList, pace: Pace): Promise<void> {
    const milliseconds = this.#laps.lap();
    const { explain, mmr } = search;
    const { rows, leaves, ranked, chosen, kept } = stages;
    const plan = {
      ...{ records: this.#records.size, rows, ranked, leaves: leafPlans(search, leaves), milliseconds },
      diversified: mmr === undefined || chosen === null ? null : chosen.positions.length,
      grouped: kept === null ? null : kept.positions.length,
    };
    if (explain === undefined) this.all.push(null);
    else if (explain.ids === null) this.all.push({ plan, whyNot: null });
    else {
      const { named, searched } = await this.#namedOf(list, explain.ids, pace);
      this.all.push({ plan, whyNot: await whyNot(named, search, stages, searched) });
    }
    this.#laps.restart();
  }

  async #namedOf(
    list: number,
    ids: readonly string[],
    pace: Pace,
  ): Promise<{ readonly named: readonly NamedRecord[]; readonly searched: SearchedRecords }> {
    const records = this.#records;
    const found = new Map<number, NamedRow>();
    const positions = new Map<number, number>();
    for (const [partition, rows] of (
      await Promise.all(records.reads.map((read) => read.named(list)))
    ).entries()) {
      for (const [i, row] of rows.entries()) {
        if (row === null) continue;
        const [position] = records.positions(partition, Int32Array.of(row.row));
        positions.set(i, position!);
        found.set(position!, row);
      }
    }
    const searched: SearchedRecords = {
      ...{ view: records, pace },
      passed: (position) => found.get(position)!.passed,
      failing: (out) =>
        Promise.resolve(
          new Map(
            out.flatMap((position) => {
              const { clause } = found.get(position)!;
              return clause === null ? [] : [[position, clause]];
            }),
          ),
        ),
      insertionPlaces: async (of) => {
        const offsets = of.map((position) => found.get(position)!.offset);
        const counts = await Promise.all(records.reads.map((read) => read.countBefore(list, offsets)));
        const sumOf = (i: number): number => counts.reduce((sum, before) => sum + before[i]!, 0);
        return new Map(of.map((position, i) => [position, sumOf(i)]));
      },
      prepare: (of, keys) => records.fetchValues(Int32Array.from(of), keys),
    };
    return { named: ids.map((id, i) => ({ id, position: positions.get(i) ?? null })), searched };
  }
}
