/** Plain twin of `assembly/postings.ts`: sparse scores term at a time. */
import { type ArgumentBlock, blockAt } from "../argument-block.ts";
import { CANDIDATES, POSTINGS, SUMS } from "../argument-layouts.generated.ts";
import { keepBest, makeRoom, push } from "./candidates.ts";
import type { Views } from "./views.ts";

const f = Math.fround;
const MINUS_ZERO = 0x8000_0000;

export function addPostings(views: Views, pointer: number): void {
  const args = blockAt(POSTINGS, views, pointer);
  const weights = args.weights >>> 2;
  const sums = views.f32.subarray(args.sums >>> 2);
  for (const { i, rows, values } of listsOf(views, args)) {
    const weight = views.f32[weights + i]!;
    if (rows === null) addColumn(sums, { weight, values });
    else addProducts(sums, rows, { weight, values });
  }
}

export function addFrequencies(views: Views, pointer: number): void {
  const args = blockAt(POSTINGS, views, pointer);
  const weights = args.weights >>> 2;
  const sums = views.f32.subarray(args.sums >>> 2);
  const lengths = views.f32.subarray(args.lengths >>> 2);
  const { floor, slope } = args;
  for (const { i, rows, values } of listsOf(views, args)) {
    const weight = views.f32[weights + i]!;
    for (let at = 0; at < values.length; at++) {
      // An empty place of a column.
      if (rows === null && Object.is(values[at], -0)) continue;
      const row = rows === null ? at : rows[at]!;
      const frequency = Math.max(values[at]!, 0);
      const rest = f(floor + f(slope * lengths[row]!));
      sums[row]! += f(weight * f(frequency / f(frequency + rest))) + 0;
    }
  }
}

export function countPostings(views: Views, pointer: number): void {
  const args = blockAt(POSTINGS, views, pointer);
  const counts = args.counts >>> 2;
  const masks = args.masks >>> 2;
  const mask = masks === 0 ? null : views.u32.subarray(masks);
  for (const { i, rows, values } of listsOf(views, args)) {
    views.u32[counts + i]! += rows === null ? countColumn(values, mask) : countRows(rows, mask);
  }
}

export function boundSums(views: Views, pointer: number): void {
  const { u32, f32 } = views;
  const args = blockAt(SUMS, views, pointer);
  const [sums, masks] = [args.sums >>> 2, args.masks >>> 2];
  const best = blockAt(CANDIDATES, views, args.best);
  const end = args.first + args.rows;
  for (let first = args.first; first < end; first += 32) {
    let largest = 0;
    for (let row = first; row < first + 32; row++) {
      if (f32[sums + row]! > largest && ((u32[masks + (row >>> 5)]! >>> (row & 31)) & 1) === 1) {
        largest = f32[sums + row]!;
      }
    }
    if (largest <= best.threshold) continue;
    makeRoom(views, args.best);
    push(views, best, first >>> 5, largest);
  }
  keepBest(views, args.best);
}

export function collectSums(views: Views, pointer: number): void {
  const { u32, f32 } = views;
  const args = blockAt(SUMS, views, pointer);
  const [sums, masks] = [args.sums >>> 2, args.masks >>> 2];
  const [ids, distances] = [args.ids >>> 2, args.distances >>> 2];
  const bound = args.bound;
  const end = args.first + args.rows;
  let found = 0;
  for (let row = args.first; row < end; row++) {
    const distance = f(1 - f32[sums + row]!);
    const touched = u32[sums + row] !== MINUS_ZERO;
    if (touched && !(distance > bound) && ((u32[masks + (row >>> 5)]! >>> (row & 31)) & 1) === 1) {
      u32[ids + found] = row;
      f32[distances + found++] = distance;
    }
    u32[sums + row] = MINUS_ZERO;
  }
  args.found = found;
}

interface WeightedValues {
  readonly weight: number;
  readonly values: Float32Array;
}

function addProducts(sums: Float32Array, rows: Uint16Array, { weight, values }: WeightedValues): void {
  for (let i = 0; i < rows.length; i++) {
    // + 0 turns a product of -0 into +0: the row is touched.
    sums[rows[i]!]! += f(weight * values[i]!) + 0;
  }
}

function addColumn(sums: Float32Array, { weight, values }: WeightedValues): void {
  for (let row = 0; row < values.length; row++) {
    if (!Object.is(values[row], -0)) sums[row]! += f(weight * values[row]!) + 0;
  }
}

function countRows(rows: Uint16Array, mask: Uint32Array | null): number {
  if (mask === null) return rows.length;
  let count = 0;
  for (let i = 0; i < rows.length; i++) count += (mask[rows[i]! >>> 5]! >>> (rows[i]! & 31)) & 1;
  return count;
}

function countColumn(values: Float32Array, mask: Uint32Array | null): number {
  let count = 0;
  for (let row = 0; row < values.length; row++) {
    const isCounted = mask === null ? 1 : (mask[row >>> 5]! >>> (row & 31)) & 1;
    if (!Object.is(values[row], -0)) count += isCounted;
  }
  return count;
}

interface List {
  /** Place of its term in the query. */
  readonly i: number;
  /** `null`: a column, which has all rows. */
  readonly rows: Uint16Array | null;
  readonly values: Float32Array;
}

/** The lists and columns that the query's terms have. */
function listsOf({ u16, u32, f32 }: Views, args: ArgumentBlock<typeof POSTINGS>): List[] {
  const terms = args.terms >>> 2;
  const wordsAt = (address: number, count: number): Uint32Array =>
    u32.subarray(address >>> 2, (address >>> 2) + count);
  const listTerms = wordsAt(args.listTerms, args.lists);
  const columnTerms = wordsAt(args.columnTerms, args.columnCount);
  const starts = u32.subarray(args.starts >>> 2);
  const height = args.columnRows;
  const [rows, values] = [u16.subarray(args.rows >>> 1), f32.subarray(args.values >>> 2)];
  const columns = f32.subarray(args.columns >>> 2);
  const lists: List[] = [];
  for (let i = 0; i < args.count; i++) {
    const term = u32[terms + i]!;
    const column = placeOf(term, columnTerms);
    const list = placeOf(term, listTerms);
    if (column !== -1) {
      lists.push({ i, rows: null, values: columns.subarray(column * height, (column + 1) * height) });
    } else if (list !== -1) {
      const [start, end] = [starts[list]!, starts[list + 1]!];
      lists.push({ i, rows: rows.subarray(start, end), values: values.subarray(start, end) });
    }
  }
  return lists;
}

/** -1: it is not among them. */
function placeOf(term: number, terms: Uint32Array): number {
  let low = 0;
  for (let high = terms.length; low < high;) {
    const middle = (low + high) >>> 1;
    if (terms[middle]! < term) low = middle + 1;
    else high = middle;
  }
  return terms[low] === term ? low : -1;
}
