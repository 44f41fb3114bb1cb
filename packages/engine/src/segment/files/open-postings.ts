/** The sparse postings of a segment in a file: lists are read into kernel memory when their key is first asked for. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { throwIfAborted } from "@sheaf/protocol";
import { DataAbsent } from "../../storage/data-absent.ts";
import { IndexMemory, type SegmentMemory } from "../../storage/files/index-memory.ts";
import { SegmentDamaged } from "../../storage/files/segment-damaged.ts";
import type { ReadOptions } from "../../storage/files/segment-files.ts";
import type { SectionReader } from "../../storage/files/section-reader.ts";
import type { StreamSection } from "../../storage/files/stream-section.ts";
import { type ListsSize, MAX_LIST_ROWS, type PostingLists } from "../postings/posting-lists.ts";
import { SparseBlock, listsBytes } from "../postings/sparse-block.ts";
import { type PlacedBlock, type PostingsFile, SparsePostings } from "../postings/sparse-postings.ts";
import { MIN_SHARED_ROWS } from "../segment-writer.ts";
import { PackedTexts } from "../columns/packed-texts.ts";
import { PartFields } from "../../storage/files/part-fields.ts";
import { BLOCK_FIELDS, POSTINGS, POSTING_KEYS } from "./write-postings.ts";

/** Bytes that are read between two turns of the event loop. */
const PIECE_BYTES = 1024 * 1024;

/** A block in the file. */
interface BlockEntry {
  readonly start: number;
  readonly firstDoc: number;
  readonly size: ListsSize;
}

/** Throws `SegmentDamaged`. */
export async function openPostings(
  reader: SectionReader,
  capacity: number,
  { memory = new IndexMemory().forSegment(), ...options }: OpenPostingsOptions = {},
): Promise<FilePostings> {
  const directory = reader.stream(POSTING_KEYS);
  const bytes = Buffer.allocUnsafeSlow(directory.length);
  if (!directory.tryRead(bytes, 0)) await directory.read(bytes, 0, options);
  return new FilePostings(reader, { bytes, capacity, memory });
}

export interface OpenPostingsOptions extends ReadOptions {
  /** Without limit if left out. */
  readonly memory?: SegmentMemory | undefined;
}

interface PostingsDirectory {
  readonly bytes: Buffer;
  readonly capacity: number;
  readonly memory: SegmentMemory;
}

export class FilePostings {
  readonly byKey: ReadonlyMap<string, SparsePostings>;
  readonly #file: string;
  readonly #section: StreamSection;
  readonly #entries: ReadonlyMap<string, readonly BlockEntry[]>;
  readonly #capacity: number;
  readonly #memory: SegmentMemory;
  /** Read before they were asked for. */
  readonly #prepared = new Map<string, readonly PlacedBlock[]>();
  readonly #reading = new Map<string, Promise<void>>();

