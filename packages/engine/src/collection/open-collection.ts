/**
 * One open collection: its store, the in-memory index built from it, and the order of writes between them. The store
 * is written first; the index follows in the order of commits before the write resolves, so the next read sees it.
 */
import { isDeepStrictEqual } from "node:util";
import { takeSlice } from "@sheaf/process";
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
import { CollectionIndex } from "../index/collection-index.ts";
import type { StageTimes } from "../query/stage-times.ts";
import { SegmentDamaged } from "../storage/files/segment-damaged.ts";
import { runSteps } from "../storage/steps.ts";
import type { RecordStore, StoreChange, StoreHead, StoreView } from "../storage/record-store.ts";
import { VersionHistory } from "../storage/version-history.ts";
import { type ObservedRecords, checkUnchanged } from "./check-unchanged.ts";
import { CollectionReads } from "./collection-reads.ts";
import { DamagedRecords, beingRebuilt } from "./damage/damaged-records.ts";
import { indexRecords } from "./opening/index-records.ts";
import { IndexKeeper } from "./index-keeper.ts";
import { IndexProgress } from "./index-progress.ts";
import { type HeldByCollection, heldBy } from "./open-limit.ts";
import type { OpenCollectionOptions } from "./open-collection-options.ts";
import { countRecords, planOperations, planRemove, planWrite } from "./plan-write.ts";
import { type KindsByKey, SchemaInference } from "./schema-inference.ts";
import { StepQueue } from "./step-queue.ts";
import { StoreMoves } from "./store-moves.ts";
import { WriteGate } from "./write-gate.ts";
import { againWhileOutdated, requireStill } from "./logged/outdated-plan.ts";
import { catchUp } from "./logged/catch-up.ts";
import { followerOf } from "./logged/follower.ts";

export class OpenCollection {
  readonly reads: CollectionReads;
  readonly #options: OpenCollectionOptions;
  readonly #store: RecordStore;
  readonly #index: CollectionIndex;
  readonly #indexChanges: StepQueue;
  readonly #gate = new WriteGate(() => this.#index.room());
  readonly #progress: IndexProgress;
  readonly #kinds = new SchemaInference((key) => isListed(this.#schema, key));
  readonly #damaged: DamagedRecords;
  readonly #keeper: IndexKeeper | null;
  readonly #moves: StoreMoves;
  readonly #versions: VersionHistory;
  #schema: JsonObject;
  #plan: IndexPlan;
  #dimension: number | null;
  /** Sequence number of the newest operation that the index has. */
  #readable: number;
  #broken = false;

