/**
 * The index of an open collection, and all that reads need of it: made of the records, or of files, and then told of every
 * batch in the order of commits.
 */
import { takeSlice } from "@sheaf/process";
import { type CancelSignal, type IndexPlan, type JsonObject, abortable } from "@sheaf/protocol";
import { CollectionIndex } from "../../index/collection-index.ts";
import { SegmentDamaged } from "../../storage/files/segment-damaged.ts";
import type { StoreChange, StoreHead } from "../../storage/record-store.ts";
import { VersionHistory } from "../../storage/version-history.ts";
import { LocalPartition } from "../../query/partitioned/local-partition.ts";
import type { QueryContext } from "../../query/query-context.ts";
import type { StageTimes } from "../../query/stage-times.ts";
import { CollectionReads } from "../collection-reads.ts";
import { DamagedRecords, beingRebuilt } from "../damage/damaged-records.ts";
import { IndexKeeper } from "../index-keeper.ts";
import type { OpenCollectionOptions } from "../open-collection-options.ts";
import { FollowedWrites } from "../logged/followed-writes.ts";
import { followerOf } from "../logged/follower.ts";
import { onWarm } from "../logged/when-warm.ts";
import { type HeldByCollection, heldBy } from "../open-limit.ts";
import { indexRecords } from "../opening/index-records.ts";
import type { SchemaInference } from "../schema-inference.ts";
import type { StepQueue } from "../step-queue.ts";

/** The collection whose records they are. */
export interface IndexedCollection {
  readonly kinds: SchemaInference;
  /** Changes of the index. */
  readonly changes: StepQueue;
  readonly plan: IndexPlan;
  readonly state: () => { readonly schema: JsonObject; readonly dimension: number | null };
  /** Told of what another server has written, once it is in the index. */
  readonly onFollowed: (head: StoreHead) => void;
}

export class IndexedRecords {
  readonly reads: CollectionReads;
  readonly versions: VersionHistory;
  /** Of the files of the index; `null`: there are none. */
  readonly keeper: IndexKeeper | null;
  /** `null`: the records are all of their collection. */
  readonly partition: LocalPartition | null;
  readonly #options: OpenCollectionOptions;
  readonly #collection: IndexedCollection;
  readonly #index: CollectionIndex;
  readonly #damaged: DamagedRecords;
  readonly #followed: FollowedWrites;
  #plan: IndexPlan;
  #readable: number;
  #broken = false;

