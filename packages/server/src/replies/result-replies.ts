/**
 * Turns reads of the engine into replies. A short one is made at once. Of any other the batches are fetched one by one,
 * those of a few replies at a time and tenants in turn, and written to its columns; when all records are there, the
 * reply is sent. So the engine holds nothing for a receiver that is slow.
 *
 * Replies that are being sent end with their collection: nobody takes half of one for the whole.
 */
import type { Engine, ResultBatch } from "@sheaf/engine";
import {
  type CollectionRef,
  type ResultShape,
  ResultWriter,
  SheafError,
  isShortResult,
  throwIfAborted,
} from "@sheaf/protocol";
import type { EngineSource } from "../request/engine-source.ts";
import type { TurnOwner } from "../request/fair-turns.ts";
import { intercept } from "../request/intercept.ts";
import type { RequestBudget } from "../request/request-context.ts";
import type { ReplyBody } from "./reply-body.ts";
import { ReplyPieces } from "./reply-pieces.ts";
import type { ReplyStore } from "./reply-store.ts";

export interface Read {
  readonly ref: CollectionRef;
  readonly first: ResultBatch;
  readonly budget: RequestBudget;
  /** Gives each batch what the engine does not know. */
  readonly complete?: ((batch: ResultBatch) => Promise<ResultBatch>) | undefined;
  /** Told of each batch. */
  readonly onBatch?: (batch: ResultBatch) => void;
  /** Awaited once all records are there, before anything is sent. */
  readonly onRead?: () => Promise<void>;
}

export class ResultReplies {
  readonly #engine: EngineSource;
  readonly #store: ReplyStore;
  /** Being sent. */
  readonly #sending = new Map<ReplyBody, CollectionRef>();

  constructor(engine: EngineSource, store: ReplyStore) {
    this.#engine = engine;
    this.#store = store;
  }

  async body(read: Read, shape: ResultShape): Promise<string | ReplyBody> {
    const { first, complete, onBatch, onRead } = read;
    if (first.cursor !== null || !isShortResult(first.lists)) return this.#long(read, shape);
    const batch = complete === undefined ? first : await complete(first);
    onBatch?.(batch);
    if (onRead !== undefined) await onRead();
    return shortText(shape, batch);
  }

  /** The engine, with the replies of a collection that is deleted ended. */
  watch(engine: Engine): Engine {
    return intercept(engine, (name, method) => {
      if (name === "deleteCollection") {
        return async (...args) => {
          const id = await this.#idOf(engine, args[0] as Parameters<Engine["deleteCollection"]>[0]);
          await method(...args);
          this.#end((ref) => ref.id === id);
        };
      }
      const isGone = WIDER_DELETES[name];
      if (isGone === undefined) return method;
      return async (...args) => {
        await method(...args);
        this.#end((ref) => isGone(ref, args[0]));
      };
    });
  }

  async #long(read: Read, shape: ResultShape): Promise<ReplyBody> {
    const { ref, budget, onRead } = read;
    const pieces = new ReplyPieces(this.#store, ref.tenant, {
      columns: shape.columns.length,
      advice: "ask for fewer records with limit (n_results of a query), or for less of each",
    });
    const writer = new ResultWriter(shape, (column, text) => pieces.write(column, text));
    let cursor = read.first.cursor;
    try {
      pieces.expect(read.first.leastBytes ?? 0);
      const owner = this.#store.newOwner(ref.tenant);
      const fetched = { ...read, owner };
      await this.#store.turns.run(owner, budget.signal, () => this.#add(read, read.first, writer, pieces));
      while (cursor !== null) cursor = await this.#next(fetched, cursor, writer, pieces);
      if (onRead !== undefined) await onRead();
      throwIfAborted(budget.signal);
      return this.#owned(pieces.body(writer.end()), read);
    } catch (error) {
      // What is left of it in the engine host, if that is still there.
      if (cursor !== null)
        this.#engine()
          .closeRead(cursor)
          .catch(() => undefined);
      await pieces.close();
      throw error;
    }
  }

  /** Ends with its request, whether somebody has begun to send it or not. */
  #owned(body: ReplyBody, { ref, budget }: Read): ReplyBody {
    body.endWith(budget.signal);
    this.#sending.set(body, ref);
    body.once("close", () => this.#sending.delete(body));
    return body;
  }

  #next(
    read: Read & { readonly owner: TurnOwner },
    cursor: number,
    writer: ResultWriter,
    pieces: ReplyPieces,
  ): Promise<number | null> {
    const { ref, owner, budget } = read;
    return this.#store.turns.run(owner, budget.signal, async () => {
      const batch = await this.#engine().nextBatch(ref, cursor, budget);
      await this.#add(read, batch, writer, pieces);
      return batch.cursor;
    });
  }

  async #add(read: Read, batch: ResultBatch, writer: ResultWriter, pieces: ReplyPieces): Promise<void> {
    read.onBatch?.(batch);
    pieces.begin();
    const { first, lists } = read.complete === undefined ? batch : await read.complete(batch);
    const slices = writer.batch(first, lists);
    while (slices.next().done !== true) {
      const paused = pieces.pause(read.budget.signal);
      if (paused !== undefined) await paused;
    }
  }

  /** `null`: no reply of that database is being sent, or there is no such collection. */
  async #idOf(engine: Engine, name: Parameters<Engine["deleteCollection"]>[0]): Promise<string | null> {
    const isSending = [...this.#sending.values()].some(
      ({ tenant, database }) => tenant === name.tenant && database === name.database,
    );
    if (!isSending) return null;
    return engine.getCollectionByName(name).then(
      ({ id }) => id,
      () => null,
    );
  }

  #end(isGone: (ref: CollectionRef) => boolean): void {
    for (const [body, ref] of this.#sending) {
      if (isGone(ref)) body.destroy(new SheafError("not_found", "the collection was deleted"));
    }
  }
}

/** What else deletes collections -> whether this one is of them. */
const WIDER_DELETES: Readonly<Record<string, (ref: CollectionRef, argument: unknown) => boolean>> = {
  deleteDatabase: (ref, argument) => {
    const { tenant, database } = argument as Parameters<Engine["deleteDatabase"]>[0];
    return ref.tenant === tenant && ref.database === database;
  },
  deleteTenant: (ref, tenant) => ref.tenant === tenant,
  reset: () => true,
};

function shortText(shape: ResultShape, { first, lists }: ResultBatch): string {
  const columns: string[] = shape.columns.map(() => "");
  const writer = new ResultWriter(shape, (column, text) => (columns[column] += text));
  const slices = writer.batch(first, lists);
  while (slices.next().done !== true);
  const end = writer.end();
  return columns.join("") + end;
}
