/** How a search went, added up over the segments. */
export interface DenseTally {
  /** What it finds is the nearest with certainty. */
  exact: boolean;
  /** Of the segments, and those of them that were looked through. */
  lists: number;
  listsProbed: number;
  /** Slots that were looked at one by one: by their codes, and by bf16. */
  estimated: number;
  scored: number;
  /** Rows found by any of these whose exact distance was computed then. */
  rescored: number;
}

export function denseTally(): DenseTally {
  return { exact: true, lists: 0, listsProbed: 0, estimated: 0, scored: 0, rescored: 0 };
}
