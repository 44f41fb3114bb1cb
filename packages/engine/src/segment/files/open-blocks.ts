/** The blocks of a segment in a file: what a filter or a result asks for is read then. */
import { PagedSection } from "../../storage/files/paged-section.ts";
import { PartCache } from "../../storage/files/part-cache.ts";
import type { SectionReader } from "../../storage/files/section-reader.ts";
import { SegmentDamaged } from "../../storage/files/segment-damaged.ts";
import type { ReadOptions } from "../../storage/files/segment-files.ts";
import { BLOCK_DOCS } from "../block-docs.ts";
import { DocColumns } from "../columns/doc-columns.ts";
import type { DocBlock } from "../doc-block.ts";
import { FileRows } from "./file-rows.ts";
import { FileSignatures } from "./file-signatures.ts";
import { PartFields } from "./part-fields.ts";
import { CELLS, PLACES } from "./write-blocks.ts";

/** Of parts that a segment keeps. */
const CACHE_BYTES = 64 * 1024 * 1024;

/** `capacity`: docIds of the segment. Throws `SegmentDamaged`. */
export async function openBlocks(
  reader: SectionReader,
  capacity: number,
  options: ReadOptions = {},
): Promise<FileBlocks> {
  const places = reader.stream(PLACES);
  const bytes = Buffer.allocUnsafeSlow(places.length);
  if (!places.tryRead(bytes, 0)) await places.read(bytes, 0, options);
  return new FileBlocks(reader, { bytes, capacity });
}

/** What will be looked at. */
export interface BlockNeeds {
  /** Buckets of trigrams. */
  readonly trigrams?: Iterable<number>;
  /** Rows whose metadata is read. */
  readonly docIds?: Iterable<number>;
}

export class FileBlocks {
  readonly blocks: readonly DocBlock[];
  readonly #rows: readonly FileRows[];
  readonly #signatures: FileSignatures;

  constructor(
    reader: SectionReader,
    { bytes, capacity }: { readonly bytes: Buffer; readonly capacity: number },
  ) {
    const fields = new PartFields(bytes, (reason) => new SegmentDamaged(reader.name, PLACES, reason));
    const count = Math.ceil(capacity / BLOCK_DOCS);
    const [rows] = fields.u32(2);
    if (rows !== capacity) throw fields.fail(`${rows} rows instead of ${capacity}`);
    const cells = new PagedSection(reader, CELLS);
    const places = fields.f64(2 * count + 1);
    fields.end();
    fields.requireAscending(places, places.at(-1)!);
    const cache = new PartCache(CACHE_BYTES);
    this.#signatures = new FileSignatures(reader, capacity, cache);
    this.#rows = Array.from({ length: count }, (_, i) => {
      const [head, data, end] = places.subarray(2 * i);
      const rows = Math.min(BLOCK_DOCS, capacity - i * BLOCK_DOCS);
      return new FileRows(cells, { head: head!, data: data!, end: end!, rows, cache });
    });
    this.blocks = this.#rows.map((metadata, i) => ({
      metadata,
      signatures: this.#signatures.block(i),
      columns: new DocColumns(metadata),
    }));
  }

  /** So that all of it can be read at once, also where files are late. */
  async prepare({ trigrams, docIds }: BlockNeeds, options: ReadOptions = {}): Promise<void> {
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
