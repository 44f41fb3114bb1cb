/**
 * What a record holds beside its dense vector: metadata to filter by, a document of about 120 characters, and a sparse
 * vector. Each follows from the seed and the row alone, so nothing of it has to be kept.
 */
import { seededRandom } from "../../measure/random.ts";

export interface SparseTerms {
  readonly indices: readonly number[];
  readonly values: readonly number[];
}

export interface RecordContent {
  readonly id: string;
  readonly document: string;
  readonly metadata: {
    readonly year: number;
    readonly category: string;
    readonly price: number;
    /** Follows the group of the dense vector, so that a filter can ask for rows that are all far from a query. */
    readonly shelf: string;
  };
}

export const FIRST_YEAR = 2_000;
export const YEARS = 24;
export const PRICES = 1_000;
/** Values of `category` and of `shelf`: each one is 5 % of the rows. */
export const KINDS = 20;
export const VOCABULARY = 30_000;
const RECORD_TERMS = 120;
const QUERY_TERMS = 29;
const WORDS_PER_DOCUMENT = 20;
const SEED = 0x5e_a4;
/** Steps between the seeds of neighbouring rows (2^32 / golden ratio). */
const STRIDE = 0x9e37_79b9;

/** The document vocabulary, most frequent first. */
export const WORDS: readonly string[] = makeWords(5_000);

export function recordContent(row: number, group: number): RecordContent {
  const random = seededRandom(SEED + Math.imul(row, STRIDE));
  const pick = (count: number): number => Math.floor(random() * count);
  return {
    id: recordId(row),
    metadata: {
      year: FIRST_YEAR + pick(YEARS),
      category: `c${pick(KINDS)}`,
      price: random() * PRICES,
      shelf: `s${group % KINDS}`,
    },
    document: Array.from({ length: WORDS_PER_DOCUMENT }, () => WORDS[zipf(WORDS.length, random)]).join(" "),
  };
}

export function recordId(row: number): string {
  return `r${row}`;
}

export function recordTerms(row: number): SparseTerms {
  return terms(RECORD_TERMS, seededRandom(1 + SEED + Math.imul(row, STRIDE)));
}

export function queryTerms(query: number): SparseTerms {
  return terms(QUERY_TERMS, seededRandom(2 + SEED + Math.imul(query, STRIDE)));
}

/** That many different indices, ascending, with 32-bit values. */
function terms(count: number, random: () => number): SparseTerms {
  const drawn = new Set<number>();
  while (drawn.size < count) drawn.add(zipf(VOCABULARY, random));
  const indices = [...drawn].sort((a, b) => a - b);
  return { indices, values: indices.map(() => Math.fround(1 - random())) };
}

/** Zipf's law: of `count` things, the n-th is drawn about 1/n as often as the first. */
function zipf(count: number, random: () => number): number {
  return Math.floor((count + 1) ** random()) - 1;
}

function makeWords(count: number): string[] {
  const random = seededRandom(SEED);
  const letter = (): string => String.fromCharCode(97 + Math.floor(random() * 26));
  const word = (): string => Array.from({ length: 3 + Math.floor(random() * 7) }, letter).join("");
  const words = new Set<string>();
  while (words.size < count) words.add(word());
  return [...words];
}
