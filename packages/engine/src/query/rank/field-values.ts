/**
 * The values of a `$key` or `$age` leaf for rows of a block, from the column of its key as far as that covers them. Only
 * numbers count, and booleans for `$key`; what a row has otherwise is as if it had nothing.
 */
import type { FieldLeaf, MetadataScalar, MetadataValue } from "@sheaf/protocol";
import { BLOCK_DOCS, BLOCK_WORDS } from "../../segment/block-docs.ts";
import { countBits, listBits } from "../../segment/bits.ts";
import type { MetadataColumn } from "../../segment/columns/metadata-column.ts";
import { scalarKey } from "../../segment/columns/scalar-key.ts";
import type { DocBlock } from "../../segment/doc-block.ts";

/** Rows that are sooner looked at than a column is made for them, and than one that is there is gone through. */
const FEW_ROWS = 64;
const FEWEST_ROWS = 8;
/** What a row takes beside its bytes, and so many between two pauses. */
const ROW_BYTES = 256;
const BYTES_PER_PAUSE = 512 * 1024;

/** Of the rows of a block. */
export class FieldBlock {
  /** Where `present` has a bit. */
  readonly values = new Float32Array(BLOCK_DOCS);
  readonly present = new Uint32Array(BLOCK_WORDS);

  set(row: number, value: number): void {
    this.values[row] = value;
    this.present[row >>> 5]! |= 1 << (row & 31);
  }
}

/** Pauses about every millisecond. What is there of rows that are not wanted means nothing. */
export function* readField(
  { columns, metadata }: DocBlock,
  leaf: FieldLeaf,
  wanted: Uint32Array,
  into: FieldBlock,
): Generator<undefined, void> {
  into.present.fill(0);
  let rest = wanted;
  const isSoonerAsked = countBits(wanted) <= (columns.peek(leaf.key) === undefined ? FEW_ROWS : FEWEST_ROWS);
  // A column that would be too large is left out.
  const column = isSoonerAsked ? null : yield* columns.column(leaf.key);
  if (column !== null) {
    addColumn(column, leaf, into);
    for (let i = 0; i < BLOCK_WORDS; i++) into.present[i]! &= wanted[i]!;
    rest = wanted.slice();
    rest.fill(0, 0, columns.rows / 32);
  }
  let bytes = 0;
  for (const row of listBits(rest)) {
    const score = fieldScore(metadata.value(row, leaf.key), leaf);
    if (score !== null) into.set(row, score);
    bytes += ROW_BYTES + metadata.bytes(row);
    if (bytes < BYTES_PER_PAUSE) continue;
    bytes = 0;
    yield;
  }
}

function addColumn({ numbers, scalars }: MetadataColumn, leaf: FieldLeaf, into: FieldBlock): void {
  for (let i = 0; i < numbers.rows.length; i++)
    into.set(numbers.rows[i]!, scoreOf(numbers.values[i]!, leaf)!);
  if (leaf.type === "age") return;
  for (const value of [false, true]) {
    const { count, bits } = scalars.select(value);
    if (count > 0) for (const row of listBits(bits())) into.set(row, Number(value));
  }
}

/** f32; `null`: the leaf has no value for it. */
export function fieldScore(value: MetadataValue | undefined, leaf: FieldLeaf): number | null {
  return value === undefined || typeof value === "object" ? null : scoreOf(scalarKey(value), leaf);
}

/** The same of a key, see `scalarKey`. */
function scoreOf(key: MetadataScalar, leaf: FieldLeaf): number | null {
  if (typeof key === "string") return null;
  if (leaf.type === "key") {
    if (typeof key === "boolean") return Number(key);
    // No -0, which a column does not tell from 0.
    return typeof key === "bigint" ? roundInteger(key) : Math.fround(key + 0);
  }
  if (typeof key === "boolean") return null;
  return Math.fround(Math.max(0, leaf.now - Number(key)) / leaf.halfLife);
}

/** Bits that are left away of a large integer, whether they were all zero or not being kept as its last bit. */
const LOW_BITS = 24n;
const LOW = 2n ** LOW_BITS;

/** An integer of at least 54 bits as the nearest f32: by way of f64 it would be rounded twice. */
function roundInteger(value: bigint): number {
  const size = value < 0n ? -value : value;
  // A float may be far beyond int64; such are whole multiples of what is left away.
  if (size >= 2n ** 64n) return Math.fround(Number(value));
  const high = (size >> LOW_BITS) | (size % LOW === 0n ? 0n : 1n);
  const rounded = Math.fround(Number(high)) * Number(LOW);
  return value < 0n ? -rounded : rounded;
}
