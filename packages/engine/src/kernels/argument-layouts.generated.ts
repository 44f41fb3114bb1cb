/** Made by scripts/build-kernels.mjs from the classes of assembly/; do not edit. */

export const CANDIDATES = {
  count: "u32",
  threshold: "f32",
  keep: "u32",
  capacity: "u32",
  ids: "u32",
  scores: "u32",
} as const;

export const CENTROIDS = {
  rows: "u32",
  width: "u32",
  count: "u32",
  steps: "u32",
  query: "u32",
  words: "u32",
  limit: "f32",
  out: "u32",
  step: "f32",
} as const;

export const CHECKSUM = {
  bytes: "u32",
  length: "u32",
  tables: "u32",
  crc: "u32",
} as const;

export const COMPARE = {
  vector: "u32",
  dimension: "u32",
  query: "u32",
  row: "u32",
  space: "u32",
  distance: "f32",
} as const;

export const COPY = {
  records: "u32",
  codeBytes: "u32",
  copiedBytes: "u32",
  ids: "u32",
  count: "u32",
  blocks: "u32",
  factors: "u32",
  biases: "u32",
  lists: "u32",
} as const;

export const MAGNITUDES = {
  records: "u32",
  codeBytes: "u32",
  magnitudes: "u32",
  size: "u32",
  planes: "u32",
  total: "u32",
  scale: "f32",
  low: "f32",
  bases: "u32",
  perError: "f32",
  best: "u32",
} as const;

export const WORDS = {
  vectors: "u32",
  width: "u32",
  count: "u32",
  words: "u32",
  steps: "u32",
} as const;

export const NEAREST = {
  words: "u32",
  steps: "u32",
  width: "u32",
  count: "u32",
  centroids: "u32",
  centroidSteps: "u32",
  halfSquares: "u32",
  centroidCount: "u32",
  out: "u32",
} as const;

export const SUM = {
  words: "u32",
  step: "f32",
  width: "u32",
  sums: "u32",
} as const;

export const ENCODE = {
  rows: "u32",
  width: "u32",
  ids: "u32",
  count: "u32",
  codes: "u32",
  steps: "u32",
  losses: "u32",
} as const;

export const REFINE = {
  codes: "u32",
  codeBytes: "u32",
  steps: "u32",
  losses: "u32",
  biases: "u32",
  words: "u32",
  wordStep: "f32",
  perLoss: "f32",
  best: "u32",
} as const;

export const PLACE = {
  vector: "u32",
  centroid: "u32",
  width: "u32",
  halves: "u32",
  lows: "u32",
  rotation: "u32",
  code: "u32",
  block: "u32",
  magnitudes: "u32",
  length: "f32",
  square: "f32",
  loss: "f32",
  distance: "f32",
  factor: "f32",
  bits: "u32",
} as const;

export const POSTINGS = {
  terms: "u32",
  weights: "u32",
  count: "u32",
  listTerms: "u32",
  lists: "u32",
  starts: "u32",
  rows: "u32",
  values: "u32",
  sums: "u32",
  masks: "u32",
  counts: "u32",
  columnTerms: "u32",
  columnCount: "u32",
  columns: "u32",
  columnRows: "u32",
  lengths: "u32",
  floor: "f32",
  slope: "f32",
} as const;

export const SUMS = {
  sums: "u32",
  first: "u32",
  rows: "u32",
  masks: "u32",
  bound: "f32",
  ids: "u32",
  distances: "u32",
  found: "u32",
  best: "u32",
} as const;

export const ROTATE = {
  vector: "u32",
  size: "u32",
  window: "u32",
  signs: "u32",
} as const;

export const ROWS = {
  rows: "u32",
  stride: "u32",
  width: "u32",
  query: "u32",
  ids: "u32",
  count: "u32",
  out: "u32",
} as const;

export const WHOLE = {
  halves: "u32",
  lows: "u32",
  width: "u32",
  query: "u32",
  score: "f32",
} as const;

export const FLOATS = {
  halves: "u32",
  lows: "u32",
  width: "u32",
  floats: "u32",
} as const;

export const SCAN = {
  codes: "u32",
  blocks: "u32",
  codeBytes: "u32",
  table: "u32",
  factors: "u32",
  biases: "u32",
  masks: "u32",
  firstId: "u32",
  base: "f32",
  scale: "f32",
  shift: "f32",
  checked: "u32",
  checkScale: "f32",
  checkShift: "f32",
  scratch: "u32",
  best: "u32",
} as const;

export const BASES = {
  lists: "u32",
  biases: "u32",
  bases: "u32",
  count: "u32",
  out: "u32",
} as const;

export const CODES = {
  records: "u32",
  codeBytes: "u32",
  planes: "u32",
  bases: "u32",
  ids: "u32",
  count: "u32",
  scale: "f32",
  low: "f32",
  shift: "f32",
  best: "u32",
} as const;

export const TABLE = {
  vector: "u32",
  size: "u32",
  table: "u32",
  checked: "u32",
  scale: "f32",
  shift: "f32",
  checkedShift: "f32",
} as const;
