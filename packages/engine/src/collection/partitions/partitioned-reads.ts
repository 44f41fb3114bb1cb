/** The reads of a collection in partitions, checked as those of one index, whoever has the partitions. */
import {
  type CancelSignal,
  type DeleteRequest,
  type Facet,
  type FacetsRequest,
  type GetRequest,
  type IndexPlan,
  type JsonObject,
  type QueryRequest,
  type SearchRequest,
  type Selector,
  checkSearchAgainstSchema,
  checkWhereAgainstSchema,
} from "@sheaf/protocol";
import type { StartedRead } from "../../query/execute.ts";
import type { Partition } from "../../query/partitioned/partition.ts";
import {
  type PartitionedContext,
  type SelectedRecords,
  countOfPartitions,
  facetsOfPartitions,
  getOfPartitions,
  offsetsOfPartitions,
  queryOfPartitions,
  searchOfPartitions,
} from "../../query/partitioned/read-partitions.ts";
import type { TenantRegexes } from "../../query/regex/regex-pool.ts";
import type { StageTimes } from "../../query/stage-times.ts";
import type { RecordReads } from "../collection-reads.ts";

/** What a collection is at the moment. */
export interface DividedState {
  readonly schema: JsonObject;
  readonly plan: IndexPlan;
  readonly dimension: number | null;
}

export interface DividedIndex {
  readonly partitions: number;
  /** By its number, for the reads of one call. */
  readonly partition: (partition: number, times: StageTimes) => Partition;
}

export interface PartitionedReadsOptions extends DividedIndex {
  readonly tenant: string;
  readonly regexes: TenantRegexes;
  readonly state: () => DividedState;
}

export class PartitionedReads implements RecordReads {
  readonly #options: PartitionedReadsOptions;

  constructor(options: PartitionedReadsOptions) {
    this.#options = options;
  }

  async get(request: GetRequest, signal: CancelSignal, times: StageTimes): Promise<StartedRead> {
    return getOfPartitions(this.#context(request, times), request, signal);
  }

  async query(request: QueryRequest, signal: CancelSignal, times: StageTimes): Promise<StartedRead> {
    return queryOfPartitions(this.#context(request, times), request, signal);
  }

  async search(request: SearchRequest, signal: CancelSignal, times: StageTimes): Promise<StartedRead> {
    checkSearchAgainstSchema(request, this.#options.state().schema);
    return searchOfPartitions(this.#context({ where: null }, times), request, signal);
  }

  async count(selector: Selector, signal: CancelSignal, times: StageTimes): Promise<number> {
    return countOfPartitions(this.#context(selector, times), selector, signal);
  }

  async facets(request: FacetsRequest, signal: CancelSignal, times: StageTimes): Promise<readonly Facet[]> {
    return facetsOfPartitions(this.#context(request, times), request, signal);
  }

  async selected(request: DeleteRequest, signal: CancelSignal, times: StageTimes): Promise<SelectedRecords> {
    return offsetsOfPartitions(this.#context(request, times), request, request.limit, signal);
  }

  /** 400 for a filter that the schema does not allow. */
  #context({ where }: Pick<Selector, "where">, times: StageTimes): PartitionedContext {
    const { tenant, regexes, state } = this.#options;
    const { schema, plan, dimension } = state();
    if (where !== null) checkWhereAgainstSchema(where, schema, "where");
    const partitions = Array.from({ length: this.#options.partitions }, (_, n) =>
      this.#options.partition(n, times),
    );
    return { tenant, regexes, times, plan, dimension, partitions, state: 0 };
  }
}
