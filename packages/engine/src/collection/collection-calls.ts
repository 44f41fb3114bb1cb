/** How a call of the engine gets its collection: opened, measured, and with what is left of a read kept for later. */
import { isDeepStrictEqual } from "node:util";
import {
  type CancelSignal,
  Cancellation,
  type CollectionRef,
  type JsonObject,
  SheafError,
  type UpdateCollection,
  type WriteRequest,
  partitionsOf,
  throwIfAborted,
} from "@sheaf/protocol";
import type { Catalog } from "../catalog/catalog.ts";
import type {
  AskedOfPartition,
  EngineOptions,
  EngineStatistics,
  IndexingStatus,
  ResultBatch,
} from "../engine.ts";
import type { StartedRead } from "../query/execute.ts";
import type { BegunRead, Partition, PartitionQuestion, SelectedIds } from "../query/partitioned/partition.ts";
import { CallMeter, type StageTimes } from "../query/stage-times.ts";
import { partitionName } from "../storage/folder/partition-name.ts";
import { indexingStatus } from "./collection-statistics.ts";
import type { CollectionPool, NeededParts } from "./collection-pool.ts";
import type { RecordReads } from "./collection-reads.ts";
import type { OpenCollection } from "./open-collection.ts";
import { isCold } from "./logged/when-warm.ts";
import { isStoredAsGiven } from "./plan-write.ts";
import { withData } from "../storage/data-absent.ts";
import type { RecordsAnswer, RecordsQuestion } from "../storage/log/asked/records-question.ts";
import { ViewVoid } from "../storage/log/commit-log.ts";
import { OpenReads } from "./open-reads.ts";
import { type BegunPartition, type PartitionAsk, answer } from "./partitions/asked-partition.ts";

interface PartitionBeginning {
  readonly question: PartitionQuestion;
  readonly ids: SelectedIds;
  /** Ends the read, also after it has begun. */
  readonly signal: CancelSignal | undefined;
  readonly times: StageTimes;
}

interface OpenedUse {
  /** Of the collection, or of a partition. */
  readonly name: string;
  readonly signal: CancelSignal | undefined;
  readonly needs?: NeededParts | undefined;
}

export class CollectionCalls {
  readonly meter = new CallMeter();
  readonly open = new OpenReads();
  readonly #catalog: Catalog;
  readonly #pool: CollectionPool;
  /** The description that an open collection has followed last, where other servers may change it. */
  readonly #followed = new WeakMap<OpenCollection, JsonObject>();
  /** One that is being followed. */
  readonly #following = new WeakMap<OpenCollection, Promise<void>>();

  constructor(catalog: Catalog, pool: CollectionPool) {
    this.#catalog = catalog;
    this.#pool = pool;
  }

  /** `async`, so that a 404 of the catalog is a rejection. */
  async use<T>(
    ref: CollectionRef,
    options: EngineOptions | undefined,
    work: (collection: OpenCollection, signal: CancelSignal, times: StageTimes) => Promise<T>,
    needs?: NeededParts,
  ): Promise<T> {
    const { id } = await this.#catalog.collection(ref);
    return this.#useKnown(ref, { name: id, signal: options?.signal, needs }, options, work);
  }

  /** `false`: nothing is written, for the schema wants more made of the records. Else as a write. */
  async writeAsGiven(
    ref: CollectionRef,
    request: WriteRequest,
    options: EngineOptions | undefined,
  ): Promise<boolean> {
    const { id, schema } = await this.#catalog.collection(ref);
    if (!isStoredAsGiven(schema)) return false;
    const use: OpenedUse = { name: id, signal: options?.signal, needs: "records" };
    await this.#useKnown(ref, use, options, (collection, signal) => collection.write(request, signal));
    return true;
  }

