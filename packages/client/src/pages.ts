/** Lists of any length, read page by page as they are gone through. */

import { PAGES, type ListParams, type PagesParams } from "./catalog/params.ts";
import { requireKnown } from "./require-known.ts";

export interface Page<T> {
  readonly items: readonly T[];
  /** Where the next one begins, as the server says; `null`: there is none, or it is counted from the start. */
  readonly next: string | null;
}

/** Where a page begins, and how many it has at most; one with fewer is the last. */
interface PagePlace {
  readonly limit: number;
  readonly offset?: number;
  /** Instead of `offset`. */
  readonly after?: string;
}

type ReadPage<T> = (place: PagePlace) => Promise<Page<T>>;

/**
 * Pages of records are counted from the start each time: what is made or removed meanwhile may be missed or come twice. Those
 * of tenants, databases, collections and keys go on where the one before ended, so what is there all the time comes once.
 *
 * @example
 * for await (const record of notes.records({ where: { topic: "sea" } })) console.log(record.id);
 * for await (const page of notes.records().pages()) console.log(page.length);
 */
export class Pages<T> implements AsyncIterable<T> {
  readonly #read: ReadPage<T>;
  readonly #pageSize: number;

  /** @internal Made by the methods of clients and collections. */
  constructor(read: ReadPage<T>, pageSize: number) {
    if (!(Number.isInteger(pageSize) && pageSize > 0)) {
      throw new TypeError("params.pageSize: must be a positive integer");
    }
    this.#read = read;
    this.#pageSize = pageSize;
  }

  async *pages(): AsyncGenerator<readonly T[], void, undefined> {
    const limit = this.#pageSize;
    let place: PagePlace = { limit, offset: 0 };
    for (let offset = limit; ; offset += limit) {
      const { items, next } = await this.#read(place);
      if (items.length > 0) yield items;
      if (items.length < limit) return;
      place = next === null ? { limit, offset } : { limit, after: next };
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const page of this.pages()) yield* page;
  }
}

/** Whose pages are counted from the start each time. */
export function countedPages<T>(
  read: (page: { readonly limit: number; readonly offset: number }) => Promise<readonly T[]>,
  pageSize: number,
): Pages<T> {
  return new Pages(async ({ limit, offset = 0 }) => {
    return { items: await read({ limit, offset }), next: null };
  }, pageSize);
}

const PAGE_SIZE = 100;

/** Those of a method that lists a page. */
export function pages<T>(params: PagesParams, list: (page: ListParams) => Promise<Page<T>>): Pages<T> {
  const { pageSize = PAGE_SIZE, ...call } = requireKnown(params, PAGES, "params");
  return new Pages((page) => list({ ...page, ...call }), pageSize);
}
