/**
 * Merges packed lists, in steps, into lists in which rows may be in another order: what a segment that is sealed has
 * of those it is made of. Decides which terms have a column.
 */
import assert from "node:assert/strict";
import { PostingCursor } from "./posting-cursor.ts";
import { type ListsSize, MAX_LIST_ROWS, type PostingLists } from "./posting-lists.ts";

/** In place of a docId: the row is left out. */
export const NO_DOC = 0xffff_ffff;

/** Lists of a source. Their rows are its docIds from `firstDoc` on. */
export interface PostingSource {
  readonly lists: PostingLists;
  readonly firstDoc: number;
  /** By docId of the source: the new docId, or `NO_DOC`; `null`: they stay the same. */
  readonly docIds: Uint32Array | null;
}

/** Longest stretch of a merge, in terms and postings: about a millisecond. */
const STEP = 2 ** 13;
/** Of the rows, from which on a term has a column. */
const COLUMN_SHARE = 1 / 2;
/** Of the rows, from which on to go through a bit for each is faster than to sort. */
const SORTED_SHARE = 1 / 64;

/**
 * The lists of `docCount` docIds, in as many parts as 16 bits ask for: part `i` begins with docId `i * MAX_LIST_ROWS`.
 * `make` gives the memory of a part.
 */
export function* mergePostings<T extends { readonly lists: PostingLists }>(
  sources: readonly PostingSource[],
  docCount: number,
  make: (size: ListsSize) => T,
): Generator<void, T[]> {
  const parts: Part[] = [];
  const hasLengths = sources.some(({ lists }) => lists.lengths.length > 0);
  for (let first = 0; first < docCount; first += MAX_LIST_ROWS)
    parts.push(new Part(first, Math.min(MAX_LIST_ROWS, docCount - first), hasLengths));
  yield* eachTerm(sources, docCount, (term, docs, values) => {
    forEachPart(parts, docs, (part, from, to) => part.measure(term, values, docs.subarray(from, to)));
  });
  const made = parts.map((part) => make(part.size));
  parts.forEach((part, i) => part.fillInto(made[i]!.lists));
  yield* eachTerm(sources, docCount, (term, docs, values) => {
    forEachPart(parts, docs, (part, from, to) => part.write(term, values, docs.subarray(from, to)));
  });
  if (hasLengths) yield* mergeLengths(sources, made);
  return made;
}

/** Lengths of rows, which all sources have. */
function* mergeLengths(
  sources: readonly PostingSource[],
  made: readonly { readonly lists: PostingLists }[],
): Generator<void> {
  for (const { lists, firstDoc, docIds } of sources) {
    const { lengths, rowCount } = lists;
    assert.equal(lengths.length, rowCount, "lists without lengths beside some that have them");
    for (let row = 0; row < rowCount; row++) {
      if (lengths[row] === 0) continue;
      const doc = docIds === null ? firstDoc + row : docIds[firstDoc + row]!;
      if (doc !== NO_DOC)
        made[Math.floor(doc / MAX_LIST_ROWS)]!.lists.lengths[doc % MAX_LIST_ROWS] = lengths[row]!;
    }
    yield;
  }
}

/** `docs`: ascending, those that hold the term; `values`: by docId. */
type UseTerm = (term: number, docs: Uint32Array, values: Float32Array) => void;

/** Goes through the terms of the sources, ascending. */
function* eachTerm(sources: readonly PostingSource[], docCount: number, use: UseTerm): Generator<void> {
  const cursors = sources.map(({ lists }) => new PostingCursor(lists));
  const docs = new Uint32Array(docCount);
  const values = new Float32Array(docCount);
  const bits = new Uint32Array(Math.ceil(docCount / 32));
  let work = 0;
  for (;;) {
    let term = Infinity;
    for (const cursor of cursors) if (cursor.term < term) ({ term } = cursor);
    if (term === Infinity) return;
    let count = 0;
    let isAscending = true;
    for (const [i, cursor] of cursors.entries()) {
      if (cursor.term !== term) continue;
      const { firstDoc, docIds } = sources[i]!;
      work += cursor.end - cursor.start;
      for (let at = cursor.start; at < cursor.end; at++) {
        const row = cursor.rowAt(at);
        if (row < 0) continue;
        const doc = docIds === null ? firstDoc + row : docIds[firstDoc + row]!;
        if (doc === NO_DOC) continue;
        isAscending &&= count === 0 || doc > docs[count - 1]!;
        docs[count++] = doc;
        values[doc] = cursor.values[at]!;
      }
      cursor.next();
    }
    const found = docs.subarray(0, count);
    if (!isAscending) sortDocs(found, bits);
    if (count > 0) use(term, found, values);
    work += sources.length;
    if (work < STEP) continue;
    work = 0;
    yield;
  }
}

