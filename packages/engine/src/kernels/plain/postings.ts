/** Plain twin of `assembly/postings.ts`: sparse scores term at a time. */
import { CANDIDATES, POSTINGS, SUMS } from "../arguments.ts";
import { makeRoom, push } from "./candidates.ts";
import { Arguments, type Views } from "./views.ts";

const f = Math.fround;

export function addPostings(views: Views, pointer: number): void {
  const args = new Arguments(views, pointer);
  const ids = args.u32(POSTINGS.ids) >>> 2;
  const weights = args.u32(POSTINGS.weights) >>> 2;
  const sums = args.u32(POSTINGS.sums) >>> 2;
  const weight = args.f32(POSTINGS.weight);
  const { u32, f32 } = views;
  for (let i = 0; i < args.u32(POSTINGS.count); i++) {
    // + 0 turns a product of -0 into +0: the row is touched.
    f32[sums + u32[ids + i]!]! += f(weight * f32[weights + i]!) + 0;
  }
}

export function collectSums(views: Views, pointer: number): void {
  const args = new Arguments(views, pointer);
  const best = new Arguments(views, args.u32(SUMS.best));
  const sums = args.u32(SUMS.sums) >>> 2;
  const masks = args.u32(SUMS.masks) >>> 2;
  for (let first = 0; first < args.u32(SUMS.rows); first += 32) {
    const threshold = best.f32(CANDIDATES.threshold);
    let hits = 0;
    for (let i = 0; i < 32; i++) {
      const sum = views.f32[sums + first + i]!;
      if (sum > threshold && !Object.is(sum, -0)) hits |= 1 << i;
    }
    hits &= views.u32[masks + (first >>> 5)]!;
    if (hits !== 0) makeRoom(views, args.u32(SUMS.best));
    for (let i = 0; i < 32; i++) {
      if ((hits >>> i) & 1) push(views, best, first + i, views.f32[sums + first + i]!);
    }
    views.f32.fill(-0, sums + first, sums + first + 32);
  }
}
