/**
 * Sparse scores term at a time: every term of the query adds its posting list to one sum per row, then one pass
 * collects the best rows and leaves the sums ready for the next query. A row that no term touched holds -0, which no
 * addition here can produce.
 *
 * The lists of a segment: their terms ascending; list `i` is the postings from `starts[i]` to `starts[i + 1]`, a row
 * and a value each. A term that many rows hold has a column instead: a value for every row, none of them negative, -0
 * where a row does not hold it. The terms of a query ascend too, so sums are those of its terms in ascending order.
 */

import { Candidates, keepBest, makeRoom, push } from "./candidates";

/** Bits of f32. */
const MINUS_ZERO: u32 = 0x80000000;
const INFINITY: u32 = 0x7f800000;

@unmanaged
class PostingsArguments {
  /** u32 terms of the query. */
  terms: usize;
  /** f32 beside each. */
  weights: usize;
  /** Terms of the query. */
  count: u32;
  /** u32 terms that have a list. */
  listTerms: usize;
  lists: u32;
  /** One u32 more than there are lists. */
  starts: usize;
  /** u16 per posting. */
  rows: usize;
  /** f32 per posting. */
  values: usize;
  /** f32 per row. */
  sums: usize;
  /** One u32 per 32 rows, for counting; 0: all rows count. */
  masks: usize;
  /** u32 per term of the query. */
  counts: usize;
  /** u32 terms that have a column, ascending. */
  columnTerms: usize;
  columnCount: u32;
  /** f32 per row, column after column. */
  columns: usize;
  /** Rows of a column, a multiple of 32. */
  columnRows: u32;
  /** For `addFrequencies`: f32 per row, the length of its document. */
  lengths: usize;
  /** What a value is divided by beside itself: `floor + slope * length`, above 0 and finite for every row. */
  floor: f32;
  slope: f32;
}

@unmanaged
class SumsArguments {
  sums: usize;
  /** A multiple of 32. */
  first: u32;
  /** A multiple of 32. */
  rows: u32;
  /** One u32 per 32 rows; rows without a bit are no candidates. */
  masks: usize;
  /** Rows further away are no candidates; NaN: all are. */
  bound: f32;
  /** u32 and f32 per candidate, up to `rows` of them. */
  ids: usize;
  distances: usize;
  /** Candidates found. */
  found: u32;
  /** For `boundSums`, from a threshold of 0. */
  best: usize;
}

/** Adds every product of a query's term with a row's value of it to the row's sum. */
export function addPostings(pointer: usize): void {
  addTerms(changetype<PostingsArguments>(pointer), false);
}

/**
 * The same with values that are term frequencies: of each, where it is above 0, `value / (value + floor + slope * length)`
 * counts, and 0 of the others. Every operation is rounded to f32.
 */
export function addFrequencies(pointer: usize): void {
  addTerms(changetype<PostingsArguments>(pointer), true);
}

function addTerms(args: PostingsArguments, saturates: bool): void {
  let list: u32 = 0;
  let column: u32 = 0;
  for (let i: usize = 0; i < (<usize>args.count) << 2; i += 4) {
    const term = load<u32>(args.terms + i);
    const weight = load<f32>(args.weights + i);
    column = lowerBound(args.columnTerms, args.columnCount, column, term);
    if (isAt(args.columnTerms, args.columnCount, column, term)) {
      if (saturates) addSaturatedColumn(args, column, weight);
      else addColumn(args, column, weight);
      continue;
    }
    list = lowerBound(args.listTerms, args.lists, list, term);
    if (!isAt(args.listTerms, args.lists, list, term)) continue;
    if (saturates) addSaturatedList(args, list, weight);
    else addList(args, list, weight);
  }
}

