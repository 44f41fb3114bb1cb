/** The blocks of a segment in a file: what a filter or a result asks for is read then. */
import { PagedSection } from "../../storage/files/paged-section.ts";
import { IndexMemory, type SegmentMemory } from "../../storage/files/index-memory.ts";
import type { SectionReader } from "../../storage/files/section-reader.ts";
import { SegmentDamaged } from "../../storage/files/segment-damaged.ts";
import type { ReadOptions } from "../../storage/files/segment-files.ts";
import { BLOCK_DOCS } from "../block-docs.ts";
import { PackedTexts } from "../columns/packed-texts.ts";
import type { DocBlock } from "../doc-block.ts";
import { FileColumns } from "./file-columns.ts";
import { FileRows } from "./file-rows.ts";
import { FileSignatures } from "./file-signatures.ts";
import { PartFields } from "../../storage/files/part-fields.ts";
import { CELLS, PLACES } from "./write-blocks.ts";
import { COLUMNS } from "./write-columns.ts";

interface OpenBlocksOptions extends ReadOptions {
  /** Without limit if left out. */
  readonly memory?: SegmentMemory;
}

/** `capacity`: docIds of the segment. Throws `SegmentDamaged`. */
export async function openBlocks(
  reader: SectionReader,
  capacity: number,
  { memory = new IndexMemory().forSegment(), ...options }: OpenBlocksOptions = {},
): Promise<FileBlocks> {
  const places = reader.stream(PLACES);
  const bytes = Buffer.allocUnsafeSlow(places.length);
  if (!places.tryRead(bytes, 0)) await places.read(bytes, 0, options);
  return new FileBlocks(reader, { bytes, capacity, memory });
}

/** What will be looked at. */
export interface BlockNeeds {
  /** Keys of metadata that a filter looks at. */
  readonly columns?: Iterable<string>;
  /** Buckets of trigrams. */
  readonly trigrams?: Iterable<number>;
  /** Rows whose metadata is read. */
  readonly docIds?: Iterable<number>;
}

interface FileBlocksOptions {
  /** The directory. */
  readonly bytes: Buffer;
  readonly capacity: number;
  readonly memory: SegmentMemory;
}

export class FileBlocks {
  readonly blocks: readonly DocBlock[];
  readonly #rows: readonly FileRows[];
  readonly #columns: readonly FileColumns[];
  readonly #signatures: FileSignatures;

  constructor(reader: SectionReader, { bytes, capacity, memory }: FileBlocksOptions) {
    const count = Math.ceil(capacity / BLOCK_DOCS);
    const directory = readDirectory(
      new PartFields(bytes, (reason) => new SegmentDamaged(reader.name, PLACES, reason)),
      { capacity, count },
    );
    const cells = new PagedSection(reader, CELLS);
    const columns = new PagedSection(reader, COLUMNS);
    this.#signatures = new FileSignatures(reader, capacity, memory);
    this.#rows = Array.from({ length: count }, (_, i) => {
      const [head, data, end] = directory.cells.subarray(2 * i);
      const rows = Math.min(BLOCK_DOCS, capacity - i * BLOCK_DOCS);
      return new FileRows(cells, { head: head!, data: data!, end: end!, rows, memory });
    });
    const { keys } = directory;
    this.#columns = this.#rows.map((rows, i) => {
      const places = directory.columns.subarray(i * (2 * keys.length + 1));
      return new FileColumns({ section: columns, rows, keys, places, memory });
    });
    this.blocks = this.#rows.map((metadata, i) => ({
      metadata,
      signatures: this.#signatures.block(i),
      columns: this.#columns[i]!,
    }));
  }

  /** So that all of it can be read at once, also where files are late. */
  async prepare({ columns, trigrams, docIds }: BlockNeeds, options: ReadOptions = {}): Promise<void> {
    for (const key of columns ?? []) for (const block of this.#columns) await block.prepare(key, options);
    if (trigrams !== undefined) await this.#signatures.prepare(trigrams, options);
    const byBlock = new Map<number, number[]>();
    for (const docId of docIds ?? []) {
      const block = Math.floor(docId / BLOCK_DOCS);
      const rows = byBlock.get(block) ?? [];
      byBlock.set(block, rows);
      rows.push(docId % BLOCK_DOCS);
    }
    for (const [block, rows] of byBlock) await this.#rows[block]!.prepare(rows, options);
  }
}

interface Directory {
  /** Of each block its head and its rows, then the end. */
  readonly cells: Float64Array;
  /** Of each block its columns and its list of other keys, then the end. */
  readonly columns: Float64Array;
  readonly keys: readonly string[];
}

function readDirectory(
  fields: PartFields,
  { capacity, count }: { readonly capacity: number; readonly count: number },
): Directory {
  const [rows, keyCount, keyBytes] = fields.u32(4);
  if (rows !== capacity) throw fields.fail(`${rows} rows instead of ${capacity}`);
  const cells = fields.f64(2 * count + 1);
  const columns = fields.f64(count * (2 * keyCount! + 1) + 1);
  const ends = fields.u32(keyCount!);
  const texts = new PackedTexts({ ends, bytes: fields.bytes(keyBytes!) });
  fields.end();
  fields.requireAscending(cells, cells.at(-1)!);
  fields.requireAscending(columns, columns.at(-1)!);
  fields.requireAscending(ends, keyBytes!);
  const keys = Array.from(ends, (_, i) => texts.at(i)!);
  return { cells, columns, keys };
}