/** `bits`: one for each docId, all clear before and afterwards. */
function sortDocs(docs: Uint32Array, bits: Uint32Array): void {
  if (docs.length < 32 * bits.length * SORTED_SHARE) {
    docs.sort();
    return;
  }
  for (let i = 0; i < docs.length; i++) bits[docs[i]! >>> 5]! |= 1 << (docs[i]! & 31);
  let count = 0;
  for (let index = 0; index < bits.length; index++) {
    for (let word = bits[index]!; word !== 0; word &= word - 1)
      docs[count++] = index * 32 + 31 - Math.clz32(word & -word);
    bits[index] = 0;
  }
}

function forEachPart(
  parts: readonly Part[],
  docs: Uint32Array,
  use: (part: Part, from: number, to: number) => void,
): void {
  let from = 0;
  for (const part of parts) {
    let to = docs.length;
    if (part !== parts.at(-1)) for (to = from; to < docs.length && docs[to]! < part.end; to++);
    if (to > from) use(part, from, to);
    from = to;
  }
}

function hasNegative(docs: Uint32Array, values: Float32Array): boolean {
  for (let i = 0; i < docs.length; i++) if (values[docs[i]!]! < 0) return true;
  return false;
}

/** The lists of `MAX_LIST_ROWS` docIds or fewer: measured, then written. */
class Part {
  readonly end: number;
  readonly #first: number;
  readonly #rowCount: number;
  readonly #hasLengths: boolean;
  readonly #columnTerms: number[] = [];
  #terms = 0;
  #postings = 0;
  #into: PostingLists | null = null;
  #list = 0;
  #column = 0;

  constructor(first: number, rowCount: number, hasLengths: boolean) {
    this.#first = first;
    this.#hasLengths = hasLengths;
    this.#rowCount = rowCount;
    this.end = first + rowCount;
  }

  get size(): ListsSize {
    return {
      rowCount: this.#rowCount,
      terms: this.#terms,
      postings: this.#postings,
      columns: this.#columnTerms.length,
      lengths: this.#hasLengths ? this.#rowCount : 0,
    };
  }

  measure(term: number, values: Float32Array, docs: Uint32Array): void {
    if (docs.length >= this.#rowCount * COLUMN_SHARE && !hasNegative(docs, values)) {
      this.#columnTerms.push(term);
      return;
    }
    this.#terms++;
    this.#postings += docs.length;
  }

  fillInto(lists: PostingLists): void {
    this.#into = lists;
    lists.columnTerms.set(this.#columnTerms);
  }

  write(term: number, values: Float32Array, docs: Uint32Array): void {
    const into = this.#into!;
    if (into.columnTerms[this.#column] === term) {
      const column = into.columns.subarray(this.#column * this.#rowCount, ++this.#column * this.#rowCount);
      column.fill(-0);
      // + 0: -0 is a value here, and as good as 0.
      for (let i = 0; i < docs.length; i++) column[docs[i]! - this.#first] = values[docs[i]!]! + 0;
      return;
    }
    let at = into.starts[this.#list]!;
    for (let i = 0; i < docs.length; i++, at++) {
      into.rows[at] = docs[i]! - this.#first;
      into.values[at] = values[docs[i]!]!;
    }
    into.terms[this.#list++] = term;
    into.starts[this.#list] = at;
  }
}
