/** Rows of one segment that a column found: their number is known before their bits are made. */
import { SEGMENT_WORDS } from "./row-set.ts";

export interface RowSelection {
  readonly count: number;
  /** `SEGMENT_WORDS` words that may belong to the column: not to be changed. */
  readonly bits: () => Uint32Array;
}

export const NO_ROWS: RowSelection = { count: 0, bits: () => new Uint32Array(SEGMENT_WORDS) };

/** Sets the bits of the listed rows. */
export function setRows(bits: Uint32Array, rows: ArrayLike<number>, start = 0, end = rows.length): void {
  for (let i = start; i < end; i++) bits[rows[i]! >>> 5]! |= 1 << (rows[i]! & 31);
}