  constructor(reader: SectionReader, { bytes, capacity, memory }: PostingsDirectory) {
    this.#file = reader.name;
    this.#section = reader.stream(POSTINGS);
    this.#capacity = capacity;
    this.#memory = memory;
    const fields = new PartFields(bytes, (reason) => new SegmentDamaged(reader.name, POSTING_KEYS, reason));
    this.#entries = readDirectory(fields, capacity, this.#section.length);
    this.byKey = new Map(
      [...this.#entries.keys()].map((key) => [key, SparsePostings.lazy(this.#fileOf(key))]),
    );
  }

  /** Postings in memory, by key, that are those of the file can be read again. */
  adopt(postings: ReadonlyMap<string, SparsePostings>): void {
    for (const [key, ofKey] of postings) if (this.#entries.has(key)) ofKey.moveTo(this.#fileOf(key));
  }

  #fileOf(key: string): PostingsFile {
    return { read: () => this.#blocksOf(key), memory: this.#memory };
  }

  /** Every list of the key's comes with the lengths of documents. */
  hasLengths(key: string): boolean {
    return this.#entries.get(key)?.every(({ size }) => size.lengths > 0) ?? false;
  }

  /** Reads the lists of keys in slices, so that they are there when they are asked for. */
  async prepare(keys: Iterable<string>, { signal }: ReadOptions = {}): Promise<void> {
    for (const key of keys) {
      const entries = this.#entries.get(key);
      if (entries === undefined || this.byKey.get(key)!.isLoaded || this.#prepared.has(key)) continue;
      let reading = this.#reading.get(key);
      if (reading === undefined) {
        // For all who wait for it: one that is cancelled does not end it.
        reading = this.#readInSlices(key, entries).finally(() => this.#reading.delete(key));
        this.#reading.set(key, reading);
      }
      await reading;
      throwIfAborted(signal);
    }
  }

  async #readInSlices(key: string, entries: readonly BlockEntry[]): Promise<void> {
    const placed: PlacedBlock[] = [];
    for (const entry of entries) {
      const block = this.#empty(entry);
      for (let from = 0; from < block.bytes.length; from += PIECE_BYTES) {
        const piece = block.bytes.subarray(from, from + PIECE_BYTES);
        if (!this.#section.tryRead(piece, entry.start + from))
          await this.#section.read(piece, entry.start + from);
        await nextTurn();
      }
      placed.push(this.#checked(block, entry));
    }
    this.#prepared.set(key, placed);
  }

  #blocksOf(key: string): readonly PlacedBlock[] {
    const prepared = this.#prepared.get(key);
    this.#prepared.delete(key);
    return prepared ?? this.#entries.get(key)!.map((entry) => this.#read(key, entry));
  }

  #read(key: string, entry: BlockEntry): PlacedBlock {
    const block = this.#empty(entry);
    if (!this.#section.tryRead(block.bytes, entry.start)) throw new DataAbsent(() => this.prepare([key]));
    return this.#checked(block, entry);
  }

  #empty({ size }: BlockEntry): SparseBlock {
    return SparseBlock.empty(size, { shared: this.#capacity >= MIN_SHARED_ROWS });
  }

  /** Kernels trust the lists. */
  #checked(block: SparseBlock, { start, firstDoc }: BlockEntry): PlacedBlock {
    const reason = faultOf(block.lists, this.#capacity - firstDoc);
    if (reason !== null) {
      block.close();
      throw new SegmentDamaged(this.#file, POSTINGS, `lists at ${start}: ${reason}`);
    }
    return { block, firstDoc };
  }
}

function readDirectory(
  fields: PartFields,
  capacity: number,
  length: number,
): ReadonlyMap<string, readonly BlockEntry[]> {
  const [keyCount, keyBytes, blockCount] = fields.u32(4);
  const ends = fields.f64(blockCount!);
  const sizes = fields.u32(blockCount! * BLOCK_FIELDS);
  const blockEnds = fields.u32(keyCount!);
  const keyEnds = fields.u32(keyCount!);
  const keys = new PackedTexts({ ends: keyEnds, bytes: fields.bytes(keyBytes!) });
  fields.end();
  fields.requireAscending(keyEnds, keyBytes!);
  fields.requireAscending(ends, length);
  fields.requireAscending(blockEnds, blockCount!);
  const entries = Array.from(ends, (end, i): BlockEntry => {
    const [firstDoc, rowCount, terms, postings, columns] = sizes.subarray(i * BLOCK_FIELDS);
    const bare = { rowCount: rowCount!, terms: terms!, postings: postings!, columns: columns!, lengths: 0 };
    const start = i === 0 ? 0 : ends[i - 1]!;
    // A block that has lengths is that much longer.
    const size = listsBytes(bare) === end - start ? bare : { ...bare, lengths: rowCount! };
    const fits = rowCount! % 32 === 0 && rowCount! <= MAX_LIST_ROWS && firstDoc! < capacity;
    if (!fits || firstDoc! % 32 !== 0 || listsBytes(size) !== end - start)
      throw fields.fail(`lists at ${start} do not have the size that is given`);
    return { start, firstDoc: firstDoc!, size };
  });
  const byKey = new Map(
    Array.from(blockEnds, (end, i) => [keys.at(i)!, entries.slice(i === 0 ? 0 : blockEnds[i - 1], end)]),
  );
  if (byKey.size !== keyCount) throw fields.fail("a key is there twice");
  return byKey;
}

/** `null`: nothing in the lists leads beyond them, nor beyond the `docs` that are left of the segment. */
function faultOf({ terms, starts, rows, columnTerms, rowCount }: PostingLists, docs: number): string | null {
  if (starts[0] !== 0 || starts[terms.length] !== rows.length) return "they end elsewhere";
  for (let i = 0; i < terms.length; i++) {
    if (starts[i]! > starts[i + 1]!) return "places do not ascend";
    if (i > 0 && terms[i - 1]! >= terms[i]!) return "terms do not ascend";
  }
  for (let i = 1; i < columnTerms.length; i++)
    if (columnTerms[i - 1]! >= columnTerms[i]!) return "terms do not ascend";
  const limit = Math.min(rowCount, docs);
  if (limit < MAX_LIST_ROWS)
    for (let i = 0; i < rows.length; i++) if (rows[i]! >= limit) return "a row is beyond the last one";
  return null;
}
