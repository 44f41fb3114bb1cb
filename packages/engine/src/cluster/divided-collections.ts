/**
 * Collections in partitions as a gateway reads them: each partition on its own node, and what needs all of them here. Loaded only
 * where there is such a collection.
 */
import {
  type CancelSignal,
  Cancellation,
  type Collection,
  type CollectionRef,
  type DeleteRequest,
  indexPlan,
  partitionsOf,
} from "@sheaf/protocol";
import { againWhileOutdated, outdated } from "../collection/logged/outdated-plan.ts";
import { OpenReads, type ReadHold } from "../collection/open-reads.ts";
import { type AskedRead, AskedPartition } from "../collection/partitions/asked-partition.ts";
import { PartitionedReads } from "../collection/partitions/partitioned-reads.ts";
import type { EngineOptions, ResultBatch } from "../engine.ts";
import type { StartedRead } from "../query/execute.ts";
import type { Partition } from "../query/partitioned/partition.ts";
import type { SelectedRecords } from "../query/partitioned/read-partitions.ts";
import { RegexPool } from "../query/regex/regex-pool.ts";
import { CallMeter, type StageTimes } from "../query/stage-times.ts";

export interface DividedNodes {
  readonly getCollection: (ref: CollectionRef) => Promise<Collection>;
  /** On a node that has the partition, or will have it. */
  readonly begin: (
    ref: CollectionRef,
    partition: number,
    ...asked: Parameters<Partition["begin"]>
  ) => Promise<AskedRead>;
  readonly deleteSelected: (
    ref: CollectionRef,
    selected: SelectedRecords,
    options: EngineOptions | undefined,
  ) => Promise<number | null>;
}

export class DividedCollections {
  readonly open = new OpenReads();
  readonly #nodes: DividedNodes;
  readonly #meter = new CallMeter();
  readonly #regexes = new RegexPool();

  constructor(nodes: DividedNodes) {
    this.#nodes = nodes;
  }

  /** A read that may go on with `open`. */
  read(
    ref: CollectionRef,
    options: EngineOptions | undefined,
    start: (reads: PartitionedReads, signal: CancelSignal, times: StageTimes) => Promise<StartedRead>,
  ): Promise<ResultBatch> {
    return this.use(ref, options, async (reads, signal, times) =>
      this.open.begin(await start(reads, signal, times), ref, unheld, signal),
    );
  }

  use<T>(
    ref: CollectionRef,
    options: EngineOptions | undefined,
    work: (reads: PartitionedReads, signal: CancelSignal, times: StageTimes) => Promise<T>,
  ): Promise<T> {
    return this.#meter.measure(options, async (times) => {
      const { schema, dimension } = await this.#nodes.getCollection(ref);
      const [plan, partitions] = [indexPlan(schema), partitionsOf(schema)];
      const partition = (number: number): AskedPartition =>
        new AskedPartition((...asked) => this.#nodes.begin(ref, number, ...asked));
      const regexes = this.#regexes.forTenant(ref.tenant);
      const state = { schema, plan, dimension };
      const reads = new PartitionedReads({
        tenant: ref.tenant,
        regexes,
        partitions,
        partition,
        state: () => state,
      });
      return work(reads, options?.signal ?? new Cancellation(), times);
    });
  }

  /** What a filter finds is removed on the node that writes the collection, if it is still at the state that was looked at. */
  delete(ref: CollectionRef, request: DeleteRequest, options: EngineOptions | undefined): Promise<number> {
    return this.use(ref, options, (reads, signal, times) =>
      againWhileOutdated(async () => {
        const selected = await reads.selected(request, signal, times);
        if (selected.offsets.length === 0) return 0;
        const deleted = await this.#nodes.deleteSelected(ref, selected, options);
        if (deleted === null) throw outdated();
        return deleted;
      }),
    );
  }

  async close(): Promise<void> {
    await this.#regexes.close();
  }
}

/** Nothing here has to stay open for a read; the nodes hold what it needs. */
function unheld(): ReadHold {
  return { signal: new Cancellation(), release: () => {} };
}
