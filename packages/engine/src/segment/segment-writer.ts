/**
 * Writes the live rows of other segments as one sealed segment: orders them into lists by k-means, codes each by its
 * residual, measures how far rows rise above their list's centroid, and writes everything else of the rows in that
 * order. Works in slices of about a millisecond: `step` until it returns the segment. Rows of the sources may die
 * meanwhile; `isCurrent` tells.
 */
import type { Metadata } from "@sheaf/protocol";
import { BLOCK_DOCS } from "./block-docs.ts";
import { SegmentSearch } from "./dense/segment-search.ts";
import type { DenseSegment } from "./dense/dense-segment.ts";
import { IndexMemory, type SegmentMemory } from "../storage/files/index-memory.ts";
import type { RowsKept } from "./dense/segment-layout.ts";
import { NO_DOC } from "./postings/merge-postings.ts";
import { SparseBlock } from "./postings/sparse-block.ts";
import { SparsePostings } from "./postings/sparse-postings.ts";
import { NO_ROW, TrigramSignatures } from "./trigrams/trigram-signatures.ts";
import { DenseWriter } from "./dense-writer.ts";
import { MAX_COLUMNS } from "./columns/doc-columns.ts";
import type { DocBlock } from "./doc-block.ts";
import { MemoryBlock } from "./memory-block.ts";
import { type DocIdentity, PackedDocs } from "./packed-docs.ts";
import { SealedSegment } from "./sealed-segment.ts";
import { type ReadRelative, SourceRows, type WriterSource } from "./source-rows.ts";
import { unfiledBytes } from "./unfiled-bytes.ts";

export interface SegmentWriterOptions {
  readonly id: number;
  /** Metadata keys whose sparse vectors are indexed. */
  readonly sparseKeys: readonly string[];
  /** From the store, for vectors that a source does not keep. */
  readonly readVector: ReadRelative;
  /** How much may be kept of the vectors; asked in the last step. */
  readonly keep: (segment: DenseSegment) => RowsKept;
  /** Of the new segment; without limit if left out. */
  readonly memory?: SegmentMemory | undefined;
}

/** Rows of metadata between two pauses. */
const ROWS_PER_SLICE = 128;
/** Of which only the places are looked up. */
const PLACED_PER_SLICE = 16_384;
const BYTES_PER_SLICE = 64 * 1024;
/** Of a segment: eight keys of 131,072 rows with texts of 20 characters, no two alike, take a third. */
const MOST_COLUMN_BYTES = 128 * 1024 * 1024;
/** V8 does not see how large shared memory is and collects it late; small blocks, which are soon merged, are not. */
export const MIN_SHARED_ROWS = 16_384;

export class SegmentWriter {
  readonly sources: readonly WriterSource[];
  readonly #options: SegmentWriterOptions;
  readonly #rows: SourceRows;
  readonly #work: Generator<void, SealedSegment>;
  readonly #unfinished: { close(): void }[] = [];
  /** By docId of the new segment: the row among those of the sources, or `NO_ROW`. */
  #order: Uint32Array = new Uint32Array(0);

  /** `sources`: together with at least one live row. */
  constructor(sources: readonly WriterSource[], options: SegmentWriterOptions) {
    this.sources = sources;
    this.#options = options;
    this.#rows = new SourceRows(sources, options.readVector);
    this.#work = this.#write();
  }

  /** Does one slice of work; the new segment once all is done. */
  step(): SealedSegment | undefined {
    const { done, value } = this.#work.next();
    return done === true ? value : undefined;
  }