/** Adds to the count of every term of the query how many of its rows are in the mask. */
export function countPostings(pointer: usize): void {
  const args = changetype<PostingsArguments>(pointer);
  let list: u32 = 0;
  let column: u32 = 0;
  for (let i: usize = 0; i < (<usize>args.count) << 2; i += 4) {
    const term = load<u32>(args.terms + i);
    let count: u32 = 0;
    column = lowerBound(args.columnTerms, args.columnCount, column, term);
    if (isAt(args.columnTerms, args.columnCount, column, term)) {
      count = countColumn(args, column);
    } else {
      list = lowerBound(args.listTerms, args.lists, list, term);
      if (isAt(args.listTerms, args.lists, list, term)) count = countList(args, list);
    }
    store<u32>(args.counts + i, load<u32>(args.counts + i) + count);
  }
}

function addList(args: PostingsArguments, list: u32, weight: f32): void {
  const sums = args.sums;
  const start = startOf(args, list);
  const end = startOf(args, list + 1);
  let row = args.rows + (start << 1);
  let value = args.values + (start << 2);
  const whole = value + (((end - start) & ~3) << 2);
  const weights = f32x4.splat(weight);
  // + 0 turns a product of -0 into +0: the row is touched.
  const zeros = f32x4.splat(0);
  for (; value < whole; value += 16, row += 8) {
    const products = f32x4.add(f32x4.mul(weights, v128.load(value)), zeros);
    const rows = load<u64>(row);
    addTo(sums + <usize>((rows << 2) & 0x3fffc), f32x4.extract_lane(products, 0));
    addTo(sums + <usize>((rows >> 14) & 0x3fffc), f32x4.extract_lane(products, 1));
    addTo(sums + <usize>((rows >> 30) & 0x3fffc), f32x4.extract_lane(products, 2));
    addTo(sums + <usize>((rows >> 46) & 0x3fffc), f32x4.extract_lane(products, 3));
  }
  for (const last = args.values + (end << 2); value < last; value += 4, row += 2) {
    addTo(sums + ((<usize>load<u16>(row)) << 2), weight * load<f32>(value) + 0);
  }
}

function addColumn(args: PostingsArguments, column: u32, weight: f32): void {
  // Such weights leave -0 as it is, which changes no sum, and make no other -0.
  if (reinterpret<u32>(weight) < INFINITY) addProducts(args, column, weight);
  else addPresent(args, column, weight);
}

function addProducts(args: PostingsArguments, column: u32, weight: f32): void {
  const weights = f32x4.splat(weight);
  let sum = args.sums;
  let value = columnOf(args, column);
  const end = value + ((<usize>args.columnRows) << 2);
  for (; value < end; value += 32, sum += 32) {
    v128.store(sum, f32x4.add(v128.load(sum), f32x4.mul(weights, v128.load(value))));
    v128.store(sum, f32x4.add(v128.load(sum, 16), f32x4.mul(weights, v128.load(value, 16))), 16);
  }
}

function addPresent(args: PostingsArguments, column: u32, weight: f32): void {
  const weights = f32x4.splat(weight);
  const zeros = f32x4.splat(0);
  const absent = i32x4.splat(MINUS_ZERO);
  let sum = args.sums;
  let value = columnOf(args, column);
  const end = value + ((<usize>args.columnRows) << 2);
  for (; value < end; value += 16, sum += 16) {
    const values = v128.load(value);
    const products = f32x4.add(f32x4.mul(weights, values), zeros);
    const added = v128.bitselect(products, absent, i32x4.ne(values, absent));
    v128.store(sum, f32x4.add(v128.load(sum), added));
  }
}

