/**
 * The reads of an open collection: each is checked against the schema and against what is known to be damaged, then runs
 * on the index.
 */
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
import type { CollectionIndex } from "../index/collection-index.ts";
import {
  type StartedRead,
  executeCount,
  executeFacets,
  executeGet,
  executeQuery,
  executeSearch,
  selectOffsets,
} from "../query/execute.ts";
import type { SelectedRecords } from "../query/partitioned/read-partitions.ts";
import type { QueryContext } from "../query/query-context.ts";
import type { StageTimes } from "../query/stage-times.ts";
import type { RecordStore } from "../storage/record-store.ts";
import type { VersionHistory } from "../storage/version-history.ts";
import { type DamagedRecords, beingRebuilt, lostRecord } from "./damage/damaged-records.ts";
import type { OpenCollectionOptions } from "./open-collection-options.ts";
import type { SchemaInference } from "./schema-inference.ts";

/** What a collection is at the moment. */
export interface CollectionState {
  readonly schema: JsonObject;
  readonly plan: IndexPlan;
  readonly dimension: number | null;
  /** As `OpenCollection.readable`. */
  readonly readable: number;
  readonly broken: boolean;
}

export interface CollectionReadsOptions extends Pick<
  OpenCollectionOptions,
  "scanPool" | "tenant" | "regexes" | "documents" | "logged"
> {
  readonly index: CollectionIndex;
  readonly store: RecordStore;
  readonly versions: VersionHistory;
  readonly damaged: DamagedRecords;
  readonly kinds: SchemaInference;
  readonly state: () => CollectionState;
}

/** What can be asked of a collection, whatever its index is. */
export type RecordReads = Pick<CollectionReads, Exclude<keyof CollectionReads, "contextOfPartition">>;

export class CollectionReads {
  readonly #options: CollectionReadsOptions;

  constructor(options: CollectionReadsOptions) {
    this.#options = options;
  }

  get(request: GetRequest, signal: CancelSignal, times: StageTimes): Promise<StartedRead> {
    this.#checkReadable(request);
    return executeGet(this.#context(times), request, signal);
  }

  query(request: QueryRequest, signal: CancelSignal, times: StageTimes): Promise<StartedRead> {
    this.#checkReadable(request);
    return executeQuery(this.#context(times), request, signal);
  }

  search(request: SearchRequest, signal: CancelSignal, times: StageTimes): Promise<StartedRead> {
    const { damaged, state } = this.#options;
    damaged.requireNone(null);
    checkSearchAgainstSchema(request, state().schema);
    return executeSearch(this.#context(times), request, signal);
  }

  count(selector: Selector, signal: CancelSignal, times: StageTimes): Promise<number> {
    this.#checkReadable(selector);
    return executeCount(this.#context(times), selector, signal);
  }

  facets(request: FacetsRequest, signal: CancelSignal, times: StageTimes): Promise<readonly Facet[]> {
    this.#checkReadable(request);
    return executeFacets(this.#context(times), request, signal);
  }

  /** Records that are to be deleted, in insertion order. Not one of an earlier state. */
  async selected(request: DeleteRequest, signal: CancelSignal, times: StageTimes): Promise<SelectedRecords> {
    this.#checkReadable(request);
    const { readable: state } = this.#options.state();
    return { state, offsets: await selectOffsets(this.#context(times), request, request.limit, signal) };
  }

  /** Where the index is that of a partition, which is read together with others. */
  contextOfPartition(times: StageTimes): QueryContext {
    this.#options.damaged.requireNone(null);
    return this.#context(times);
  }

  #checkReadable({ ids, where }: Selector): void {
    const { damaged, state } = this.#options;
    // Which chunks an id stands for, a damaged one cannot tell.
    damaged.requireNone(state().plan.chunking === undefined ? ids : null);
    if (where !== null) checkWhereAgainstSchema(where, state().schema, "where");
  }

  /** Nothing is known of a record as long as the index has not heard of all that the store has committed. */
  #requireStored(id: string): void {
    const { index, store, state, logged } = this.#options;
    if (logged?.isCold === true) return;
    const position = index.position(id);
    const isSettled = (): boolean => store.head.sequence === state().readable;
    if (position === null || !isSettled()) return;
    const snapshot = index.snapshot();
    const stored = store.read(snapshot.offset(position));
    if (stored?.sequence !== snapshot.sequence(position) && isSettled()) throw lostRecord(id);
  }

  #context(times: StageTimes): QueryContext {
    const { index, store, versions, kinds, scanPool, tenant, regexes, documents, state } = this.#options;
    const { broken, dimension, plan } = state();
    if (broken) throw beingRebuilt();
    const reader = this.#options.logged?.warming ?? store;
    return {
      ...{ index, reader, versions, dimension, plan, scanPool, tenant, regexes, documents, times },
      requireStored: (id) => this.#requireStored(id),
      kindsOf: (key) => kinds.all.get(key),
    };
  }
}
