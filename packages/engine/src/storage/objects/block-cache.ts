/**
 * Blocks of objects in files of a local folder, the least recently used out first. Each file ends with the checksum of
 * its bytes, which is compared when this process first reads it: what is damaged, torn or gone is fetched again. Whatever
 * fails on the disk, the cache only has less in it.
 */
import { closeSync, openSync, readSync } from "node:fs";
import { readFile, readdir, rename, rm, stat, unlink, writeFile } from "node:fs/promises";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { LRUCache } from "lru-cache";
import type { DiskSpace } from "../folder/disk-space.ts";
import { makeFolder } from "../folder/make-folder.ts";
import { OWNER_ONLY_FILE } from "../folder/restrict-access.ts";
import { crc32c } from "../values/crc32c.ts";

const CHECKSUM_BYTES = 4;
const UNFINISHED = ".new";

interface Block {
  /** With the checksum. */
  readonly bytes: number;
  /** This process has compared the checksum, or has written the file. */
  isVerified: boolean;
}

export interface BlockCacheOptions {
  readonly folder: string;
  readonly maxBytes: number;
  /** Refuses what would go into the reserve of the disk. */
  readonly disk?: Pick<DiskSpace, "claimFile"> | null;
}

export class BlockCache {
  readonly #folder: string;
  readonly #disk: Pick<DiskSpace, "claimFile"> | null;
  readonly #blocks: LRUCache<string, Block>;
  readonly #removals = new Set<Promise<void>>();
  #ready: Promise<void> | null = null;

  constructor({ folder, maxBytes, disk = null }: BlockCacheOptions) {
    this.#folder = folder;
    this.#disk = disk;
    this.#blocks = new LRUCache<string, Block>({
      maxSize: maxBytes,
      sizeCalculation: ({ bytes }) => bytes,
      dispose: (_block, name, reason) => {
        if (reason !== "set") this.#unlink(name);
      },
    });
  }

  /** Of the files. */
  get bytes(): number {
    return this.#blocks.calculatedSize;
  }

  /** Fills `into` at once; `false`: the block is not here, or was not read yet. */
  tryRead(name: string, into: Uint8Array, from: number): boolean {
    if (this.#blocks.get(name)?.isVerified !== true) return false;
    try {
      const file = openSync(join(this.#folder, name), "r");
      try {
        if (readSync(file, into, 0, into.length, from) === into.length) return true;
      } finally {
        closeSync(file);
      }
    } catch {
      // Somebody has removed the file.
    }
    this.#blocks.delete(name);
    return false;
  }

  /** The whole block; `null`: it is not here. */
  async read(name: string): Promise<Buffer | null> {
    await this.open();
    const block = this.#blocks.get(name);
    if (block === undefined) return null;
    const file = await readFile(join(this.#folder, name)).catch(() => null);
    const bytes = file?.subarray(0, Math.max(0, file.length - CHECKSUM_BYTES)) ?? null;
    const isWhole =
      file !== null && bytes !== null && file.length === block.bytes && checksumOf(file) === crc32c(bytes);
    if (isWhole) block.isVerified = true;
    else if (this.#blocks.peek(name) === block) this.#blocks.delete(name);
    return isWhole ? bytes : null;
  }

  /** Never rejects. */
  async put(name: string, bytes: Uint8Array): Promise<void> {
    await this.open();
    const size = bytes.length + CHECKSUM_BYTES;
    if (size > this.#blocks.maxSize) return;
    const temporary = join(this.#folder, `${name}.${randomUUID()}${UNFINISHED}`);
    try {
      const claim = this.#disk?.claimFile(size);
      try {
        const checksum = Buffer.alloc(CHECKSUM_BYTES);
        checksum.writeUInt32LE(crc32c(bytes));
        makeFolder(this.#folder);
        await writeFile(temporary, [bytes, checksum], { mode: OWNER_ONLY_FILE });
        await this.#removed();
        await rename(temporary, join(this.#folder, name));
        this.#blocks.set(name, { bytes: size, isVerified: true });
      } finally {
        claim?.release();
      }
    } catch {
      // No room: the next reader fetches it again.
      await rm(temporary, { force: true }).catch(() => {});
    }
  }

  /** Drops all blocks whose names begin so. */
  async forget(start: string): Promise<void> {
    await this.open();
    for (const name of this.#blocks.keys()) if (name.startsWith(start)) this.#blocks.delete(name);
    await this.#removed();
  }

  /** Learns which blocks earlier processes have left. */
  open(): Promise<void> {
    return (this.#ready ??= this.#scan());
  }

  async close(): Promise<void> {
    await this.#ready;
    await this.#removed();
  }

  async #scan(): Promise<void> {
    const found: { readonly name: string; readonly bytes: number; readonly at: number }[] = [];
    for (const name of await readdir(this.#folder).catch(() => [])) {
      if (name.endsWith(UNFINISHED)) this.#unlink(name);
      else {
        const file = await stat(join(this.#folder, name)).catch(() => null);
        if (file?.isFile() === true) found.push({ name, bytes: file.size, at: file.mtimeMs });
      }
    }
    for (const { name, bytes } of found.sort((a, b) => a.at - b.at)) {
      if (bytes > CHECKSUM_BYTES && bytes <= this.#blocks.maxSize)
        this.#blocks.set(name, { bytes, isVerified: false });
      else this.#unlink(name);
    }
  }

  #unlink(name: string): void {
    const removal = unlink(join(this.#folder, name))
      .catch(() => {})
      .finally(() => void this.#removals.delete(removal));
    this.#removals.add(removal);
  }

  async #removed(): Promise<void> {
    await Promise.all(this.#removals);
  }
}

function checksumOf(file: Buffer): number {
  return file.length < CHECKSUM_BYTES ? -1 : file.readUInt32LE(file.length - CHECKSUM_BYTES);
}
