/**
 * How much larger the entries of a store become by a batch, in whole pages and rather too much than too little, before
 * any of it is written. A value that does not fit half a page has pages of its own. Other entries share pages, and pages
 * that were split are half full. New records follow each other, so they split one page that is there; ids come anywhere.
 */
import { PAGE_HEADER_BYTES } from "./lmdb-file.ts";

const PAGE_BYTES = 4_096;
/** Of an entry on its page, beside key and value. */
const NODE_BYTES = 8 + 2;
/** What leads to the pages of a value. */
const REFERENCE_BYTES = 8;
const HALF_PAGE = (PAGE_BYTES - PAGE_HEADER_BYTES) / 2;

export class PageGrowth {
  /** Pages of large values, those of replaced ones taken away. */
  #ownPages = 0;
  #sharedBytes = 0;
  #ids = 0;
  #idBytes = 0;
  /** Entries that outgrow the ones they replace, and may each split their page. */
  #outgrown = 0;
  #appended = 0;
  #changeBytes = 0;

  /** An entry behind all others of its kind. */
  append(keyBytes: number, valueBytes: number): void {
    this.#ownPages += ownPages(keyBytes, valueBytes);
    this.#sharedBytes += sharedBytes(keyBytes, valueBytes);
    this.#appended = 1;
  }

  /** @param before Length of the value that this one takes the place of. */
  replace(keyBytes: number, valueBytes: number, before: number): void {
    this.#ownPages += ownPages(keyBytes, valueBytes) - ownPages(keyBytes, before);
    const more = sharedBytes(keyBytes, valueBytes) - sharedBytes(keyBytes, before);
    this.#sharedBytes += more;
    if (more > 0) this.#outgrown += 1;
  }

  /** What is kept of the change itself, for a while. Alone it counts for nothing: a record can always be replaced by another. */
  change(keyBytes: number, valueBytes: number): void {
    this.#changeBytes += NODE_BYTES + keyBytes + valueBytes;
  }

  insertId(keyBytes: number, valueBytes: number): void {
    this.#ids += 1;
    this.#idBytes += sharedBytes(keyBytes, valueBytes);
  }

  /**
   * @param leafPages That the store has.
   * @param mostIds That it can have.
   */
  bytes(leafPages: number, mostIds: number): number {
    const idPages = this.#ids === 0 ? 0 : Math.ceil((mostIds * this.#idBytes) / this.#ids / HALF_PAGE) + 1;
    const split = Math.min(leafPages, this.#appended + this.#outgrown + Math.min(this.#ids, idPages));
    const filled = Math.ceil(Math.max(0, this.#sharedBytes + this.#idBytes) / HALF_PAGE);
    const pages = this.#ownPages + split + filled;
    const changePages =
      pages <= 0 || this.#changeBytes === 0 ? 0 : 1 + Math.ceil(this.#changeBytes / HALF_PAGE);
    return (pages + changePages) * PAGE_BYTES;
  }
}

function isShared(keyBytes: number, valueBytes: number): boolean {
  return NODE_BYTES + keyBytes + valueBytes <= HALF_PAGE;
}

function sharedBytes(keyBytes: number, valueBytes: number): number {
  return NODE_BYTES + keyBytes + (isShared(keyBytes, valueBytes) ? valueBytes : REFERENCE_BYTES);
}

function ownPages(keyBytes: number, valueBytes: number): number {
  return isShared(keyBytes, valueBytes) ? 0 : Math.ceil((PAGE_HEADER_BYTES + valueBytes) / PAGE_BYTES);
}
