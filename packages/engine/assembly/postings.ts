/**
 * Sparse scores term at a time: every term of the query adds its posting list to one sum per row, then one pass
 * collects the best rows and leaves the sums ready for the next query. A row that no term touched holds -0, which no
 * addition here can produce.
 */
import { Candidates, makeRoom, push } from "./candidates";

@unmanaged
class PostingsArguments {
  /** u32 rows of the term. */
  ids: usize;
  /** f32 beside each. */
  weights: usize;
  count: u32;
  /** The query's weight of the term. */
  weight: f32;
  /** f32 per row. */
  sums: usize;
}

@unmanaged
class SumsArguments {
  sums: usize;
  /** A multiple of 32. */
  rows: u32;
  /** One u32 per 32 rows; rows without a bit are no candidates. */
  masks: usize;
  best: usize;
}

export function addPostings(pointer: usize): void {
  const args = changetype<PostingsArguments>(pointer);
  const weight = args.weight;
  const sums = args.sums;
  const bytes = (<usize>args.count) << 2;
  for (let at: usize = 0; at < bytes; at += 4) {
    const sum = sums + ((<usize>load<u32>(args.ids + at)) << 2);
    // + 0 turns a product of -0 into +0: the row is touched.
    store<f32>(sum, load<f32>(sum) + (weight * load<f32>(args.weights + at) + 0));
  }
}

export function collectSums(pointer: usize): void {
  const args = changetype<SumsArguments>(pointer);
  const best = changetype<Candidates>(args.best);
  const untouched = i32x4.splat(0x80000000);
  for (let first: u32 = 0; first < args.rows; first += 32) {
    const start = args.sums + ((<usize>first) << 2);
    const mask = load<u32>(args.masks + ((<usize>(first >> 5)) << 2));
    const threshold = f32x4.splat(best.threshold);
    let hits: u32 = 0;
    for (let i: u32 = 0; i < 32; i += 4) {
      const sums = v128.load(start + ((<usize>i) << 2));
      const hit = v128.and(f32x4.gt(sums, threshold), i32x4.ne(sums, untouched));
      hits |= i32x4.bitmask(hit) << i;
    }
    hits &= mask;
    if (hits != 0) makeRoom(best);
    while (hits != 0) {
      const bit = ctz(hits);
      hits &= hits - 1;
      push(best, first + bit, load<f32>(start + ((<usize>bit) << 2)));
    }
    for (let i: usize = 0; i < 128; i += 16) v128.store(start + i, untouched);
  }
}