  private constructor(options: OpenCollectionOptions) {
    this.#options = options;
    this.#store = options.store;
    this.#schema = options.schema;
    this.#plan = indexPlan(options.schema);
    ({ dimension: this.#dimension, sequence: this.#readable } = options.store.head);
    this.#damaged = new DamagedRecords(options.onWhole);
    this.#indexChanges = new StepQueue(options.tenant);
    this.#versions = new VersionHistory(options.historyMemory);
    this.#index = new CollectionIndex(this.#plan, options.store, {
      ...{ ...options.indexSizes, memory: options.indexMemory, filling: true },
      rowReader: options.rowReader,
      onSealed: () => this.#keeper?.sealed(),
      sealElsewhere: options.indexFiles?.writeElsewhere && ((request) => this.#keeper?.seal(request) ?? null),
      onProblem: (error) => this.#isDamaged(error) || options.onProblem(error),
    });
    this.#keeper = this.#newKeeper();
    this.#moves = new StoreMoves(options.mover, this.#gate, options.onProblem);
    const onBroken = (): boolean => (this.#broken = true);
    options.logged?.follow(followerOf(this.#versions, (change) => this.#absorb(change), onBroken));
    this.reads = this.#newReads();
    this.#progress = new IndexProgress(options.store.head.sequence, {
      ...{ mark: options.markDirty, marksFirst: options.archive !== undefined },
      checkpoint: (logPosition, checkpointed) =>
        options.advance({ logPosition, checkpointed, held: this.#held() }),
      onProblem: options.onProblem,
    });
  }

  /** Builds the index from the store, in slices; what a crash kept from the catalog is made good. */
  static async open(options: OpenCollectionOptions, signal: CancelSignal): Promise<OpenCollection> {
    const collection = new OpenCollection(options);
    try {
      const isRestored = (await collection.#keeper?.open(options.progress, signal)) ?? false;
      if (!isRestored) await collection.#rebuild(signal);
      collection.#index.filled();
      await collection.#reconcile();
      options.progress.opened();
      collection.#keeper?.opened(isRestored);
      return collection;
    } catch (error) {
      collection.#index.close();
      throw error;
    }
  }

  /** The index could not follow the store, for lack of memory say; closing and opening again builds it anew. */
  get broken(): boolean {
    return this.#broken;
  }

  /** `false` while writes wait for a checkpoint; closing then would only hasten it. */
  get settled(): boolean {
    return this.#progress.settled && !this.#moves.isMoving && this.#options.logged?.settled !== false;
  }

  /** Of the store, checkpointed or not. */
  get head(): StoreHead {
    return this.#store.head;
  }

  /** Of the files of the index; `null`: there are none. */
  get keeper(): IndexKeeper | null {
    return this.#keeper;
  }

  /** Its records are in an environment that it shares with others. */
  get isShared(): boolean {
    return this.#options.mover?.isShared === true;
  }

  get held(): HeldByCollection {
    return heldBy(this.#index.segments, this.isShared);
  }

  /** Sequence number up to which reads see everything; a commit may be on disk and not in the index yet. */
  get readable(): number {
    return this.#readable;
  }

  /** Has the index see what other servers have written until now; `undefined`: there are none. */
  refresh(): Promise<void> | undefined {
    const isIndexed = (sequence: number): boolean => this.#readable >= sequence || this.#broken;
    return this.#options.logged && catchUp(this.#options.logged, this.#indexChanges, isIndexed);
  }

  /** A changed schema or configuration; searches follow it once it resolves. */
  async setSchema(schema: JsonObject): Promise<void> {
    this.#schema = schema;
    const plan = indexPlan(schema);
    if (!isDeepStrictEqual(plan, this.#plan)) await this.#indexChanges.run(this.#toPlan(plan));
  }

  get schema(): JsonObject {
    return this.#schema;
  }

  /** The schema plus the keys its records already have. */
  extend(schema: JsonObject): JsonObject {
    return extendSchema(schema, this.#kinds.all) ?? schema;
  }

  async write(request: WriteRequest): Promise<void> {
    const [{ records }, schema] = [request, this.#schema];
    if (records.length === 0) return;
    this.#moves.makeWayFor(records);
    await this.#track((view) => planWrite(view, request, schema));
  }

  async delete(request: DeleteRequest, signal: CancelSignal, times: StageTimes): Promise<number> {
    const { ids, where } = request;
    const isEmpty = this.#index.size === 0 && this.#damaged.size === 0;
    // A filter is checked whether there is anything to filter or not.
    if (where === null && (ids === null || isEmpty)) return 0;
    let deleted = 0;
    const remove = async (doomed: readonly string[], schema?: JsonObject, at?: number): Promise<number> => {
      const change = await this.#commit((view) => {
        requireStill(view, at);
        return planRemove(view, doomed, schema);
      });
      deleted = change.removes.length;
      return change.head.sequence;
    };
    const matching = async (): Promise<number> => {
      const at = this.#options.logged && this.#readable;
      return remove(await this.reads.doomed(request, signal, times), undefined, at);
    };
    await this.#progress.track(() => {
      if (where === null) return this.#gate.shared(() => remove(ids ?? [], this.#schema));
      return this.#gate.exclusive(() => againWhileOutdated(matching));
    });
    return deleted;
  }

  /**
   * Applies the operations in order, all or none, unless a record of `observed` has changed: 409, or 412 where that
   * cannot be told any more. Without operations it only checks.
   */
  async commit(
    observed: ObservedRecords | null,
    operations: readonly CommitOperation[],
  ): Promise<CommitResult> {
    const recordCount = countRecords(operations);
    if (recordCount === 0) {
      if (observed !== null) runSteps(checkUnchanged(this.#store, observed, this.#hasChunks));
      return { firstSequence: null, recordCount };
    }
    this.#moves.makeWayFor(
      operations.flatMap((operation) => (operation.kind === "delete" ? [] : operation.records)),
    );
    let firstSequence: number | null = null;
    const hasChunks = this.#hasChunks;
    const schema = this.#schema;
    const plan = function* (view: StoreView): Generator<void, StoreChange> {
      if (observed !== null) yield* checkUnchanged(view, observed, hasChunks);
      firstSequence = view.head.sequence + 1;
      return yield* planOperations(view, operations, schema);
    };
    await this.#track(plan);
    return { firstSequence, recordCount };
  }

  /** After the calls under way. */
  async close(): Promise<void> {
    await this.#moves.idle();
    await this.#progress.close();
    await this.#indexChanges.idle();
    await this.#keeper?.close();
    await takeSlice(this.#options.tenant);
    this.#index.close();
    await Promise.all([this.#options.indexFiles?.files.close(), this.#store.close()]);
  }

  get #hasChunks(): boolean {
    return this.#plan.chunking !== undefined;
  }

  /** An error of a call: the words for it where the files of the index are damaged, of which the index is rid then. */
  explain(error: unknown): unknown {
    return this.#isDamaged(error) ? beingRebuilt(error) : error;
  }

  #isDamaged(error: unknown): boolean {
    if (!(error instanceof SegmentDamaged)) return false;
    this.#keeper?.fail(error);
    return true;
  }

  #newReads(): CollectionReads {
    return new CollectionReads({
      ...this.#options,
      ...{ index: this.#index, versions: this.#versions, damaged: this.#damaged, kinds: this.#kinds },
      state: () => ({
        ...{ schema: this.#schema, plan: this.#plan, dimension: this.#dimension },
        ...{ readable: this.#readable, broken: this.#broken },
      }),
    });
  }

  #newKeeper(): IndexKeeper | null {
    const { indexFiles, store, log, onProblem } = this.#options;
    if (indexFiles === undefined) return null;
    return new IndexKeeper(indexFiles, {
      ...{ store, index: this.#index, kinds: this.#kinds, log, onProblem },
      change: (steps) => this.#indexChanges.run(steps),
      plan: () => this.#plan,
      readable: () => this.#readable,
      damaged: this.#damaged,
      onBroken: () => (this.#broken = true),
    });
  }

  /** One batch that may bring new keys and the first dimension, durable and published when it resolves. */
  async #track(plan: (view: StoreView) => Generator<void, StoreChange>): Promise<void> {
    const isFirst = this.#dimension === null;
    await this.#progress.track(
      () =>
        this.#gate.shared(async () => {
          const change = await this.#commit(plan);
          await this.#publish(change.head);
          return change.head.sequence;
        }),
      isFirst,
    );
    this.#moves.moveIfDue();
  }

  async #rebuild(signal: CancelSignal): Promise<void> {
    const { store, progress, onProblem } = this.#options;
    const filled = { index: this.#index, kinds: this.#kinds, damaged: this.#damaged };
    await indexRecords(store, { ...filled, progress, onProblem }, signal);
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
  async #commit(plan: (view: StoreView) => Generator<void, StoreChange>): Promise<StoreChange> {
    let [settled, from] = [(): void => {}, 0];
    const archiving = this.#options.archive?.begin();
    try {
      const change = await this.#store.apply((view) => {
        from = view.head.sequence;
        return this.#planAndKeep(view, plan(view), (release) => {
          // An earlier plan of the same batch, which others were faster than.
          settled();
          settled = release;
        });
      });
      const archived = archiving?.append(from, change);
      const indexing = this.#indexChanges.run(this.#toIndex(change));
      for (const pending of [indexing, archived]) if (pending !== undefined) await pending;
      return change;
    } finally {
      archiving?.end();
      settled();
    }
  }

  *#planAndKeep(
    view: StoreView,
    plan: Generator<void, StoreChange>,
    onKept: (release: () => void) => void,
  ): Generator<void, StoreChange> {
    const planned = yield* plan;
    onKept(yield* this.#versions.keep(view, planned));
    return planned;
  }

  /** What another server has written. */
  async #absorb(change: StoreChange): Promise<void> {
    await this.#indexChanges.run(this.#toIndex(change));
    this.#dimension ??= change.head.dimension;
  }

  *#toIndex(change: StoreChange): Generator<void, void> {
    yield* this.#kinds.learn(change.puts);
    try {
      yield* this.#index.change(change);
    } catch (error) {
      this.#broken = true;
      // The records are written, and only the index has to be made anew.
      if (!this.#isDamaged(error)) throw error;
    }
    this.#damaged.apply(change);
    this.#readable = change.head.sequence;
    this.#keeper?.changed(change);
  }

  *#toPlan(plan: IndexPlan): Generator<void, void> {
    yield* this.#index.setPlan(plan);
    this.#plan = plan;
  }

  /** New metadata keys and the first dimension are in the catalog before the write is acknowledged. */
  async #publish({ dimension }: StoreHead): Promise<void> {
    const news = this.#kinds.news;
    if (news === null && dimension === this.#dimension) return;
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

  #held(): HeldRecords {
    const records = this.#index.size + this.#damaged.size;
    return { records, bytes: this.#options.usedBytes(), writtenAt: Date.now() };
  }

  /** Whole batches, all that were acknowledged before, into a new folder. */
  copyTo(folder: string): Promise<void> {
    return this.#options.copyTo(folder);
  }
}
