/** Plain twin of `assembly/postings.ts`: sparse scores term at a time. */
import { POSTINGS, SUMS } from "../arguments.ts";
import { Arguments, type Views } from "./views.ts";

const f = Math.fround;
const MINUS_ZERO = 0x8000_0000;

export function addPostings(views: Views, pointer: number): void {
  const args = new Arguments(views, pointer);
  const weights = args.u32(POSTINGS.weights) >>> 2;
  const values = args.u32(POSTINGS.values) >>> 2;
  const sums = views.f32.subarray(args.u32(POSTINGS.sums) >>> 2);
  for (const { i, start, rows } of listsOf(views, args)) {
    addProducts(sums, rows, {
      weight: views.f32[weights + i]!,
      values: views.f32.subarray(values + start, values + start + rows.length),
    });
  }
}

export function countPostings(views: Views, pointer: number): void {
  const args = new Arguments(views, pointer);
  const counts = args.u32(POSTINGS.counts) >>> 2;
  const masks = args.u32(POSTINGS.masks) >>> 2;
  for (const { i, rows } of listsOf(views, args)) {
    views.u32[counts + i]! += masks === 0 ? rows.length : countRows(rows, views.u32.subarray(masks));
  }
}

export function collectSums(views: Views, pointer: number): void {
  const { u32, f32 } = views;
  const args = new Arguments(views, pointer);
  const [sums, masks] = [args.u32(SUMS.sums) >>> 2, args.u32(SUMS.masks) >>> 2];
  const [ids, distances] = [args.u32(SUMS.ids) >>> 2, args.u32(SUMS.distances) >>> 2];
  const bound = args.f32(SUMS.bound);
  const end = args.u32(SUMS.first) + args.u32(SUMS.rows);
  let found = 0;
  for (let row = args.u32(SUMS.first); row < end; row++) {
    const distance = f(1 - f32[sums + row]!);
    const touched = u32[sums + row] !== MINUS_ZERO;
    if (touched && !(distance > bound) && ((u32[masks + (row >>> 5)]! >>> (row & 31)) & 1) === 1) {
      u32[ids + found] = row;
      f32[distances + found++] = distance;
    }
    u32[sums + row] = MINUS_ZERO;
  }
  args.setU32(SUMS.found, found);
}

function addProducts(
  sums: Float32Array,
  rows: Uint16Array,
  { weight, values }: { readonly weight: number; readonly values: Float32Array },
): void {
  for (let i = 0; i < rows.length; i++) {
    // + 0 turns a product of -0 into +0: the row is touched.
    sums[rows[i]!]! += f(weight * values[i]!) + 0;
  }
}

function countRows(rows: Uint16Array, mask: Uint32Array): number {
  let count = 0;
  for (let i = 0; i < rows.length; i++) count += (mask[rows[i]! >>> 5]! >>> (rows[i]! & 31)) & 1;
  return count;
}

interface List {
  /** Place of its term in the query. */
  readonly i: number;
  /** Its first posting. */
  readonly start: number;
  readonly rows: Uint16Array;
}

/** The lists that the query's terms have. */
function listsOf({ u16, u32 }: Views, args: Arguments): List[] {
  const terms = args.u32(POSTINGS.terms) >>> 2;
  const listTerms = args.u32(POSTINGS.listTerms) >>> 2;
  const starts = args.u32(POSTINGS.starts) >>> 2;
  const rows = args.u32(POSTINGS.rows) >>> 1;
  const count = args.u32(POSTINGS.lists);
  const lists: List[] = [];
  let low = 0;
  for (let i = 0; i < args.u32(POSTINGS.count); i++) {
    const term = u32[terms + i]!;
    for (let high = count; low < high;) {
      const middle = (low + high) >>> 1;
      if (u32[listTerms + middle]! < term) low = middle + 1;
      else high = middle;
    }
    if (low === count || u32[listTerms + low] !== term) continue;
    const start = u32[starts + low]!;
    lists.push({ i, start, rows: u16.subarray(rows + start, rows + u32[starts + low + 1]!) });
  }
  return lists;
}
