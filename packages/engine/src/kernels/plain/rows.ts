/** Plain twin of `assembly/rows.ts`: a query against f32 rows, bf16 rows, or rows in two halves. */
import { blockAt } from "../argument-block.ts";
import { FLOATS, ROWS, WHOLE } from "../argument-layouts.generated.ts";
import { dot } from "../distance.ts";
import type { Views } from "./views.ts";

export function dotRows(views: Views, pointer: number): void {
  forEachRow(views, pointer, (query, address) => dot(query, views.f32, address >>> 2));
}

export function dotHalfRows(views: Views, pointer: number): void {
  const row = new Float32Array(blockAt(ROWS, views, pointer).width);
  forEachRow(views, pointer, (query, address) => {
    readHalves(views, address, row);
    return dot(query, row);
  });
}

/** Reads as many bf16 elements as `row` is long, in the order of a query for them. */
export function readHalves(views: Views, address: number, row: Float32Array): void {
  const bits = new Uint32Array(row.buffer);
  for (let j = 0; j < row.length; j++) {
    // Place j of the reordered query is the element of this number.
    const element = (j & ~7) + HALF_ORDER[j & 7]!;
    bits[j] = views.u16[(address >>> 1) + element]! << 16;
  }
}

export function dotWholeRow(views: Views, pointer: number): void {
  const args = blockAt(WHOLE, views, pointer);
  const row = new Float32Array(args.width);
  const [halves, lows] = [views.u16.subarray(args.halves >>> 1), views.u16.subarray(args.lows >>> 1)];
  wholeFloats({ halves, lows, at: 0 }, row);
  const query = args.query >>> 2;
  args.score = dot(views.f32.subarray(query, query + row.length), row);
}

/** Elements of f32 rows in two halves, from `at` on. */
export interface SplitFloats {
  /** Rounded to nearest. */
  readonly halves: Uint16Array;
  /** Says which way that was. */
  readonly lows: Uint16Array;
  readonly at: number;
}

/** Reads as many elements as `floats` is long. */
export function wholeFloats({ halves, lows, at }: SplitFloats, floats: Float32Array): void {
  const bits = new Uint32Array(floats.buffer, floats.byteOffset, floats.length);
  for (let j = 0; j < floats.length; j++) bits[j] = (halves[at + j]! << 16) + ((lows[at + j]! << 16) >> 16);
}

export function readFloats(views: Views, pointer: number): void {
  const { halves, lows, width, floats } = blockAt(FLOATS, views, pointer);
  const target = views.f32.subarray(floats >>> 2, (floats >>> 2) + width);
  const upper = views.u16.subarray(halves >>> 1);
  wholeFloats(
    { halves: upper, lows: lows === 0 ? new Uint16Array(width) : views.u16.subarray(lows >>> 1), at: 0 },
    target,
  );
}

/** Where the elements of an eight stand in a query for bf16 rows: even ones first. */
export const HALF_ORDER = [0, 2, 4, 6, 1, 3, 5, 7] as const;

function forEachRow(
  views: Views,
  pointer: number,
  score: (query: Float32Array, address: number) => number,
): void {
  const args = blockAt(ROWS, views, pointer);
  const ids = args.ids;
  const queryWord = args.query >>> 2;
  const query = views.f32.subarray(queryWord, queryWord + args.width);
  const out = args.out >>> 2;
  for (let i = 0; i < args.count; i++) {
    const row = ids === 0 ? i : views.u32[(ids >>> 2) + i]!;
    views.f32[out + i] = score(query, args.rows + row * args.stride);
  }
}
