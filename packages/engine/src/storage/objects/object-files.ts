/**
 * Index files in an object store, with a cache of what was read on the local disk. Objects are the truth: a block on disk
 * that is damaged is fetched again. Several servers may use one prefix; files have names that are made once.
 */
import { createHash } from "node:crypto";
import { SheafError, abortable, throwIfAborted } from "@sheaf/protocol";
import { SegmentDamaged, SegmentMissing } from "../files/segment-damaged.ts";
import {
  type ReadOptions,
  type SegmentFile,
  type SegmentFileWriter,
  type SegmentFiles,
  TAIL_BYTES,
  isFileName,
} from "../files/segment-files.ts";
import type { BlockCache } from "./block-cache.ts";
import { BLOCK_BYTES, type ObjectBlocks, ObjectFile } from "./object-file.ts";
import type { ObjectRange, ObjectStore } from "./object-store.ts";
import { ObjectWriter } from "./object-writer.ts";

const QUARANTINE = "quarantine/";
/** Damaged objects that are kept, the newest: they are for a person to look at. */
const MAX_QUARANTINED = 8;

export class ObjectFiles implements SegmentFiles {
  readonly #store: ObjectStore;
  readonly #cache: BlockCache | null;
  readonly #open = new Set<WeakRef<ObjectFile>>();
  /** Blocks that are being fetched, by their name in the cache. */
  readonly #fetches = new Map<string, Promise<Buffer>>();

  /** @param cache `null`: every read is a request. Closed with this. */
  constructor(store: ObjectStore, cache: BlockCache | null) {
    this.#store = store;
    this.#cache = cache;
  }

  async create(name: string, expectedBytes?: number): Promise<SegmentFileWriter> {
    if (!isFileName(name)) throw new SheafError("internal", `${name} is no name of an index file`);
    return new ObjectWriter(this.#store, name, expectedBytes);
  }

  async open(name: string, { signal }: ReadOptions = {}): Promise<SegmentFile | null> {
    throwIfAborted(signal);
    if (!isFileName(name)) return null;
    const tail = await abortable(this.#store.get(name, `-${TAIL_BYTES}`), signal);
    if (tail === null) return null;
    const file = new ObjectFile(name, tail, this.#blocksOf(name, tail));
    for (const known of this.#open) if (known.deref() === undefined) this.#open.delete(known);
    this.#open.add(new WeakRef(file));
    return file;
  }

  async list(): Promise<readonly string[]> {
    return (await this.#store.list("")).filter(isFileName).toSorted();
  }

  /** As `list`, some at a time and not in all. */
  async *listed(): AsyncGenerator<readonly string[]> {
    for await (const names of this.#store.listed("")) yield names.filter(isFileName);
  }

  async remove(name: string): Promise<void> {
    if (!isFileName(name)) return;
    await this.#store.remove(name);
    await this.#cache?.forget(`${name}.`);
  }

  /** Under another name of the bucket, behind the time. The object itself is what is damaged: blocks on disk are checked. */
  async quarantine(name: string): Promise<void> {
    if (!isFileName(name)) return;
    await this.#cache?.forget(`${name}.`);
    const time = new Date().toISOString().replaceAll(":", "-").toLowerCase();
    if (!(await this.#store.copy(name, `${QUARANTINE}${time}.${name}`))) return;
    await this.#store.remove(name);
    const kept = await this.#store.list(QUARANTINE);
    for (const old of kept.toSorted().slice(0, -MAX_QUARANTINED)) await this.#store.remove(old);
  }

  async isQuarantined(name: string): Promise<boolean> {
    return (await this.#store.list(QUARANTINE)).some((one) => one.endsWith(`.${name}`));
  }

  /** Another server may be writing: unfinished uploads are removed by a rule of the bucket, and nobody sees them. */
  async removeUnfinished(): Promise<void> {}

  async close(): Promise<void> {
    for (const file of this.#open) await file.deref()?.close();
    this.#open.clear();
    await Promise.allSettled(this.#fetches.values());
    await this.#cache?.close();
  }

  #blocksOf(name: string, { size, tag }: ObjectRange): ObjectBlocks {
    // Another object of this name would have another tag.
    const version = createHash("sha256").update(tag).digest("hex").slice(0, 16);
    const nameOf = (index: number): string => `${name}.${version}.${index}`;
    return {
      tryRead: (index, into, from) => this.#cache?.tryRead(nameOf(index), into, from) ?? false,
      read: (first, count, [from, to], isAnew) =>
        Promise.all(
          Array.from({ length: count }, async (_, i) => {
            const block = (first + i) * BLOCK_BYTES;
            const blockEnd = Math.min(size, block + BLOCK_BYTES);
            if (this.#cache !== null && !isAnew) {
              const wanted = { name, tag, start: block, end: blockEnd };
              return { start: block, bytes: await this.#block(nameOf(first + i), wanted) };
            }
            // Nothing of what is not asked for would be kept.
            const [start, end] = [Math.max(block, from), Math.min(blockEnd, to)];
            return { start, bytes: await this.#fetch({ name, tag, start, end }) };
          }),
        ),
    };
  }

  /** Callers that want the same block at the same time share its request. */
  #block(cached: string, wanted: WantedBlock): Promise<Buffer> {
    const known = this.#fetches.get(cached);
    if (known !== undefined) return known;
    const fetching = this.#readOrFetch(cached, wanted).finally(() => void this.#fetches.delete(cached));
    this.#fetches.set(cached, fetching);
    return fetching;
  }

  async #readOrFetch(cached: string, wanted: WantedBlock): Promise<Buffer> {
    const known = await this.#cache?.read(cached);
    if (known?.length === wanted.end - wanted.start) return known;
    const bytes = await this.#fetch(wanted);
    await this.#cache?.put(cached, bytes);
    return bytes;
  }

  async #fetch({ name, tag, start, end }: WantedBlock): Promise<Buffer> {
    const found = await this.#store.get(name, `${start}-${end - 1}`);
    if (found === null) throw new SegmentMissing(name);
    const bytes = found.bytes.subarray(start - found.start, end - found.start);
    if (found.tag !== tag) throw new SegmentDamaged(name, null, "the object is another one now");
    if (found.start > start || bytes.length !== end - start)
      throw new SegmentDamaged(name, null, `the object store has no bytes ${start} to ${end} of it`);
    return bytes;
  }
}

interface WantedBlock {
  readonly name: string;
  readonly tag: string;
  readonly start: number;
  readonly end: number;
}
