/**
 * The signatures of documents in memory. Memory is bounded whatever the documents are: `TRIGRAM_BUCKETS` bits for each
 * row, 256 bytes.
 *
 * Not looked into, and so never ruled out: long documents, whose signatures would have nearly every bit, and texts
 * with a lone surrogate, which the store gives back as another character.
 */
import type { DocumentText } from "@sheaf/protocol";
import { countBits } from "../bits.ts";
import { type SignatureBits, type Signatures, rowsHaving } from "./signatures.ts";
import type { TrigramQuery } from "./trigram-query.ts";
import { TRIGRAM_BUCKETS, foldUnit, trigramBucket } from "./trigrams.ts";

const LONGEST_DOCUMENT = 16_384;
/** In place of a row. */
export const NO_ROW = 0xffff_ffff;
/** Where a smaller share of the rows has a bit, moving those that are set takes less than looking at all. */
const FEW_BITS = 6;
const LONE_SURROGATE = /\p{Surrogate}/u;

export class TrigramSignatures implements Signatures {
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

  /**
   * The signatures of rows in a new order, bucket by bucket: `rows` says for each new row which of all rows of `sources`,
   * one set after the other, each of `capacity` rows, it is; `NO_ROW` leaves it empty. Pauses about every millisecond.
   */
  static *reordered(
    sources: readonly SignatureBits[],
    rows: Uint32Array,
    capacity: number,
  ): Generator<void, TrigramSignatures[]> {
    const made: TrigramSignatures[] = [];
    for (let first = 0; first < rows.length; first += capacity) made.push(new TrigramSignatures(capacity));
    const stride = capacity / 32;
    const move = mover(rows, sources.length * stride, made.length * stride);
    const moved = (
      wordsOf: (source: SignatureBits) => Uint32Array,
      take: (signatures: TrigramSignatures, words: Uint32Array) => void,
    ): void => {
      const words = move((from) => sources.forEach((source, i) => from.set(wordsOf(source), i * stride)));
      if (words === null) return;
      made.forEach((signatures, i) => take(signatures, words.subarray(i * stride, (i + 1) * stride)));
    };
    moved(
      (source) => source.documents,
      (signatures, words) => signatures.#documents.set(words),
    );
    moved(
      (source) => source.unknown,
      (signatures, words) => signatures.#unknown.set(words),
    );
    yield;
    for (let bucket = 0; bucket < TRIGRAM_BUCKETS; bucket++) {
      moved(
        (source) => source.bucket(bucket),
        (signatures, words) => signatures.#setBucket(bucket, words),
      );
      yield;
    }
    return made;
  }

  #setBucket(bucket: number, words: Uint32Array): void {
    if (words.every((word) => word === 0)) return;
    this.#reserve(words.length - 1);
    this.#words.set(words, bucket * this.#stride);
  }

  get bytes(): number {
    return this.#words.byteLength + this.#documents.byteLength + this.#unknown.byteLength;
  }

  get documents(): Uint32Array {
    return this.#documents;
  }

  get unknown(): Uint32Array {
    return this.#unknown;
  }

  bucket(bucket: number): Uint32Array {
    return this.#words.subarray(bucket * this.#stride, (bucket + 1) * this.#stride);
  }

  having(query: TrigramQuery): Uint32Array {
    return rowsHaving(this, query);
  }

  /** Makes room for rows up to those of a word. */
  #reserve(word: number): void {
    if (word < this.#stride) return;
    let stride = Math.max(1, this.#stride);
    while (stride <= word) stride *= 2;
    stride = Math.min(stride, this.#documents.length);
    const words = new Uint32Array(TRIGRAM_BUCKETS * stride);
    const before = this.#words;
    // Word by word: a view of each bucket would cost a small collection most of its opening.
    for (let at = 0, into = 0; at < before.length; into += stride)
      for (let i = 0; i < this.#stride; i++) words[into + i] = before[at++]!;
    this.#words = words;
    this.#stride = stride;
  }
}

/** Moves bits: bit `i` of the result is bit `rows[i]` of what `fill` leaves in its words; `null`: there is none. */
function mover(
  rows: Uint32Array,
  words: number,
  movedWords: number,
): (fill: (from: Uint32Array) => void) => Uint32Array | null {
  // A word more, which stays empty, for what is no row.
  const from = new Uint32Array(words + 1);
  const places = rows.map((row) => (row === NO_ROW ? 32 * words : row));
  // Where each bit goes; `NO_ROW`: nowhere, its row has died.
  const targets = new Uint32Array(32 * words).fill(NO_ROW);
  for (let target = 0; target < rows.length; target++)
    if (rows[target] !== NO_ROW) targets[rows[target]!] = target;
  const moved = new Uint32Array(movedWords);
  return (fill) => {
    from.fill(0);
    fill(from);
    const bits = countBits(from);
    if (bits === 0) return null;
    if (bits < rows.length / FEW_BITS) moveEach(from, targets, moved);
    else moveAll(from, places, moved);
    return moved;
  };
}

function moveAll(from: Uint32Array, places: Uint32Array, moved: Uint32Array): void {
  for (let first = 0; first < places.length; first += 32) {
    let word = 0;
    for (let bit = 0; bit < 32; bit++) {
      const place = places[first + bit]!;
      word |= ((from[place >>> 5]! >>> (place & 31)) & 1) << bit;
    }
    moved[first >>> 5] = word;
  }
}

function moveEach(from: Uint32Array, targets: Uint32Array, moved: Uint32Array): void {
  moved.fill(0);
  for (let index = 0; index < from.length; index++) {
    for (let word = from[index]!; word !== 0; word &= word - 1) {
      const target = targets[index * 32 + 31 - Math.clz32(word & -word)]!;
      if (target !== NO_ROW) moved[target >>> 5]! |= 1 << (target & 31);
    }
  }
}
