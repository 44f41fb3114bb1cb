/**
 * One open collection: its store, the in-memory index built from it, and the order of writes between them. The store
 * is written first; the index follows in the order of commits before the write resolves, so the next read sees it. A small
 * collection that is only written to has no index until somebody reads it.
 */
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import {
  type CancelSignal,
  type CommitOperation,
  type CommitResult,
  type DeleteRequest,
  type IndexPlan,
  type JsonObject,
  type WriteRequest,
  extendSchema,
  indexPlan,
  isListed,
} from "@sheaf/protocol";
import type { CollectionProgress } from "../catalog/checkpoint-catalog.ts";
import type { HeldRecords } from "../engine.ts";
import { DENSE_ROWS } from "../index/collection-index-options.ts";
import type { LocalPartition } from "../query/partitioned/local-partition.ts";
import type { SelectedRecords } from "../query/partitioned/read-partitions.ts";
import type { StageTimes } from "../query/stage-times.ts";
import type { LoggedRecordStore } from "../storage/log/logged-record-store.ts";
import { runSteps } from "../storage/steps.ts";
import type { PlanNeeds, RecordStore, StoreChange, StoreHead, StoreView } from "../storage/record-store.ts";
import type { ObservedRecords } from "./check-unchanged.ts";
import type { RecordReads } from "./collection-reads.ts";
import type { IndexKeeper } from "./index-keeper.ts";
import { IndexProgress } from "./index-progress.ts";
import { IndexedRecords } from "./indexed/indexed-records.ts";
import { type HeldByCollection, heldBy } from "./open-limit.ts";
import type { OpenCollectionOptions } from "./open-collection-options.ts";
import { PartitionedReads } from "./partitions/partitioned-reads.ts";
import { countRecords, planWrite } from "./plan-write.ts";
import { type PlannedCommit, planAndKeep } from "./planning/plan-and-keep.ts";
import { planCommit } from "./planning/plan-commit.ts";
import { needsOfCommit, needsOfWrite } from "./planning/plan-needs.ts";
import { type DeletingCollection, deleteRecords, deleteSelected } from "./removal/delete-records.ts";
import { type KindsByKey, SchemaInference } from "./schema-inference.ts";
import { StepQueue } from "./step-queue.ts";
import { StoreMoves } from "./store-moves.ts";
import { WriteGate } from "./write-gate.ts";
import { catchUp } from "./logged/catch-up.ts";
import { isCold, whenWarm } from "./logged/when-warm.ts";

export class OpenCollection {
  readonly #options: OpenCollectionOptions;
  readonly #dropped: CancelSignal;
  readonly #store: RecordStore;
  readonly #indexChanges: StepQueue;
  readonly #gate = new WriteGate(() => this.#indexed?.room());
  readonly #progress: IndexProgress;
  readonly #kinds = new SchemaInference((key) => isListed(this.#schema, key));
  readonly #moves: StoreMoves;
  /** `null`: nobody has read the records yet. */
  #indexed: IndexedRecords | null = null;
  #indexing: Promise<void> | null = null;
  readonly #divided: RecordReads | null;
  #schema: JsonObject;
  #plan: IndexPlan;
  #dimension: number | null;
  #broken = false;