  /** Of a collection that was looked up. */
  #useKnown<T>(
    ref: CollectionRef,
    use: OpenedUse,
    options: EngineOptions | undefined,
    work: (collection: OpenCollection, signal: CancelSignal, times: StageTimes) => Promise<T>,
  ): Promise<T> {
    return this.meter.measure(options, (times) =>
      this.#useOpen(ref, use, (collection, used) => work(collection, used, times.opened())),
    );
  }

  measure(): Pick<EngineStatistics, "rowsScanned" | "runningCalls" | "openReads"> {
    const { rowsScanned, running: runningCalls } = this.meter;
    return { rowsScanned, runningCalls, openReads: this.open.size };
  }

  /** Changes the description, which the collection follows if it is open. */
  async update(ref: CollectionRef, change: UpdateCollection, caller?: CancelSignal): Promise<void> {
    const { schema } = change;
    // The new schema was made from one that may be older than keys written since.
    const extended = schema && (this.#pool.peek(ref.id)?.extend(schema) ?? schema);
    const committed = await this.#catalog.updateCollection(
      ref,
      extended === undefined ? change : { ...change, schema: extended },
      caller,
    );
    const open = this.#pool.peek(ref.id);
    // One whose index is not here yet follows with the next call.
    if (schema !== undefined && !isCold(open?.logged)) await open?.setSchema(committed);
  }

  /** While the collection is opened: how far that is. */
  async indexingStatus(ref: CollectionRef): Promise<IndexingStatus> {
    const { id, logPosition } = await this.#catalog.collection(ref);
    const opening = this.#pool.progress(id);
    if (opening !== null) return indexingStatus(logPosition, opening.indexedOperations);
    return this.use(ref, undefined, async (collection) => {
      const { logPosition: indexed } = await this.#catalog.collection(ref);
      return indexingStatus(collection.head.sequence, indexed);
    });
  }

  /** As it is open here, for the reads of one call. */
  partition(ref: CollectionRef, partition: number, times: StageTimes): Partition {
    return {
      begin: (question, ids, signal) =>
        this.#beginPartition(ref, partition, { question, ids, signal, times }),
    };
  }

  /** As the engine has it. */
  async openPartition(
    ref: CollectionRef,
    partition: number,
    ...[question, ids, options]: AskedOfPartition
  ): Promise<BegunPartition> {
    await this.#requirePartition(ref, partition);
    return this.meter.measure(options, async (times) => {
      const beginning = { question, ids, signal: options?.signal, times };
      const { state, read } = await this.#beginPartition(ref, partition, beginning);
      return { state, cursor: this.open.openPartition(ref, read, options?.signal) };
    });
  }

  /** As the engine has it. */
  async recordsOf(
    ref: CollectionRef,
    partition: number,
    question: RecordsQuestion,
    options: EngineOptions | undefined,
  ): Promise<RecordsAnswer> {
    await this.#requirePartition(ref, partition);
    const use = { name: partitionName(ref.id, partition), signal: options?.signal };
    return this.meter.measure(options, () =>
      this.#useOpen(ref, use, ({ logged }, signal) =>
        withData(logged?.warming ?? {}, () => logged!.answer(question), signal),
      ),
    );
  }

  async #requirePartition(ref: CollectionRef, partition: number): Promise<void> {
    const { schema } = await this.#catalog.collection(ref);
    if (partition >= partitionsOf(schema))
      throw new RangeError(`the collection has no partition ${partition}`);
  }

  /** As the engine has it. */
  askPartition(
    { id }: CollectionRef,
    ask: PartitionAsk,
    cursor: number,
    options: EngineOptions | undefined,
  ): Promise<unknown> {
    return this.meter.measure(options, () =>
      this.open.ask(id, cursor, options?.signal, (read) => answer(read, ask)),
    );
  }

  /** Begins a read of a partition, which is open until the read is closed. As `use`. */
  #beginPartition(
    ref: CollectionRef,
    partition: number,
    { question, ids, signal, times }: PartitionBeginning,
  ): Promise<BegunRead> {
    const name = partitionName(ref.id, partition);
    return this.#useOpen(ref, { name, signal }, (collection, used) => {
      throwIfAborted(used);
      const { signal: closing, ...hold } = this.#pool.hold(collection);
      const ending = new Cancellation();
      closing.addEventListener("abort", () => ending.abort(closing.reason), { once: true });
      signal?.addEventListener("abort", () => ending.abort(signal.reason), { once: true });
      const lease = this.open.lease(ref.tenant);
      const refresh = async (until: number): Promise<void> => collection.refresh(until);
      const release = (): void => {
        // What was asked of it may be under way.
        ending.abort(new SheafError("cancelled", "the read was closed"));
        hold.release();
        lease.release();
      };
      const keep = (bytes: number): void => lease.grow(bytes);
      return collection.partition.begin(question, ids, ending, {
        times,
        hold: { ...hold, refresh, keep, release },
      });
    });
  }

  /** With all that was in the log when it was called. */
  async #useOpen<T>(
    ref: CollectionRef,
    { name, signal, needs }: OpenedUse,
    work: (collection: OpenCollection, signal: CancelSignal) => Promise<T>,
  ): Promise<T> {
    for (let isAgain = false; ; isAgain = true) {
      let isRefreshed = false;
      try {
        const run = async (collection: OpenCollection, used: CancelSignal): Promise<T> => {
          const refreshed = collection.refresh();
          if (refreshed !== undefined) {
            await refreshed;
            await this.#follow(ref, collection);
          }
          isRefreshed = true;
          return work(collection, used);
        };
        return await this.#pool.use(name, signal, run, needs);
      } catch (error) {
        // The log was trimmed beyond what this server has read of it: it is opened again, with the rest.
        if (!(error instanceof ViewVoid) || isRefreshed || isAgain) throw error;
      }
    }
  }

  read(
    ref: CollectionRef,
    options: EngineOptions | undefined,
    start: (reads: RecordReads, signal: CancelSignal, times: StageTimes) => Promise<StartedRead>,
  ): Promise<ResultBatch> {
    return this.use(ref, options, async (collection, signal, times) => {
      const started = await start(collection.reads, signal, times);
      return this.open.begin(started, ref, () => this.#pool.hold(collection), signal);
    });
  }

  /** What another server has changed of the description counts from this call on. */
  async #follow(ref: CollectionRef, open: OpenCollection): Promise<void> {
    const before = open.schema;
    const { schema } = await this.#catalog.collection(ref);
    // The index is not yet what another call's schema says.
    const under = this.#following.get(open);
    if (under !== undefined) return under.then(() => this.#follow(ref, open));
    // Where this server has changed it meanwhile, what was looked up may be older.
    if (schema === this.#followed.get(open) || open.schema !== before) return;
    const isSame = isDeepStrictEqual(schema, before);
    if (!isSame) {
      const following = open.setSchema(schema).finally(() => this.#following.delete(open));
      this.#following.set(open, following);
      await following;
    }
    if (isSame || open.schema === schema) this.#followed.set(open, schema);
  }
}