function addSaturatedList(args: PostingsArguments, list: u32, weight: f32): void {
  const sums = args.sums;
  const lengths = args.lengths;
  const start = startOf(args, list);
  const end = startOf(args, list + 1);
  let row = args.rows + (start << 1);
  let value = args.values + (start << 2);
  const whole = value + (((end - start) & ~3) << 2);
  const weights = f32x4.splat(weight);
  const floors = f32x4.splat(args.floor);
  const slopes = f32x4.splat(args.slope);
  const zeros = f32x4.splat(0);
  for (; value < whole; value += 16, row += 8) {
    const rows = load<u64>(row);
    const first = <usize>((rows << 2) & 0x3fffc);
    const second = <usize>((rows >> 14) & 0x3fffc);
    const third = <usize>((rows >> 30) & 0x3fffc);
    const fourth = <usize>((rows >> 46) & 0x3fffc);
    let docs = f32x4.splat(load<f32>(lengths + first));
    docs = f32x4.replace_lane(docs, 1, load<f32>(lengths + second));
    docs = f32x4.replace_lane(docs, 2, load<f32>(lengths + third));
    docs = f32x4.replace_lane(docs, 3, load<f32>(lengths + fourth));
    const values = f32x4.max(v128.load(value), zeros);
    const shares = f32x4.div(values, f32x4.add(values, f32x4.add(floors, f32x4.mul(slopes, docs))));
    const products = f32x4.add(f32x4.mul(weights, shares), zeros);
    addTo(sums + first, f32x4.extract_lane(products, 0));
    addTo(sums + second, f32x4.extract_lane(products, 1));
    addTo(sums + third, f32x4.extract_lane(products, 2));
    addTo(sums + fourth, f32x4.extract_lane(products, 3));
  }
  for (const last = args.values + (end << 2); value < last; value += 4, row += 2) {
    const at = (<usize>load<u16>(row)) << 2;
    const frequency = max(load<f32>(value), <f32>0);
    const rest = args.floor + args.slope * load<f32>(lengths + at);
    addTo(sums + at, weight * (frequency / (frequency + rest)) + 0);
  }
}

function addSaturatedColumn(args: PostingsArguments, column: u32, weight: f32): void {
  const weights = f32x4.splat(weight);
  const floors = f32x4.splat(args.floor);
  const slopes = f32x4.splat(args.slope);
  const zeros = f32x4.splat(0);
  const absent = i32x4.splat(MINUS_ZERO);
  let sum = args.sums;
  let docLength = args.lengths;
  let value = columnOf(args, column);
  const end = value + ((<usize>args.columnRows) << 2);
  for (; value < end; value += 16, sum += 16, docLength += 16) {
    const values = v128.load(value);
    const rest = f32x4.add(floors, f32x4.mul(slopes, v128.load(docLength)));
    const shares = f32x4.div(values, f32x4.add(values, rest));
    const products = f32x4.add(f32x4.mul(weights, shares), zeros);
    const added = v128.bitselect(products, absent, i32x4.ne(values, absent));
    v128.store(sum, f32x4.add(v128.load(sum), added));
  }
}

function countColumn(args: PostingsArguments, column: u32): u32 {
  const absent = i32x4.splat(MINUS_ZERO);
  let count: u32 = 0;
  let value = columnOf(args, column);
  for (let row: u32 = 0; row < args.columnRows; row += 32) {
    let holders: u32 = 0;
    for (let i: u32 = 0; i < 32; i += 4, value += 16) {
      holders |= i32x4.bitmask(i32x4.ne(v128.load(value), absent)) << i;
    }
    if (args.masks != 0) holders &= load<u32>(args.masks + ((<usize>(row >> 5)) << 2));
    count += popcnt(holders);
  }
  return count;
}

function columnOf(args: PostingsArguments, column: u32): usize {
  return args.columns + <usize>column * ((<usize>args.columnRows) << 2);
}

function countList(args: PostingsArguments, list: u32): u32 {
  const start = startOf(args, list);
  const end = startOf(args, list + 1);
  if (args.masks == 0) return <u32>(end - start);
  let count: u32 = 0;
  for (let at = args.rows + (start << 1); at < args.rows + (end << 1); at += 2) {
    const row = <u32>load<u16>(at);
    count += (load<u32>(args.masks + ((<usize>(row >> 5)) << 2)) >> (row & 31)) & 1;
  }
  return count;
}

function startOf(args: PostingsArguments, list: u32): usize {
  return <usize>load<u32>(args.starts + ((<usize>list) << 2));
}

function addTo(sum: usize, product: f32): void {
  store<f32>(sum, load<f32>(sum) + product);
}

/**
 * The `keep` best of the largest sums of 32 rows each, as far as they are positive: as many rows reach the last of them,
 * and few more do, since the best rows are seldom neighbours.
 */
