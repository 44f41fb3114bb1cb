/**
 * The fields of each kernel's argument block, as indexes of 32-bit words: the `@unmanaged` classes of `assembly/` in
 * the same order. Pointers are byte addresses in the kernel memory. The meaning of a field stands in `assembly/`.
 */

export const ROWS = { rows: 0, stride: 1, width: 2, query: 3, ids: 4, count: 5, out: 6, words: 7 } as const;

export const WHOLE = { halves: 0, lows: 1, width: 2, query: 3, score: 4, words: 5 } as const;

export const CANDIDATES = {
  count: 0,
  threshold: 1,
  keep: 2,
  capacity: 3,
  ids: 4,
  scores: 5,
  words: 6,
} as const;

export const SCAN = {
  codes: 0,
  blocks: 1,
  codeBytes: 2,
  table: 3,
  factors: 4,
  biases: 5,
  masks: 6,
  firstId: 7,
  base: 8,
  scale: 9,
  shift: 10,
  scratch: 11,
  best: 12,
  words: 13,
} as const;

export const BASES = { lists: 0, biases: 1, bases: 2, count: 3, out: 4, words: 5 } as const;

export const CODES = {
  records: 0,
  codeBytes: 1,
  planes: 2,
  bases: 3,
  ids: 4,
  count: 5,
  scale: 6,
  low: 7,
  shift: 8,
  best: 9,
  words: 10,
} as const;

/** What follows the code in a row's record, as indexes of words; see `assembly/score-codes.ts`. */
export const RECORD = { factor: 0, bias: 1, list: 2, bits: 3, words: 4 } as const;

export const ENCODE = {
  rows: 0,
  width: 1,
  ids: 2,
  count: 3,
  codes: 4,
  steps: 5,
  losses: 6,
  words: 7,
} as const;

export const REFINE = {
  codes: 0,
  codeBytes: 1,
  steps: 2,
  losses: 3,
  biases: 4,
  words: 5,
  wordStep: 6,
  perLoss: 7,
  best: 8,
  size: 9,
} as const;

export const TABLE = { vector: 0, size: 1, table: 2, scale: 3, shift: 4, words: 5 } as const;

export const CENTROIDS = {
  rows: 0,
  width: 1,
  count: 2,
  steps: 3,
  query: 4,
  words: 5,
  limit: 6,
  out: 7,
  step: 8,
  size: 9,
} as const;

export const ROTATE = { vector: 0, size: 1, window: 2, signs: 3, words: 4 } as const;

export const POSTINGS = {
  terms: 0,
  weights: 1,
  count: 2,
  listTerms: 3,
  lists: 4,
  starts: 5,
  rows: 6,
  values: 7,
  sums: 8,
  masks: 9,
  counts: 10,
  columnTerms: 11,
  columnCount: 12,
  columns: 13,
  columnRows: 14,
  words: 15,
} as const;

export const SUMS = {
  sums: 0,
  first: 1,
  rows: 2,
  masks: 3,
  bound: 4,
  ids: 5,
  distances: 6,
  found: 7,
  best: 8,
  words: 9,
} as const;

export const CHECKSUM = { bytes: 0, length: 1, tables: 2, crc: 3, words: 4 } as const;

export const COMPARE = {
  vector: 0,
  dimension: 1,
  query: 2,
  row: 3,
  space: 4,
  distance: 5,
  words: 6,
} as const;

/** A stretch of kernel memory that a kernel takes as its argument. */
export interface ArgumentBlock {
  /** Byte address. */
  readonly pointer: number;
  readonly u32: Uint32Array;
  /** The same words as floats. */
  readonly f32: Float32Array;
}

/** Every kernel takes the address of its argument block and works on the memory it was made with. */
export interface Kernels {
  /** f32 dot products of a query with rows. */
  readonly dotRows: (rows: number) => void;
  /** f32 dot products of a reordered query with bf16 rows; see `reorderForHalves`. */
  readonly dotHalfRows: (rows: number) => void;
  readonly dotWholeRow: (whole: number) => void;
  /** FastScan over blocks of 32 rows. */
  readonly scanBlocks: (scan: number) => void;
  /** Adds the base of its list to the bias of each row. */
  readonly addBases: (bases: number) => void;
  /** What FastScan adds up for a rotated query. */
  readonly buildTable: (table: number) => void;
  /** f32 dot products of a query with centroids of 8-bit elements. */
  readonly scoreCentroids: (centroids: number) => void;
  /** Estimated scores of single rows. */
  readonly scoreCodes: (codes: number) => void;
  /** Makes 4-bit codes of rows. */
  readonly encodeNibbles: (encode: number) => void;
  /** Scores candidates by their 4-bit codes. */
  readonly refineCandidates: (refine: number) => void;
  /** Cuts candidates down to the best. */
  readonly keepBest: (candidates: number) => void;
  /** Rotates one vector in place. */
  readonly rotate: (rotate: number) => void;
  /** Adds the posting lists of a sparse query's terms. */
  readonly addPostings: (postings: number) => void;
  /** Continues a CRC-32C over some bytes. */
  readonly crc32c: (checksum: number) => void;
  /** Distance of a query to one vector as it was given. */
  readonly compareVector: (compare: number) => void;
  /** Counts the rows that hold each of a sparse query's terms. */
  readonly countPostings: (postings: number) => void;
  /** Finds a bound that as many rows as are wanted reach. */
  readonly boundSums: (sums: number) => void;
  /** Collects the rows within a bound and clears their sums. */
  readonly collectSums: (sums: number) => void;
}
