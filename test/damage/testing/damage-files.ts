/** What happens to files of a data folder that nobody meant to happen, and the way of a collection to its file. */
import { readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const PAGE_BYTES = 4_096;

export function catalogFile(data: string): string {
  return join(data, "catalog", "data.mdb");
}

/** For servers whose collections have a file each, to be damaged by itself. */
export const OWN_FILES = { SHEAF_SHARED_STORES: "off" };

export function collectionFile(data: string, id: string): string {
  return join(data, "collections", id.slice(0, 2), id, "data.mdb");
}

/** Changes the file in place, as an error of the disk would. */
export function edit(path: string, change: (bytes: Buffer) => void): void {
  const bytes = readFileSync(path);
  change(bytes);
  writeFileSync(path, bytes, { flag: "r+" });
}

export function cutInHalf(path: string): void {
  truncateSync(path, Math.floor(statSync(path).size / 2));
}

export function zeroMetaPage(path: string, page: 0 | 1): void {
  edit(path, (bytes) => bytes.fill(0, page * PAGE_BYTES, (page + 1) * PAGE_BYTES));
}

/** Turns a bit of a text that stands in the file once. */
export function flipIn(path: string, text: string): void {
  edit(path, (bytes) => {
    const at = bytes.lastIndexOf(text);
    if (at < 0) throw new Error(`${path} does not hold ${JSON.stringify(text)}`);
    bytes[at] = (bytes[at] ?? 0) ^ 1;
  });
}

/** Turns `count` bits anywhere. */
export function flipBits(path: string, count: number, random: () => number): void {
  edit(path, (bytes) => {
    for (let i = 0; i < count; i++) {
      const at = Math.floor(random() * bytes.length);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << Math.floor(random() * 8));
    }
  });
}

/** mulberry32, so that a printed seed repeats a run's choices. */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
