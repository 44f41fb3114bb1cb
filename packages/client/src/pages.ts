/** Lists of any length, read page by page as they are gone through. */

import { PAGES, type PageParams, type PagesParams } from "./catalog/params.ts";
import { requireKnown } from "./require-known.ts";

/** @param page What to skip and how many to give at most; fewer than that are the last. */
type ReadPage<T> = (page: { readonly offset: number; readonly limit: number }) => Promise<readonly T[]>;

/**
 * What is made or removed meanwhile may be missed or come twice: pages are counted from the start each time.
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
    for (let offset = 0; ; offset += limit) {
      const page = await this.#read({ offset, limit });
      if (page.length > 0) yield page;
      if (page.length < limit) return;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const page of this.pages()) yield* page;
  }
}

const PAGE_SIZE = 100;

/** Those of a method that lists a page. */
export function pages<T>(params: PagesParams, list: (page: PageParams) => Promise<readonly T[]>): Pages<T> {
  const { pageSize = PAGE_SIZE, ...call } = requireKnown(params, PAGES, "params");
  return new Pages((page) => list({ ...page, ...call }), pageSize);
}
