/**
 * Which trigrams the documents of a segment have: per trigram bucket a bitset over rows. Memory is bounded whatever
 * the documents are: `TRIGRAM_BUCKETS` bits for each row, 256 bytes. A bucket stands for many trigrams, so the rows
 * that are left over may still not match; a row that is ruled out never does.
 *
 * Not looked into, and so never ruled out: long documents, whose signatures would have nearly every bit, and texts
 * with a lone surrogate, which the store gives back as another character.
 */
import type { DocumentText } from "@sheaf/protocol";
import type { TrigramQuery } from "./trigram-query.ts";
import { TRIGRAM_BUCKETS, foldUnit, trigramBucket } from "./trigrams.ts";

const LONGEST_DOCUMENT = 16_384;
const LONE_SURROGATE = /\p{Surrogate}/u;

export class TrigramSignatures {
  /** Word `w` of bucket `b` is at `b * #stride + w`. */
  #words = new Uint32Array(0);
  #stride = 0;
  readonly #documents: Uint32Array;
  readonly #unknown: Uint32Array;

  /** For at most so many rows, a multiple of 32. */
  constructor(capacity: number) {
    this.#documents = new Uint32Array(capacity / 32);
    this.#unknown = new Uint32Array(capacity / 32);
  }

  /** `null`: the row has no document. */
  add(row: number, document: DocumentText | null): void {
    if (document === null) return;
    const word = row >>> 5;
    const bit = 1 << (row & 31);
    this.#documents[word]! |= bit;
    const isLong = typeof document !== "string" || document.length > LONGEST_DOCUMENT;
    if (isLong || LONE_SURROGATE.test(document)) {
      this.#unknown[word]! |= bit;
      return;
    }
    this.#reserve(word);
    const words = this.#words;
    const stride = this.#stride;
    let first = foldUnit(document.charCodeAt(0));
    let second = foldUnit(document.charCodeAt(1));
    for (let i = 2; i < document.length; i++) {
      const third = foldUnit(document.charCodeAt(i));
      words[trigramBucket(first, second, third) * stride + word]! |= bit;
      first = second;
      second = third;
    }
  }

  /** Takes over what another segment knows of a row's document. */
  copy(row: number, source: TrigramSignatures, sourceRow: number): void {
    const word = row >>> 5;
    const bit = 1 << (row & 31);
    const sourceWord = sourceRow >>> 5;
    const sourceBit = 1 << (sourceRow & 31);
    if ((source.#documents[sourceWord]! & sourceBit) === 0) return;
    this.#documents[word]! |= bit;
    if ((source.#unknown[sourceWord]! & sourceBit) !== 0) {
      this.#unknown[word]! |= bit;
      return;
    }
    this.#reserve(word);
    for (let bucket = 0; bucket < TRIGRAM_BUCKETS; bucket++) {
      if ((source.#words[bucket * source.#stride + sourceWord]! & sourceBit) !== 0) {
        this.#words[bucket * this.#stride + word]! |= bit;
      }
    }
  }

  /** The rows with a document that the query does not rule out. */
  having(query: TrigramQuery): Uint32Array {
    const rows = this.#documents.slice();
    if (query.all.length === 0 && query.any.length === 0) return rows;
    this.#narrow(rows, query);
    // Behind the stride no row was looked into.
    rows.fill(0, this.#stride);
    for (let word = 0; word < rows.length; word++) rows[word]! |= this.#unknown[word]!;
    return rows;
  }

  /** Leaves of the rows below the stride those that satisfy the query. */
  #narrow(rows: Uint32Array, { all, any }: TrigramQuery): void {
    for (const bucket of all) {
      const from = bucket * this.#stride;
      for (let word = 0; word < this.#stride; word++) rows[word]! &= this.#words[from + word]!;
    }
    for (const queries of any) {
      const found = new Uint32Array(this.#stride);
      for (const query of queries) {
        const left = rows.slice(0, this.#stride);
        this.#narrow(left, query);
        for (let word = 0; word < this.#stride; word++) found[word]! |= left[word]!;
      }
      rows.set(found);
    }
  }

  /** Makes room for rows up to those of a word. */
  #reserve(word: number): void {
    if (word < this.#stride) return;
    let stride = Math.max(1, this.#stride);
    while (stride <= word) stride *= 2;
    stride = Math.min(stride, this.#documents.length);
    const words = new Uint32Array(TRIGRAM_BUCKETS * stride);
    for (let bucket = 0; bucket < TRIGRAM_BUCKETS; bucket++) {
      const from = bucket * this.#stride;
      words.set(this.#words.subarray(from, from + this.#stride), bucket * stride);
    }
    this.#words = words;
    this.#stride = stride;
  }
}