  private constructor(options: OpenCollectionOptions, collection: IndexedCollection) {
    this.#options = options;
    this.#collection = collection;
    this.#plan = collection.plan;
    this.#readable = options.store.head.sequence;
    this.#damaged = new DamagedRecords(options.onWhole);
    this.#followed = new FollowedWrites(options, collection.kinds);
    this.versions = new VersionHistory(options.historyMemory);
    this.#index = new CollectionIndex(this.#plan, options.store, {
      ...{ ...options.indexSizes, memory: options.indexMemory, filling: true },
      rowReader: options.rowReader,
      onSealed: () => this.keeper?.sealed(),
      sealElsewhere: options.indexFiles?.writeElsewhere && ((request) => this.keeper?.seal(request) ?? null),
      filed: {
        reopen: (segment, nextId) => this.keeper?.reopen(segment, nextId) ?? null,
        isWriting: () => this.keeper?.isWriting === true,
      },
      onProblem: (error) => this.#isDamaged(error) || options.onProblem(error),
    });
    this.keeper = this.#newKeeper();
    this.reads = this.#newReads();
    const context = (times: StageTimes): QueryContext => this.reads.contextOfPartition(times);
    this.partition = options.isPartition === true ? new LocalPartition(context, this.#readable) : null;
    const follow = (change: StoreChange): Promise<void> => this.#follow(change);
    const room = (): Promise<void> | undefined => this.room();
    options.logged?.follow(followerOf(this.versions, follow, room));
  }

  /** Nothing may be written before it resolves. In slices. */
  static async open(
    options: OpenCollectionOptions,
    collection: IndexedCollection,
    signal: CancelSignal,
  ): Promise<IndexedRecords> {
    const indexed = new IndexedRecords(options, collection);
    try {
      const isRestored = (await indexed.keeper?.open(options.progress, signal)) ?? false;
      if (!isRestored) await indexed.#rebuild(signal);
      options.progress.opened();
      // What goes on behind the calls reads records.
      onWarm(options.logged, () => {
        indexed.#index.filled();
        indexed.keeper?.opened(isRestored);
      });
      return indexed;
    } catch (error) {
      await indexed.#followed.close();
      indexed.#index.close();
      throw error;
    }
  }

  /** It could not follow the store, for lack of memory say, or the store is broken. */
  get broken(): boolean {
    return this.#broken || this.#options.logged?.broken === true;
  }

  /** Sequence number of the newest operation that it has. */
  get readable(): number {
    return this.#readable;
  }

  get held(): HeldByCollection {
    return heldBy(this.#index.segments, this.#options.mover?.isShared === true);
  }

  /** Records, those that cannot be read too. */
  get size(): number {
    return this.#index.size + this.#damaged.size;
  }

  /** For whoever is about to write: until there is room for more rows, `undefined` where there is. */
  room(): Promise<void> | undefined {
    return this.#index.room();
  }

  /** A batch that the store has committed. */
  *apply(change: StoreChange): Generator<void, void> {
    yield* this.#collection.kinds.learn(change.puts);
    try {
      yield* this.#index.change(change);
    } catch (error) {
      this.#broken = true;
      // The records are written, and only the index has to be made anew.
      if (!this.#isDamaged(error)) throw error;
    }
    this.#damaged.apply(change);
    // One that changes nothing may be heard of after those behind it.
    this.#readable = Math.max(this.#readable, change.head.sequence);
    if (!this.broken) this.partition?.passed(this.#readable);
    this.keeper?.changed(change);
    yield* this.#index.keepUp(change.puts.length);
  }

  *setPlan(plan: IndexPlan): Generator<void, void> {
    yield* this.#index.setPlan(plan);
    this.#plan = plan;
  }

  /** It cannot be used any more. */
  break(): void {
    this.#broken = true;
  }

  /** An error of a call: the words for it where the files of the index are damaged, of which the index is rid then. */
  explain(error: unknown): unknown {
    return this.#isDamaged(error) ? beingRebuilt(error) : error;
  }

  async close(): Promise<void> {
    await Promise.all([this.keeper?.close(), this.#followed.close()]);
    await takeSlice(this.#options.tenant);
    this.versions.close();
    this.#index.close();
  }

  #isDamaged(error: unknown): boolean {
    if (!(error instanceof SegmentDamaged)) return false;
    this.keeper?.fail(error);
    return true;
  }

  async #rebuild(signal: CancelSignal): Promise<void> {
    const { store, logged, progress, onProblem, tenant } = this.#options;
    const filled = logged?.warming?.filled();
    if (filled !== undefined) await abortable(filled, signal);
    const target = { index: this.#index, kinds: this.#collection.kinds, damaged: this.#damaged };
    await indexRecords(store, { ...target, progress, onProblem, tenant }, signal);
  }

  #newReads(): CollectionReads {
    const { kinds, state } = this.#collection;
    return new CollectionReads({
      ...this.#options,
      ...{ index: this.#index, versions: this.versions, damaged: this.#damaged, kinds },
      state: () => ({
        ...state(),
        ...{ plan: this.#plan, readable: this.#readable, broken: this.broken },
      }),
    });
  }

  #newKeeper(): IndexKeeper | null {
    const { indexFiles, store, logged, log, onProblem } = this.#options;
    const { kinds, changes } = this.#collection;
    if (indexFiles === undefined) return null;
    return new IndexKeeper(indexFiles, {
      ...{ store, warming: logged?.warming ?? null, index: this.#index, kinds, log, onProblem },
      change: (steps) => changes.run(steps),
      plan: () => this.#plan,
      readable: () => this.#readable,
      damaged: this.#damaged,
      onBroken: () => this.break(),
    });
  }

  async #follow(change: StoreChange): Promise<void> {
    await this.#collection.changes.run(this.apply(change));
    this.#collection.onFollowed(change.head);
    await this.#followed.hear(change.head);
  }
}