  /** The rows of the new segment that were not killed meanwhile; a bit for each docId. */
  liveDocs(): Uint32Array<ArrayBuffer> {
    const order = this.#order;
    const live = new Uint32Array(order.length / 32);
    // Indexed: an iterator takes many times as long, and this is one slice.
    for (let docId = 0; docId < order.length; docId++)
      if (order[docId] !== NO_ROW && this.#rows.isLive(order[docId]!))
        live[docId >>> 5]! |= 1 << (docId & 31);
    return live;
  }

  /** Gives up what has been made of a segment that is no longer wanted. */
  close(): void {
    this.#work.return(undefined as never);
    for (const part of this.#unfinished.splice(0)) part.close();
  }

  *#write(): Generator<void, SealedSegment> {
    const rows = this.#rows;
    const dense = new DenseWriter(rows);
    this.#unfinished.push(dense);
    const { segment: whole, order, uncoded } = yield* dense.write();
    this.#order = order;
    const docs = yield* PackedDocs.write(whole.capacity, this.#identities());
    const blocks = yield* this.#writeBlocks();
    const postings = yield* this.#writePostings();
    const kept = this.#options.keep(whole);
    const segment = kept === whole.kept ? whole : whole.keeping(kept);
    if (segment !== whole) whole.close();
    this.#unfinished.length = 0;
    const { id, memory = new IndexMemory().forSegment() } = this.#options;
    const search = new SegmentSearch(segment, memory);
    memory.add("unfiled", unfiledBytes({ docs, blocks, postings }));
    return new SealedSegment({
      id,
      memory,
      rows: rows.count,
      search,
      uncoded,
      docs,
      blocks,
      postings,
    });
  }

  *#identities(): Generator<DocIdentity> {
    for (const [docId, row] of this.#order.entries()) {
      if (row === NO_ROW) continue;
      const segment = this.#rows.segmentOf(row);
      const from = this.#rows.docOf(row);
      yield {
        docId,
        offset: segment.offsets[from]!,
        sequence: segment.sequences[from]!,
        id: segment.idAt(from),
      };
    }
  }

  *#writeBlocks(): Generator<void, MemoryBlock[]> {
    const sources = this.sources.flatMap(({ segment }) => segment.blocks);
    // Blocks of all sources, one after the other.
    const firstBlock: number[] = [];
    let count = 0;
    for (const { segment } of this.sources) {
      firstBlock.push(count);
      count += segment.blocks.length;
    }
    const places = new Uint32Array(this.#order.length).fill(NO_ROW);
    for (const [i, row] of this.#order.entries()) {
      if (row !== NO_ROW)
        places[i] = firstBlock[this.#rows.sourceOf(row)]! * BLOCK_DOCS + this.#rows.docOf(row);
      if (i % PLACED_PER_SLICE === 0) yield;
    }
    yield;
    const signatures = yield* TrigramSignatures.reordered(
      sources.map((block) => block.signatures),
      places,
      BLOCK_DOCS,
    );
    const blocks = signatures.map((made) => new MemoryBlock(made));
    let bytes = 0;
    for (const [docId, place] of places.entries()) {
      const from = sources[Math.floor(place / BLOCK_DOCS)]?.metadata;
      const row = place % BLOCK_DOCS;
      const isLong = place !== NO_ROW && from!.bytes(row) >= BYTES_PER_SLICE;
      let metadata: Metadata | null = null;
      if (place !== NO_ROW) metadata = isLong ? yield* from!.getInSteps(row) : from!.get(row);
      yield* blocks[Math.floor(docId / BLOCK_DOCS)]!.push(metadata);
      if (place !== NO_ROW) bytes += from!.bytes(row);
      if (docId % ROWS_PER_SLICE !== 0 && bytes < BYTES_PER_SLICE) continue;
      bytes = 0;
      yield;
    }
    blocks.at(-1)?.seal();
    yield* makeColumns(sources, blocks);
    return blocks;
  }

  *#writePostings(): Generator<void, Map<string, SparsePostings>> {
    const postings = new Map<string, SparsePostings>();
    if (this.#options.sparseKeys.length === 0) return postings;
    const docIds = this.sources.map(({ segment }) => new Uint32Array(segment.capacity).fill(NO_DOC));
    yield;
    const order = this.#order;
    for (let docId = 0; docId < order.length; docId++) {
      const row = order[docId]!;
      if (row !== NO_ROW) docIds[this.#rows.sourceOf(row)]![this.#rows.docOf(row)] = docId;
    }
    yield;
    for (const key of this.#options.sparseKeys) {
      for (const { segment } of this.sources) yield* segment.postings(key)?.seal() ?? [];
      const sources = this.sources.flatMap(({ segment }, i) =>
        (segment.postings(key)?.blocks ?? []).map(({ block, firstDoc }) => {
          return { lists: block.lists, firstDoc, docIds: docIds[i]! };
        }),
      );
      const shared = this.#order.length >= MIN_SHARED_ROWS;
      const blocks =
        sources.length === 0 ? [] : yield* SparseBlock.merge(sources, this.#order.length, { shared });
      this.#unfinished.push(...blocks);
      postings.set(key, SparsePostings.sealed(blocks));
    }
    return postings;
  }
}

/**
 * Those that the sources have, and those that filters are likely to ask for: at a search they would take long. No more than
 * the memory should have until they are in a file.
 */
function* makeColumns(sources: readonly DocBlock[], blocks: readonly DocBlock[]): Generator<void> {
  const keys = new Set(sources.flatMap(({ columns }) => [...columns.keys]));
  for (const { columns } of sources) for (const key of columns.common) keys.add(key);
  let bytes = 0;
  for (const key of [...keys].slice(0, MAX_COLUMNS)) {
    for (const { columns } of blocks) {
      if (bytes > MOST_COLUMN_BYTES) return;
      if (yield* columns.preload(key)) yield;
      const packed = columns.packed(key);
      bytes += (packed?.head.length ?? 0) + (packed?.values.length ?? 0);
    }
  }
}
