/** Rows that a column of a segment found: their number is known before their bits are made. */

export interface RowSelection {
  readonly count: number;
  /** A bit for each row that the column covers. May belong to the column: not to be changed. */
  readonly bits: () => Uint32Array;
}

/** Of a column that covers 32 * `words` rows. */
export function noRows(words: number): RowSelection {
  return { count: 0, bits: () => new Uint32Array(words) };
}

/** Sets the bits of the listed rows. */
export function setRows(bits: Uint32Array, rows: ArrayLike<number>, start = 0, end = rows.length): void {
  for (let i = start; i < end; i++) bits[rows[i]! >>> 5]! |= 1 << (rows[i]! & 31);
}

/** Clears them. */
export function clearRows(bits: Uint32Array, rows: Uint16Array, start: number, end: number): void {
  for (let i = start; i < end; i++) bits[rows[i]! >>> 5]! &= ~(1 << (rows[i]! & 31));
}
