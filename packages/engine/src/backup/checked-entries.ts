/**
 * Entries of a collection on their way into a backup, each held to its sum, and records to the ids that lead to them: what is
 * damaged here would be "complete" there, and would take the place of what a base has sound. The measure is that of `sheaf
 * doctor`, but memory does not grow with the collection.
 */
import { damagedStore } from "../storage/corrupt-data-error.ts";
import type { Entry } from "../storage/entries.ts";
import { RECORD_KEYS, readOffset } from "../storage/lmdb/record-keys.ts";
import { crc32c } from "../storage/values/crc32c.ts";
import { type HeadValue, decodeHead, decodeId } from "../storage/values/value-codec.ts";

export class CheckedEntries {
  /** `null`: it has not come, or there is none. */
  head: HeadValue | null = null;
  readonly #store: string;
  readonly #count: number | null;
  #entries = 0;
  #records = 0;
  /** Sum of what ids and offsets make together, modulo 2^32: of id keys added, of records taken away. */
  #pairs = 0;

  /** @param store What messages call it. @param count Of entries beside the head; `null`: whoever reads them knows that none is missing. */
  constructor(store: string, count: number | null) {
    this.#store = store;
    this.#count = count;
  }

  /** The same, in order of their keys. Throws `collection_unavailable` where one is damaged, and at the end where some are missing. */
  *of(entries: Iterable<Entry>): Generator<Entry> {
    for (const entry of entries) {
      this.#check(entry);
      yield entry;
    }
    if (this.#count !== null && this.#count !== this.#entries)
      throw this.#damaged(`there are ${this.#entries} of its ${this.#count} entries`);
    if (this.#records !== 0 || this.#pairs !== 0) throw this.#damaged("ids do not lead to their records");
  }

  /** Removals and changes only save work: without them the index is made of all records. */
  #check({ key, value }: Entry): void {
    if (Buffer.compare(key, RECORD_KEYS.head) === 0) {
      this.head = decodeHead(value, { store: this.#store, key });
      return;
    }
    this.#entries += 1;
    if (key[0] === RECORD_KEYS.ids[0]) this.#add(1, value, key.subarray(1));
    else if (key[0] === RECORD_KEYS.afterIds[0]) this.#add(-1, key, this.#idOf(key, value));
  }

  #idOf(key: Uint8Array, value: Uint8Array): Uint8Array {
    const origin = { store: this.#store, key };
    const offset = readOffset(key, origin);
    if (offset >= (this.head?.head.nextOffset ?? 0))
      throw this.#damaged(`offset ${offset} is beyond the next one`);
    return decodeId(value, offset, origin);
  }

  #add(sign: 1 | -1, offset: Uint8Array, id: Uint8Array): void {
    this.#records += sign;
    this.#pairs = (this.#pairs + sign * crc32c(id, 0, id.length, crc32c(offset))) | 0;
  }

  #damaged(reason: string): Error {
    return damagedStore(this.#store, reason);
  }
}