export function boundSums(pointer: usize): void {
  const args = changetype<SumsArguments>(pointer);
  const best = changetype<Candidates>(args.best);
  for (let row = args.first; row < args.first + args.rows; row += 32) {
    const mask = load<u32>(args.masks + ((<usize>(row >> 5)) << 2));
    const largest = largestSum(args.sums + ((<usize>row) << 2), mask);
    if (largest <= best.threshold) continue;
    makeRoom(best);
    push(best, row >> 5, largest);
  }
  keepBest(args.best);
}

/** Of the rows of the mask; 0: none is positive. A NaN is not. */
function largestSum(start: usize, mask: u32): f32 {
  let largest = f32x4.splat(0);
  if (mask == u32.MAX_VALUE) {
    for (let i: usize = 0; i < 128; i += 16) largest = f32x4.pmax(largest, v128.load(start + i));
  } else if (mask != 0) {
    const bits = i32x4(1, 2, 4, 8);
    for (let i: usize = 0; i < 128; i += 16, mask >>= 4) {
      const members = i32x4.eq(v128.and(i32x4.splat(mask), bits), bits);
      largest = f32x4.pmax(largest, v128.and(v128.load(start + i), members));
    }
  }
  return max(
    max(f32x4.extract_lane(largest, 0), f32x4.extract_lane(largest, 1)),
    max(f32x4.extract_lane(largest, 2), f32x4.extract_lane(largest, 3)),
  );
}

/** Collects the rows of a stretch that are not further away than the bound, and clears their sums. */
export function collectSums(pointer: usize): void {
  const args = changetype<SumsArguments>(pointer);
  const untouched = i32x4.splat(MINUS_ZERO);
  const bound = f32x4.splat(args.bound);
  let found: usize = 0;
  for (let row = args.first; row < args.first + args.rows; row += 32) {
    const start = args.sums + ((<usize>row) << 2);
    if (!areWorse(start, bound)) {
      let hits = touchedWithin(start, bound) & load<u32>(args.masks + ((<usize>(row >> 5)) << 2));
      while (hits != 0) {
        const bit = ctz(hits);
        hits &= hits - 1;
        store<u32>(args.ids + found, row + bit);
        store<f32>(args.distances + found, 1 - load<f32>(start + ((<usize>bit) << 2)));
        found += 4;
      }
    }
    for (let i: usize = 0; i < 128; i += 16) v128.store(start + i, untouched);
  }
  args.found = <u32>(found >> 2);
}

/** Whether all of 32 rows are further away than the bound. */
function areWorse(start: usize, bound: v128): bool {
  const ones = f32x4.splat(1);
  let worse = i32x4.splat(-1);
  for (let i: usize = 0; i < 128; i += 16) {
    worse = v128.and(worse, f32x4.gt(f32x4.sub(ones, v128.load(start + i)), bound));
  }
  return i32x4.all_true(worse);
}

/** Which of 32 rows are touched and not further away than the bound. */
function touchedWithin(start: usize, bound: v128): u32 {
  const untouched = i32x4.splat(MINUS_ZERO);
  const ones = f32x4.splat(1);
  let hits: u32 = 0;
  for (let i: u32 = 0; i < 32; i += 4) {
    const sums = v128.load(start + ((<usize>i) << 2));
    const worse = f32x4.gt(f32x4.sub(ones, sums), bound);
    hits |= i32x4.bitmask(v128.andnot(i32x4.ne(sums, untouched), worse)) << i;
  }
  return hits;
}

/** The first of `count` terms at or after place `from` that is not below `term`. */
function lowerBound(terms: usize, count: u32, from: u32, term: u32): u32 {
  let low = from;
  let length = count - from;
  while (length > 0) {
    const half = length >> 1;
    const middle = low + half;
    const below = load<u32>(terms + ((<usize>middle) << 2)) < term;
    low = below ? middle + 1 : low;
    length = below ? length - half - 1 : half;
  }
  return low;
}

function isAt(terms: usize, count: u32, place: u32, term: u32): bool {
  return place < count && load<u32>(terms + ((<usize>place) << 2)) == term;
}
