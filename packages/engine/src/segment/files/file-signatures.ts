/**
 * The signatures of a segment's documents in a file: a row of bits over all docIds for each bucket, so that a filter reads
 * the rows of its trigrams and nothing else. Each block sees its own words of them.
 */
import type { SectionReader } from "../../storage/files/section-reader.ts";
import type { SectionWriter } from "../../storage/files/section-writer.ts";
import type { SegmentMemory } from "../../storage/files/index-memory.ts";
import { LazyPart } from "../../storage/files/lazy-part.ts";
import type { RowSection } from "../../storage/files/row-section.ts";
import { SegmentDamaged } from "../../storage/files/segment-damaged.ts";
import type { ReadOptions } from "../../storage/files/segment-files.ts";
import { BLOCK_WORDS } from "../block-docs.ts";
import type { DocBlock } from "../doc-block.ts";
import { type SignatureBits, type Signatures, rowsHaving } from "../trigrams/signatures.ts";
import type { TrigramQuery } from "../trigrams/trigram-query.ts";
import { TRIGRAM_BUCKETS } from "../trigrams/trigrams.ts";
import type { Pause } from "./write-cells.ts";

const SECTION = "trigrams";
/** Rows behind those of the buckets. */
const DOCUMENTS = TRIGRAM_BUCKETS;
const UNKNOWN = TRIGRAM_BUCKETS + 1;
const ROWS = TRIGRAM_BUCKETS + 2;

/** `capacity`: docIds of all blocks. Without any document the section has no rows. */
export async function writeSignatures(
  writer: SectionWriter,
  { blocks, capacity }: { readonly blocks: readonly DocBlock[]; readonly capacity: number },
  pause: Pause,
): Promise<void> {
  await writer.rows(SECTION, capacity / 8);
  const signatures = blocks.map((block) => block.signatures);
  if (signatures.every(({ documents }) => documents.every((word) => word === 0))) return;
  const row = new Uint32Array(capacity / 32);
  const write = async (wordsOf: (bits: SignatureBits) => Uint32Array): Promise<void> => {
    row.fill(0);
    for (const [i, bits] of signatures.entries()) {
      const first = i * BLOCK_WORDS;
      row.set(wordsOf(bits).subarray(0, row.length - first), first);
    }
    await writer.write(new Uint8Array(row.buffer));
    await pause();
  };
  for (let bucket = 0; bucket < TRIGRAM_BUCKETS; bucket++) await write((bits) => bits.bucket(bucket));
  await write((bits) => bits.documents);
  await write((bits) => bits.unknown);
}

export class FileSignatures {
  readonly #section: RowSection;
  readonly #words: number;
  readonly #memory: SegmentMemory;
  readonly #rows: (LazyPart<Uint32Array> | undefined)[] = [];

  /** Throws `SegmentDamaged`. */
  constructor(reader: SectionReader, capacity: number, memory: SegmentMemory) {
    this.#section = reader.rows(SECTION, capacity / 8);
    this.#words = capacity / 32;
    this.#memory = memory;
    const { count } = this.#section;
    if (count !== 0 && count !== ROWS)
      throw new SegmentDamaged(reader.name, SECTION, `it has ${count} rows instead of ${ROWS}`);
  }

  /** Those of a block. */
  block(index: number): Signatures {
    return new BlockSignatures((row) => this.#row(row), index * BLOCK_WORDS);
  }

  /** So that filters with these buckets find them. */
  async prepare(buckets: Iterable<number>, options: ReadOptions): Promise<void> {
    if (this.#section.count === 0) return;
    for (const row of [...buckets, DOCUMENTS, UNKNOWN]) await this.#part(row).prepare(options);
  }

  #row(row: number): Uint32Array {
    return this.#section.count === 0 ? new Uint32Array(0) : this.#part(row).get();
  }

  #part(row: number): LazyPart<Uint32Array> {
    return (this.#rows[row] ??= new LazyPart(this.#memory, {
      bytes: 4 * this.#words,
      tryRead: () => {
        const bytes = new Uint8Array(4 * this.#words);
        return this.#section.tryRead(bytes, row) ? bytes : null;
      },
      read: async (options) => {
        const bytes = new Uint8Array(4 * this.#words);
        await this.#section.read(bytes, row, options);
        return bytes;
      },
      parse: (bytes) => new Uint32Array(bytes.buffer, 0, this.#words),
    }));
  }
}

class BlockSignatures implements Signatures {
  readonly #rowOf: (row: number) => Uint32Array;
  readonly #first: number;

  /** `first`: the block's first word of a row. */
  constructor(rowOf: (row: number) => Uint32Array, first: number) {
    this.#rowOf = rowOf;
    this.#first = first;
  }

  /** Of all rows that a block may have. */
  get documents(): Uint32Array {
    const documents = new Uint32Array(BLOCK_WORDS);
    documents.set(this.bucket(DOCUMENTS));
    return documents;
  }

  get unknown(): Uint32Array {
    return this.bucket(UNKNOWN);
  }

  bucket(bucket: number): Uint32Array {
    return this.#rowOf(bucket).subarray(this.#first, this.#first + BLOCK_WORDS);
  }

  having(query: TrigramQuery): Uint32Array {
    return rowsHaving(this, query);
  }
}
