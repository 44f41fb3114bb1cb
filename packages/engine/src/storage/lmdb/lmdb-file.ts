/**
 * LMDB's data file read without LMDB, so that damage is a sentence and never a signal: LMDB trusts what its pages say
 * and ends the process where they lie. Layout: two meta pages, of which the one with the higher transaction counts,
 * then pages of B+trees, values that span pages, and free pages. Written for data version 2, 64 bit, little-endian.
 */
import { closeSync, fstatSync, readSync } from "node:fs";
import { NoFile, openFileSync } from "../folder/open-file.ts";

export const PAGE_HEADER_BYTES = 24;
const META_PAGES = 2;
const META_BYTES = PAGE_HEADER_BYTES + 144;
const META_FLAG = 0x08;
const MAGIC = 0xbeefc0de;
const DATA_VERSION = 2;
const VERSION_MASK = 0xffff;
const NO_PAGE = 0xffff_ffff_ffff_ffffn;
const PAGE_SIZES = [4_096, 8_192, 16_384, 32_768, 65_536];

/** One tree of pages: the entries, or the list of free pages. */
export interface LmdbTree {
  readonly depth: number;
  readonly branchPages: number;
  readonly leafPages: number;
  readonly overflowPages: number;
  readonly entries: number;
  /** `null`: it is empty. */
  readonly root: number | null;
}

export interface LmdbMeta {
  readonly pageSize: number;
  readonly free: LmdbTree;
  readonly main: LmdbTree;
  /** The file may end before it where the last pages are free ones. */
  readonly lastPage: number;
  readonly transaction: bigint;
}

/** What is wrong with a file, in words. */
export class DamagedFile extends Error {
  override readonly name = "DamagedFile";
}

export class LmdbFile {
  readonly meta: LmdbMeta;
  readonly bytes: number;
  readonly #descriptor: number;

  /**
   * Throws `DamagedFile` unless it is a file and both meta pages are sound; an empty file has none. With `report` one sound page is
   * enough, which leads to the newest state or to the one before.
   */
  constructor(path: string, report?: (problem: string) => void) {
    this.#descriptor = opened(path);
    try {
      this.bytes = fstatSync(this.#descriptor).size;
      this.meta = report === undefined ? this.#newestMeta() : this.#anyMeta(report);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Whole pages that the file has. */
  get pages(): number {
    return Math.floor(this.bytes / this.meta.pageSize);
  }

  /** `null`: they lie beyond the end of the file. */
  read(page: number, count: number): Buffer | null {
    const { pageSize } = this.meta;
    return page + count > this.pages ? null : this.#bytesAt(page * pageSize, count * pageSize);
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  #newestMeta(): LmdbMeta {
    const first = this.#meta(0, 0);
    const second = this.#meta(1, first.pageSize);
    const apart = first.transaction - second.transaction;
    // A copy has a page of no transaction, a new file two.
    const inTurn = apart === 1n || apart === -1n || first.transaction === 0n || second.transaction === 0n;
    if (first.pageSize !== second.pageSize || !inTurn) {
      throw new DamagedFile("its two meta pages do not belong together");
    }
    return first.transaction >= second.transaction ? first : second;
  }

  #anyMeta(report: (problem: string) => void): LmdbMeta {
    try {
      return this.#newestMeta();
    } catch (error) {
      if (!(error instanceof DamagedFile)) throw error;
      report(error.message);
    }
    const places = [[0, 0], ...PAGE_SIZES.map((size) => [1, size])] as const;
    const found = places.flatMap(([index, at]) => this.#metaAt(index, at) ?? []);
    const newest = found.toSorted((a, b) => (a.transaction < b.transaction ? 1 : -1))[0];
    if (newest === undefined) throw new DamagedFile("neither of its meta pages can be read");
    return newest;
  }

  #meta(index: number, at: number): LmdbMeta {
    if (at + META_BYTES > this.bytes) throw new DamagedFile(`it has only ${this.bytes} bytes`);
    const meta = this.#metaAt(index, at);
    if (meta === null) throw new DamagedFile(`meta page ${index} is not one`);
    return meta;
  }

  #metaAt(index: number, at: number): LmdbMeta | null {
    const bytes = this.#bytesAt(at, META_BYTES);
    return bytes === null ? null : readMeta(bytes, index);
  }

  #bytesAt(position: number, length: number): Buffer | null {
    const bytes = Buffer.allocUnsafe(length);
    let filled = 0;
    while (filled < length) {
      const read = readSync(this.#descriptor, bytes, filled, length - filled, position + filled);
      if (read === 0) return null;
      filled += read;
    }
    return bytes;
  }
}

function opened(path: string): number {
  try {
    return openFileSync(path);
  } catch (error) {
    throw error instanceof NoFile ? new DamagedFile(error.message) : error;
  }
}

/** `null`: no meta page of this format, or one whose numbers cannot be. */
function readMeta(page: Buffer, index: number): LmdbMeta | null {
  const isMeta = (page.readUInt16LE(18) & META_FLAG) !== 0 && Number(page.readBigUInt64LE(0)) === index;
  const version = page.readUInt32LE(28) & VERSION_MASK;
  if (!isMeta || page.readUInt32LE(24) !== MAGIC || version !== DATA_VERSION) return null;
  const pageSize = page.readUInt32LE(48);
  const lastPage = Number(page.readBigUInt64LE(144));
  const transaction = page.readBigUInt64LE(152);
  const free = readTree(page, 48);
  const main = readTree(page, 96);
  if (!PAGE_SIZES.includes(pageSize) || !Number.isSafeInteger(lastPage * pageSize)) return null;
  if (transaction > 0n && Number(transaction % 2n) !== index) return null;
  for (const { root } of [free, main])
    if (root !== null && (root < META_PAGES || root > lastPage)) return null;
  return { pageSize, free, main, lastPage, transaction };
}

function readTree(page: Buffer, at: number): LmdbTree {
  const number = (offset: number): number => Number(page.readBigUInt64LE(at + offset));
  const root = page.readBigUInt64LE(at + 40);
  return {
    depth: page.readUInt16LE(at + 6),
    branchPages: number(8),
    leafPages: number(16),
    overflowPages: number(24),
    entries: number(32),
    root: root === NO_PAGE ? null : Number(root),
  };
}
