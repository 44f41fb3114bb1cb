/**
 * Descriptions of collections that were decoded of late. Opening a collection and writing to it read its description three
 * times, and decoding takes most of such a read. The bytes are compared each time, so no change has to be announced.
 */
import { LRUCache } from "lru-cache";
import type { DataOrigin } from "../storage/corrupt-data-error.ts";
import { keyName } from "../storage/entries.ts";
import { type CollectionEntry, decodeCollection } from "./catalog-codec.ts";

/** Not to be changed. `value` stays as it is. */
export type DecodeCollection = (value: Uint8Array, origin: DataOrigin) => CollectionEntry;

interface Decoded {
  readonly value: Uint8Array;
  readonly entry: CollectionEntry;
}

/** Of what is kept; an ordinary description takes some 5 KiB. */
const MAX_BYTES = 16 * 1024 * 1024;
/** What a description takes once it is decoded, beside its bytes. */
const DECODED_FACTOR = 3;

/** `decodeCollection`, and what it gave for a key as long as the same bytes lie there. */
export function decodingOnce(): DecodeCollection {
  const sizeCalculation = ({ value }: Decoded): number => DECODED_FACTOR * value.length;
  const known = new LRUCache<string, Decoded>({ maxSize: MAX_BYTES, sizeCalculation });
  return (value, origin) => {
    const name = keyName(origin.key);
    const former = known.get(name);
    if (former !== undefined && Buffer.compare(former.value, value) === 0) return former.entry;
    const entry = decodeCollection(value, origin);
    known.set(name, { value, entry });
    return entry;
  };
}
