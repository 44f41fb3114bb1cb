/**
 * `sheaf/bm25`: a text's terms weighted by how often they occur, without a model. Ids and values equal those of the
 * `chroma_bm25` function (npm `@chroma-core/chroma-bm25` 0.1.10), so that its indexes and queries can be mixed with
 * ours; a golden test holds that. The inverse document frequency is the index's part, not the vector's.
 *
 *   value(t) = tf (k + 1) / (tf + k (1 - b + b n / average))    n: terms of the text, stop words not counted
 *
 * For an index that scores by the statistics of its collection, values are the frequencies tf themselves.
 * (Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009, section 3.)
 */
import { LIMITS, type SparseVector } from "@sheaf/protocol";
import murmurhash from "murmurhash-js";
import { newStemmer } from "snowball-stemmers";
import type { Bm25Options } from "../embedder.ts";
import { keepLargest } from "../keep-largest.ts";
import { checkBm25Options } from "./bm25-options.ts";
import { ENGLISH_STOPWORDS } from "./stopwords.ts";

const DEFAULTS = { k: 1.2, b: 0.75, averageDocumentLength: 256, tokenMaxLength: 40 } as const;
const HASH_SEED = 0;
/** Stems kept for the next text: natural text repeats its words, and a stem costs a hundred times a look-up. */
const CACHED_STEMS = 50_000;

export interface Bm25Text {
  /** Empty for a text without terms. `tokens` are the stems; of colliding ones the first in the text. */
  readonly vector: SparseVector;
  /** Terms that count: stop words and over-long words are not among them. */
  readonly numTokens: number;
}

/** The terms of a text, or of a part of one that begins and ends between words, by id. */
export interface TermCounts {
  readonly ids: Uint32Array;
  readonly counts: Uint32Array;
  /** The first stem of each id, separated by line breaks: one string crosses threads faster than many. */
  readonly stems: string;
}

export class Bm25Encoder {
  readonly #k: number;
  readonly #b: number;
  readonly #averageLength: number;
  readonly #tokenMaxLength: number;
  readonly #stopwords: ReadonlySet<string>;
  readonly #frequencies: boolean;

  /** Throws 400 for options no weight can be computed with. */
  constructor(options: Bm25Options = {}) {
    checkBm25Options(options);
    this.#k = options.k ?? DEFAULTS.k;
    this.#b = options.b ?? DEFAULTS.b;
    this.#averageLength = options.averageDocumentLength ?? DEFAULTS.averageDocumentLength;
    this.#tokenMaxLength = options.tokenMaxLength ?? DEFAULTS.tokenMaxLength;
    this.#frequencies = options.frequencies ?? false;
    const stopwords = options.stopwords ?? ENGLISH_STOPWORDS;
    this.#stopwords = new Set(stopwords.map((word) => word.toLowerCase()));
  }

  encode(text: string): Bm25Text {
    return this.weigh([this.count(text)]);
  }

  count(text: string): TermCounts {
    const terms = new TermTable();
    for (const stem of this.#terms(text)) terms.add(termId(stem), stem, 1);
    return {
      ids: Uint32Array.from(terms.slots.keys()),
      counts: Uint32Array.from(terms.counts),
      stems: terms.stems.join("\n"),
    };
  }

  /** The first `limit` words that are one of the terms: start and end of each, in UTF-16 units. */
  find(text: string, terms: ReadonlySet<number>, limit: number): number[] {
    const places: number[] = [];
    for (const { start, end, word } of wordsOf(text)) {
      if (places.length === 2 * limit) break;
      const stem = this.#termOf(word);
      if (stem !== null && terms.has(termId(stem))) places.push(start, end);
    }
    return places;
  }

  /** The vector of a text whose parts are counted. */
  weigh(parts: readonly TermCounts[]): Bm25Text {
    const terms = new TermTable();
    let numTokens = 0;
    for (const { ids, counts, stems } of parts) {
      const stemOf = stems.split("\n");
      for (let i = 0; i < ids.length; i++) {
        terms.add(ids[i] as number, stemOf[i] as string, counts[i] as number);
        numTokens += counts[i] as number;
      }
    }
    const indices = Uint32Array.from(terms.slots.keys()).sort();
    const slots = Uint32Array.from(indices, (id) => terms.slots.get(id) as number);
    const norm = this.#k * (1 - this.#b + (this.#b * numTokens) / this.#averageLength);
    const values = Float32Array.from(slots, (slot) => {
      const count = terms.counts[slot] as number;
      return this.#frequencies ? count : (count * (this.#k + 1)) / (count + norm);
    });
    const tokens = Array.from(slots, (slot) => terms.stems[slot] as string);
    return { vector: keepLargest({ indices, values, tokens }, LIMITS.sparseNonZeros), numTokens };
  }

  #terms(text: string): string[] {
    const terms: string[] = [];
    const words = text.replace(/[^\p{L}\p{N}_\s]+/gu, " ").toLowerCase();
    for (const [word] of words.matchAll(/\S+/gu)) {
      const stem = this.#termOf(word);
      if (stem !== null) terms.push(stem);
    }
    return terms;
  }

  /** `null`: the word does not count. */
  #termOf(word: string): string | null {
    if (this.#stopwords.has(word) || word.length > this.#tokenMaxLength) return null;
    const stem = stemOf(word);
    return stem === "" ? null : stem;
  }
}

interface PlacedWord {
  readonly start: number;
  readonly end: number;
  /** In lower case. */
  readonly word: string;
}

/**
 * The words that a text is split into, with their places. They are put into lower case as in the whole text: its rule for
 * a final sigma looks across the one white space that has no width.
 */
function* wordsOf(text: string): Generator<PlacedWord> {
  for (const { 0: run, index } of text.matchAll(/[\p{L}\p{N}_]+(?:\ufeff+[\p{L}\p{N}_]+)*/gu)) {
    const words = run.split("\ufeff");
    const lower = run.toLowerCase().split("\ufeff");
    let start = index;
    for (const [i, { length }] of words.entries()) {
      if (length > 0) yield { start, end: start + length, word: lower[i] as string };
      start += length + 1;
    }
  }
}

/** How often each term occurs. */
class TermTable {
  /** Id -> place in the arrays. */
  readonly slots = new Map<number, number>();
  readonly counts: number[] = [];
  /** The first of each id. */
  readonly stems: string[] = [];

  add(id: number, stem: string, count: number): void {
    const slot = this.slots.get(id);
    if (slot === undefined) {
      this.slots.set(id, this.stems.length);
      this.stems.push(stem);
      this.counts.push(count);
    } else this.counts[slot] = (this.counts[slot] as number) + count;
  }
}

const stemmer = newStemmer("english");
const stems = new Map<string, string>();

function stemOf(word: string): string {
  const known = stems.get(word);
  if (known !== undefined) return known;
  const stem = stemmer.stem(word).trim();
  if (stems.size >= CACHED_STEMS) stems.clear();
  stems.set(word, stem);
  return stem;
}

/** The hash reads the low byte of each UTF-16 unit, and its sign is dropped: both as in the indexes it must match. */
function termId(stem: string): number {
  return Math.abs(murmurhash.murmur3(stem, HASH_SEED) | 0);
}