  private constructor(options: OpenCollectionOptions, dropped: CancelSignal) {
    this.#options = options;
    this.#dropped = dropped;
    this.#store = options.store;
    this.#schema = options.schema;
    this.#plan = indexPlan(options.schema);
    this.#dimension = options.store.head.dimension;
    this.#indexChanges = new StepQueue(options.tenant);
    const { divided } = options;
    this.#divided = divided
      ? new PartitionedReads({
          ...options,
          ...divided,
          state: () => ({ ...this.head, schema: this.#schema, plan: this.#plan }),
        })
      : null;
    this.#moves = new StoreMoves(options.mover, this.#gate, options.onProblem);
    this.#progress = new IndexProgress(options.store.head.sequence, {
      ...{ mark: options.markDirty, marksFirst: options.archive !== undefined },
      checkpoint: (logPosition, checkpointed) =>
        options.advance({ logPosition, checkpointed, held: this.#held() }),
      onProblem: options.onProblem,
    });
  }

  /**
   * With its index, unless that `comesLater`; what a crash kept from the catalog is made good.
   * @param dropped Ends the building of the index, now or later.
   */
  static async open(
    options: OpenCollectionOptions,
    dropped: CancelSignal,
    comesLater = false,
  ): Promise<OpenCollection> {
    const collection = new OpenCollection(options, dropped);
    if (!comesLater) await collection.index();
    await collection.#reconcile();
    return collection;
  }

  /** Builds the index from the store, in slices; `undefined`: it is there, or in partitions elsewhere. Writes wait. */
  index(): Promise<void> | undefined {
    if (this.#indexed !== null || this.#divided !== null) return undefined;
    return (this.#indexing ??= this.#gate.exclusive(() => this.#index()));
  }

  /** As `index`, where somebody has asked for it. */
  get indexing(): Promise<void> | undefined {
    return this.#indexed === null ? (this.#indexing ?? undefined) : undefined;
  }

  get reads(): RecordReads {
    return this.#divided ?? this.#requireIndexed().reads;
  }

  /** Of one that is a partition. */
  get partition(): LocalPartition {
    return this.#requireIndexed().partition!;
  }

  /** The index could not follow the store, for lack of memory say, or the store is broken: it is to be closed and opened again. */
  get broken(): boolean {
    return this.#broken || this.#indexed?.broken === true || this.logged?.broken === true;
  }

  /** `false` while writes wait for a checkpoint, or the index is made; closing then would wait for it. */
  get settled(): boolean {
    const isIdle = this.#progress.settled && !this.#moves.isMoving && this.indexing === undefined;
    return isIdle && this.logged?.settled !== false;
  }

  /** Of the store, checkpointed or not. */
  get head(): StoreHead {
    return this.#store.head;
  }

  /** Of the files of the index; `null`: there are none, or no index. */
  get keeper(): IndexKeeper | null {
    return this.#indexed?.keeper ?? null;
  }

  /** Its records are in an environment that it shares with others. */
  get isShared(): boolean {
    return this.#options.mover?.isShared === true;
  }

  get held(): HeldByCollection {
    return this.#indexed?.held ?? heldBy([], this.isShared);
  }

  /** Sequence number up to which reads see everything; a commit may be on disk and not in the index yet. */
  get readable(): number {
    return this.#indexed?.readable ?? this.#store.head.sequence;
  }

  /** Has the index see what other servers have written until now, or to this sequence number; `undefined`: there are none. */
  refresh(until?: number): Promise<void> | undefined {
    const isIndexed = (sequence: number): boolean => this.readable >= sequence || this.broken;
    return this.logged && catchUp(this.logged, this.#indexChanges, isIndexed, until);
  }

  /** What its store is where other servers write it, too. */
  get logged(): LoggedRecordStore | undefined {
    return this.#options.logged;
  }

  /**
   * A changed schema or configuration; searches follow it once it resolves. 503 where what is indexed changes, and the index is not
   * here yet: it keeps the former one then, and also where another call was faster.
   */
  async setSchema(schema: JsonObject): Promise<void> {
    const [plan, before] = [indexPlan(schema), this.#schema];
    const isChanged = !isDeepStrictEqual(plan, this.#plan);
    if (isChanged && isCold(this.logged)) {
      await whenWarm(this.logged);
      if (this.#schema !== before) return;
    }
    this.#schema = schema;
    if (!isChanged) return;
    this.#plan = plan;
    // An index that is being made goes by the plan it was begun with; without one, there is nothing to change.
    await this.#indexing?.catch(() => undefined);
    if (this.#indexed !== null) await this.#indexChanges.run(this.#indexed.setPlan(plan));
  }

  get schema(): JsonObject {
    return this.#schema;
  }

  /** The schema plus the keys its records already have. */
  extend(schema: JsonObject): JsonObject {
    return extendSchema(schema, this.#kinds.all) ?? schema;
  }

  async write(request: WriteRequest, signal?: CancelSignal): Promise<void> {
    const [{ records }, schema] = [request, this.#schema];
    if (records.length === 0) return;
    const way = this.#makeWayFor(records);
    if (way !== undefined) await way;
    const needs = (): readonly PlanNeeds[] => needsOfWrite(request, this.#hasChunks);
    await this.#track((view) => planWrite(view, request, schema), needs, signal);
  }

  async delete(request: DeleteRequest, signal: CancelSignal, times: StageTimes): Promise<number> {
    // A filter is checked whether there is anything to filter or not.
    if (request.where === null && (request.ids === null || this.#size === 0)) return 0;
    return deleteRecords(this.#deleting, request, signal, times);
  }

  /** As `deleteSelected`. */
  deleteSelected(selected: SelectedRecords, signal: CancelSignal): Promise<number | null> {
    return deleteSelected(this.#deleting, selected, signal);
  }

  /**
   * Applies the operations in order, all or none, unless a record of `observed` has changed: 409, or 412 where that
   * cannot be told any more. Without operations it only checks.
   */
  async commit(
    observed: ObservedRecords | null,
    operations: readonly CommitOperation[],
    signal?: CancelSignal,
  ): Promise<CommitResult> {
    const recordCount = countRecords(operations);
    const [schema, hasChunks] = [this.#schema, this.#hasChunks];
    const needs = (): readonly PlanNeeds[] => needsOfCommit(observed, operations, hasChunks);
    let firstSequence: number | null = null;
    const plan = (view: StoreView): Generator<void, StoreChange> => {
      firstSequence = recordCount === 0 ? null : view.head.sequence + 1;
      return planCommit(view, { observed, operations, schema, hasChunks });
    };
    if (recordCount === 0) {
      await whenWarm(this.logged);
      if (this.logged?.asked === undefined) runSteps(plan(this.#store));
      else await this.#commit(plan, needs, signal);
      return { firstSequence, recordCount };
    }
    const written = operations.flatMap((each) => (each.kind === "delete" ? [] : each.records));
    const way = this.#makeWayFor(written);
    if (way !== undefined) await way;
    await this.#track(plan, needs, signal);
    return { firstSequence, recordCount };
  }

  /** After the calls under way. */
  async close(): Promise<void> {
    await this.#indexing?.catch(() => undefined);
    await this.#moves.idle();
    await this.#progress.close();
    await this.#indexChanges.idle();
    await this.#indexed?.close();
    await Promise.all([this.#options.indexFiles?.files.close(), this.#store.close()]);
  }

  get #deleting(): DeletingCollection {
    const [gate, progress, store] = [this.#gate, this.#progress, this.#store];
    const { schema, reads } = this;
    const refresh = this.logged === undefined ? null : async (): Promise<void> => this.refresh();
    const collection = { gate, progress, store, logged: this.logged, schema, reads, refresh };
    return { ...collection, commit: (...planned) => this.#commit(...planned) };
  }

  get #hasChunks(): boolean {
    return this.#plan.chunking !== undefined;
  }

  /** An error of a call, as `IndexedRecords.explain`. */
  explain(error: unknown): unknown {
    return this.#indexed?.explain(error) ?? error;
  }

  #requireIndexed(): IndexedRecords {
    assert.ok(this.#indexed !== null, "the collection has no index yet");
    return this.#indexed;
  }

  async #index(): Promise<void> {
    try {
      this.#indexed = await IndexedRecords.open(
        this.#options,
        {
          ...{ kinds: this.#kinds, changes: this.#indexChanges, plan: this.#plan },
          state: () => ({ schema: this.#schema, dimension: this.#dimension }),
          onFollowed: ({ dimension }) => (this.#dimension ??= dimension),
        },
        this.#dropped,
      );
    } catch (error) {
      this.#broken = true;
      throw error;
    }
  }

  /** What does not stay small gets its index as it grows, not all at once with the first read. */
  #makeWayFor(records: WriteRequest["records"]): Promise<void> | undefined {
    if (!this.isShared) return undefined;
    const size = this.#moves.sizeOf(records);
    const { denseRows = DENSE_ROWS } = this.#options.indexSizes ?? {};
    const isLarge = this.#options.storedRecords() + size.records >= denseRows;
    return this.#moves.makeWay(size, () => (isLarge || this.#moves.isDue(size) ? this.index() : undefined));
  }

  /** One batch that may bring new keys and the first dimension, durable and published when it resolves. */
  async #track(...planned: PlannedCommit): Promise<void> {
    await this.#progress.track(
      () =>
        this.#gate.shared(async () => {
          const change = await this.#commit(...planned);
          await this.#publish(change.head);
          return change.head.sequence;
        }),
      this.#dimension === null,
    );
    if (this.#indexed !== null) this.#moves.moveIfDue();
  }

  /** Writes that were durable when the process died, but not yet in the catalog. */
  async #reconcile(): Promise<void> {
    if (!this.#options.dirty) return;
    const { sequence, dimension } = this.#store.head;
    try {
      await this.#advance(
        { logPosition: sequence, dimension, checkpointed: true, held: this.#held() },
        this.#kinds.all,
      );
    } catch (error) {
      // A full disk must not stop reads; the mark stays for the next start.
      this.#options.onProblem(error);
    }
  }

  /**
   * The one way to the store: every commit queues its change of the index when it resolves, and commits resolve in the
   * order of their plans, so the index goes through the same states as the store.
   */
  async #commit(...[plan, ...beside]: PlannedCommit): Promise<StoreChange> {
    let [settled, from] = [(): void => {}, 0];
    const archiving = this.#options.archive?.begin();
    try {
      const planned = (view: StoreView): Generator<void, StoreChange> => {
        from = view.head.sequence;
        return planAndKeep(view, plan(view), this.#indexed?.versions, (release) => {
          // An earlier plan of the same batch, which others were faster than.
          settled();
          settled = release;
        });
      };
      const change = await this.#store.apply(planned, ...beside);
      const archived = archiving?.append(from, change);
      // Without an index only the schema hears of it.
      const indexing = this.#indexChanges.run(this.#indexed?.apply(change) ?? this.#kinds.learn(change.puts));
      for (const pending of [indexing, archived]) if (pending !== undefined) await pending;
      return change;
    } finally {
      archiving?.end();
      settled();
    }
  }

  /** New metadata keys and the first dimension are in the catalog before the write is acknowledged. */
  async #publish({ dimension }: StoreHead): Promise<void> {
    const news = this.#kinds.news;
    // What the schema lists is news where the records were not read.
    const isListed = news === null || (this.#indexed === null && extendSchema(this.#schema, news) === null);
    if (isListed && news !== null) this.#kinds.published(news);
    if (isListed && dimension === this.#dimension) return;
    await this.#advance({ dimension, dirty: true }, news ?? new Map());
    this.#progress.marked();
    this.#dimension = dimension;
    if (news !== null) this.#kinds.published(news);
  }

  async #advance(progress: CollectionProgress, seen: KindsByKey): Promise<void> {
    let extended: JsonObject | null = null;
    const extend = (schema: JsonObject): JsonObject | null => (extended = extendSchema(schema, seen));
    await this.#options.advance({ ...progress, extend });
    // New keys never change which indexes there are, so the plan stays.
    this.#schema = extended ?? this.#schema;
  }

  get #size(): number {
    return this.#indexed?.size ?? this.#options.storedRecords();
  }

  #held(): HeldRecords {
    return { records: this.#size, bytes: this.#options.usedBytes(), writtenAt: Date.now() };
  }

  /** Whole batches, all that were acknowledged before, into a new folder. */
  async copyTo(folder: string): Promise<void> {
    await whenWarm(this.logged);
    await this.#options.copyTo(folder);
  }
}
