/**
 * Replies that describe the catalog: lists, and single collections. Batches are fetched and written one by one, those of
 * a few replies at a time and tenants in turn, and what is long is held and bounded as replies with records are.
 */
import type { ListBatch, ListPage } from "@sheaf/engine";
import { type Collection, LIMITS, throwIfAborted, writeCollection } from "@sheaf/protocol";
import type { RequestBudget } from "../request/request-context.ts";
import type { ReplyBody } from "./reply-body.ts";
import { ReplyPieces } from "./reply-pieces.ts";
import type { ReplyStore } from "./reply-store.ts";

const TOO_LONG = "ask for fewer with limit and offset";

export interface List<T> {
  /** Whose share of the replies it takes. */
  readonly tenant: string;
  readonly budget: RequestBudget;
  readonly page: ListPage;
  readonly fetch: (page: ListPage) => Promise<ListBatch<T>>;
  /** JSON of an item, in pieces. */
  readonly write: (item: T) => Iterable<string>;
  /** What stands around the items; brackets, unless it says otherwise. */
  readonly around?: readonly [string, string];
}

export interface ListReply {
  readonly body: string | ReplyBody;
  /** `after` of a list that goes on behind this one; `null`: there is no more. */
  readonly next: string | null;
}

export class ListReplies {
  readonly #store: ReplyStore;

  constructor(store: ReplyStore) {
    this.#store = store;
  }

  page<T>(list: List<T>): Promise<ListReply> {
    return this.#make(list, LIMITS.listBytes);
  }

  /** A JSON object whose members are all there: `write` gives those of an item. */
  async object<T>(
    owner: { readonly tenant: string; readonly budget: RequestBudget },
    items: readonly T[],
    write: List<T>["write"],
  ): Promise<string | ReplyBody> {
    const list: List<T> = {
      ...{ ...owner, page: { limit: null, offset: 0 }, around: ["{", "}"], write },
      fetch: () => Promise.resolve({ items, next: null }),
    };
    return (await this.#make(list, this.#store.replyBytes)).body;
  }

  /** Of one that is looked up, or was just made. */
  async collection(
    { tenant, budget }: { readonly tenant: string; readonly budget: RequestBudget },
    find: () => Promise<Collection>,
  ): Promise<string | ReplyBody> {
    const list: List<Collection> = {
      ...{ tenant, budget, page: { limit: 1, offset: 0 }, around: ["", ""], write: writeCollection },
      fetch: async () => ({ items: [await find()], next: null }),
    };
    return (await this.#make(list, this.#store.replyBytes)).body;
  }

  async #make<T>(list: List<T>, mostBytes: number): Promise<ListReply> {
    const { tenant, budget, around = ["[", "]"] } = list;
    const pieces = new ReplyPieces(this.#store, tenant, { columns: 1, mostBytes, advice: TOO_LONG });
    const owner = this.#store.newOwner(tenant);
    try {
      pieces.write(0, around[0]);
      let { page } = list;
      let rest: string | null = null;
      for (let before = ""; ; before = ",") {
        const { items, next } = await this.#store.turns.run(owner, budget.signal, async () => {
          const batch = await list.fetch(page);
          await this.#write(list, batch.items, before, pieces);
          return batch;
        });
        rest = next;
        const left = page.limit === null ? null : page.limit - items.length;
        if (next === null || left === 0) break;
        page = { limit: left, offset: 0, after: next };
      }
      throwIfAborted(budget.signal);
      const body = pieces.shortText(around[1]) ?? pieces.body(around[1]);
      if (typeof body !== "string") body.endWith(budget.signal);
      return { body, next: rest };
    } catch (error) {
      await pieces.close();
      throw error;
    }
  }

  async #write<T>(
    { write, budget }: List<T>,
    items: readonly T[],
    before: string,
    pieces: ReplyPieces,
  ): Promise<void> {
    pieces.begin();
    for (const [i, item] of items.entries()) {
      if (i > 0 || before !== "") pieces.write(0, ",");
      for (const piece of write(item)) {
        pieces.write(0, piece);
        const paused = pieces.pause(budget.signal);
        if (paused !== undefined) await paused;
      }
    }
  }
}
