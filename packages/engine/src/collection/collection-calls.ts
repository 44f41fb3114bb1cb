/** How a call of the engine gets its collection: opened, measured, and with what is left of a read kept for later. */
import { isDeepStrictEqual } from "node:util";
import type { CancelSignal, CollectionRef, JsonObject, WriteRequest } from "@sheaf/protocol";
import type { Catalog } from "../catalog/catalog.ts";
import type { EngineOptions, ResultBatch } from "../engine.ts";
import type { StartedRead } from "../query/execute.ts";
import { CallMeter, type StageTimes } from "../query/stage-times.ts";
import type { CollectionPool, NeededParts } from "./collection-pool.ts";
import type { CollectionReads } from "./collection-reads.ts";
import type { OpenCollection } from "./open-collection.ts";
import { isStoredAsGiven } from "./plan-write.ts";
import { ViewVoid } from "../storage/log/logged-record-store.ts";
import { OpenReads } from "./open-reads.ts";

export class CollectionCalls {
  readonly meter = new CallMeter();
  readonly open = new OpenReads();
  readonly #catalog: Catalog;
  readonly #pool: CollectionPool;
  /** The description that an open collection has followed last, where other servers may change it. */
  readonly #followed = new WeakMap<OpenCollection, JsonObject>();

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
    return this.#useKnown({ ...ref, id }, options, work, needs);
  }

  /** `false`: nothing is written, for the schema wants more made of the records. Else as a write. */
  async writeAsGiven(
    ref: CollectionRef,
    request: WriteRequest,
    options: EngineOptions | undefined,
  ): Promise<boolean> {
    const { id, schema } = await this.#catalog.collection(ref);
    if (!isStoredAsGiven(schema)) return false;
    const write = (collection: OpenCollection): Promise<void> => collection.write(request);
    await this.#useKnown({ ...ref, id }, options, write, "records");
    return true;
  }

  /** Of a collection that was looked up. */
  #useKnown<T>(
    ref: CollectionRef,
    options: EngineOptions | undefined,
    work: (collection: OpenCollection, signal: CancelSignal, times: StageTimes) => Promise<T>,
    needs?: NeededParts,
  ): Promise<T> {
    return this.meter.measure(options, async (times) => {
      for (let isAgain = false; ; isAgain = true) {
        let isRefreshed = false;
        try {
          const run = async (collection: OpenCollection, signal: CancelSignal): Promise<T> => {
            const refreshed = collection.refresh();
            if (refreshed !== undefined) {
              await refreshed;
              await this.#follow(ref, collection);
            }
            isRefreshed = true;
            return work(collection, signal, times.opened());
          };
          return await this.#pool.use(ref.id, options?.signal, run, needs);
        } catch (error) {
          // The log was trimmed beyond what this server has read of it: it is opened again, with the rest.
          if (!(error instanceof ViewVoid) || isRefreshed || isAgain) throw error;
        }
      }
    });
  }

  read(
    ref: CollectionRef,
    options: EngineOptions | undefined,
    start: (reads: CollectionReads, signal: CancelSignal, times: StageTimes) => Promise<StartedRead>,
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
    // Where this server has changed it meanwhile, what was looked up may be older.
    if (schema === this.#followed.get(open) || open.schema !== before) return;
    this.#followed.set(open, schema);
    if (!isDeepStrictEqual(schema, before)) await open.setSchema(schema);
  }
}
