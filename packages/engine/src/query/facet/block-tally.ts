/**
 * Counts the values of a metadata key among some rows of a block, from its column as far as that covers the rows. A column
 * does not tell an integer from the float of the same value: where a key has both, the rows are asked.
 */
import {
  type MetadataKind,
  type MetadataScalar,
  type MetadataValue,
  isIntegerArray,
  isSparseVector,
} from "@sheaf/protocol";
import { countBits, listBits } from "../../segment/bits.ts";
import type { GroupedRows } from "../../segment/columns/grouped-rows.ts";
import type { MetadataColumn } from "../../segment/columns/metadata-column.ts";
import type { RowMetadata } from "../../segment/columns/row-metadata.ts";
import { decodeScalar, kindOfCode } from "../../segment/columns/scalar-code.ts";
import { scalarKey } from "../../segment/columns/scalar-key.ts";
import type { SortedNumbers } from "../../segment/columns/sorted-numbers.ts";
import type { DocBlock } from "../../segment/doc-block.ts";
import type { NumberKind, ValueTally } from "./value-tally.ts";

/** Rows that are sooner looked at than a column is made for them. */
const FEW_ROWS = 64;
/** Rows and values between two pauses: a fraction of a millisecond. */
const WORK_PER_PAUSE = 4_096;
/** What a value takes beside its rows, and bytes of metadata that take as long as a row of a column. */
const VALUE_WORK = 8;
const BYTES_PER_WORK = 32;

/** Of the numbers of a key: what all of them are, as far as that is known. */
export type NumberKinds = NumberKind | "mixed";

export interface TalliedKey {
  readonly key: string;
  readonly kinds: NumberKinds;
  readonly tally: ValueTally;
}

/** Work, in which it pauses after each stretch. */
type Work = Generator<undefined, void>;

/** `kinds`: that the key's values may have; `undefined`: any. */
export function numberKinds(kinds: ReadonlySet<MetadataKind> | undefined): NumberKinds {
  if (kinds === undefined) return "mixed";
  const hasInts = kinds.has("int") || kinds.has("int_array");
  const hasFloats = kinds.has("float") || kinds.has("float_array");
  if (hasInts && hasFloats) return "mixed";
  return hasInts ? "int" : "float";
}

/** `wanted`: a bit for each row of the block. */
export function* tallyBlock({ columns, metadata }: DocBlock, wanted: Uint32Array, tallied: TalliedKey): Work {
  const isSoonerAsked = columns.peek(tallied.key) === undefined && countBits(wanted) <= FEW_ROWS;
  // A column that would be too large is left out.
  const column = isSoonerAsked ? null : yield* columns.column(tallied.key);
  if (column === null) yield* tallyRows(metadata, wanted, tallied);
  else {
    const isWhole = isSetUpTo(wanted, columns.rows);
    yield* tallyColumn(column, { metadata, mask: wanted, isWhole }, columns.rows, tallied);
  }
}

/** Newer rows than the column has are asked. */
function* tallyColumn(
  column: MetadataColumn,
  rows: MaskedRows,
  columnRows: number,
  tallied: TalliedKey,
): Work {
  const { numbers, scalars, members } = column;
  yield* tallyNumbers(numbers, rows, tallied);
  yield* tallyScalars(scalars, rows, tallied);
  if (members.size > 0) yield* tallyMembers(members, rows, tallied);
  const newer = rows.mask.slice();
  newer.fill(0, 0, columnRows / 32);
  yield* tallyRows(rows.metadata, newer, tallied);
}

interface MaskedRows {
  readonly metadata: RowMetadata;
  readonly mask: Uint32Array;
  /** All rows that the column has are in the mask: how many hold a value it knows already. */
  readonly isWhole: boolean;
}

/** `rows`: a multiple of 32. */
function isSetUpTo(mask: Uint32Array, rows: number): boolean {
  for (let word = 0; word < rows / 32; word++) if (mask[word] !== 0xffff_ffff) return false;
  return true;
}

function* tallyNumbers({ values, rows }: SortedNumbers, masked: MaskedRows, tallied: TalliedKey): Work {
  const { mask, isWhole } = masked;
  let paused = 0;
  for (let start = 0, end = 0, work = 0; start < rows.length; start = end) {
    const value = values[start]!;
    let count = 0;
    if (isWhole) {
      while (++end < rows.length && values[end] === value);
      count = end - start;
    } else {
      do {
        const row = rows[end]!;
        count += (mask[row >>> 5]! >>> (row & 31)) & 1;
      } while (++end < rows.length && values[end] === value);
    }
    if (count > 0) {
      tallied.tally.holders += count;
      if (tallied.tally.wants(value)) {
        const kind = kindOf(value, tallied.kinds);
        if (kind !== null) tallied.tally.addNumber(value, kind, count);
        else work += addByRows(value, rows.subarray(start, end), masked, tallied);
      }
    }
    work += VALUE_WORK;
    if (work + end - paused < WORK_PER_PAUSE) continue;
    [work, paused] = [0, end];
    yield;
  }
}

/** Strings and booleans, of which a row has one. */
function* tallyScalars(scalars: GroupedRows, masked: MaskedRows, tallied: TalliedKey): Work {
  const { tally } = tallied;
  const context = { groups: scalars, bytes: scalars.codes(), masked, tallied };
  let work = 0;
  for (let group = 0; group < scalars.size; group++) {
    const count = masked.isWhole ? scalars.countOf(group) : scalars.countIn(group, masked.mask);
    tally.holders += count;
    if (count > 0) work += addGroup(group, count, context);
    work += VALUE_WORK + count;
    if (work < WORK_PER_PAUSE) continue;
    work = 0;
    yield;
  }
}

/** Of arrays: a row may have several. */
function* tallyMembers(members: GroupedRows, masked: MaskedRows, tallied: TalliedKey): Work {
  const { mask } = masked;
  const context = { groups: members, bytes: members.codes(), masked, tallied };
  const holding = new Uint32Array(mask.length);
  let work = 0;
  for (let group = 0; group < members.size; group++) {
    const count = masked.isWhole ? members.countOf(group) : members.countIn(group, mask);
    if (count > 0) {
      members.addRows(group, holding);
      work += addGroup(group, count, context);
    }
    work += VALUE_WORK + count;
    if (work < WORK_PER_PAUSE) continue;
    work = 0;
    yield;
  }
  for (let word = 0; word < mask.length; word++) holding[word]! &= mask[word]!;
  tallied.tally.holders += countBits(holding);
}

interface GroupContext {
  readonly groups: GroupedRows;
  /** The codes of all groups. */
  readonly bytes: Buffer;
  readonly masked: MaskedRows;
  readonly tallied: TalliedKey;
}

/** Returns the work that it took beside. */
function addGroup(group: number, count: number, context: GroupContext): number {
  const { groups, bytes, masked, tallied } = context;
  const { tally } = tallied;
  if (!tally.wantsHash(groups.hashOf(group))) return 0;
  const start = groups.startOf(group);
  const end = groups.endOf(group);
  const kind = kindOfCode(bytes, start);
  if (kind === "text") tally.addText(bytes, start, end, count);
  else if (kind === "digest") tally.unlisted += count;
  else {
    const value = decodeScalar(bytes.subarray(start, end));
    if (typeof value === "boolean") tally.addBoolean(value, count);
    else if (typeof value === "number" || typeof value === "bigint") {
      const numberKind = kindOf(value, tallied.kinds);
      if (numberKind === null) {
        const holding = new Uint32Array(masked.mask.length);
        groups.addRows(group, holding);
        return addByRows(value, listBits(holding), masked, tallied);
      }
      tally.addNumber(value, numberKind, count);
    }
  }
  return 0;
}

/** Asks those of the rows that are wanted of which kind the number is. Returns the work that it took. */
function addByRows(
  value: bigint | number,
  rows: Iterable<number>,
  { metadata, mask }: MaskedRows,
  { key, tally }: TalliedKey,
): number {
  let [ints, all, work] = [0, 0, 0];
  for (const row of rows) {
    if (((mask[row >>> 5]! >>> (row & 31)) & 1) === 0) continue;
    all++;
    if (isOfInts(metadata.value(row, key))) ints++;
    work += VALUE_WORK + metadata.bytes(row) / BYTES_PER_WORK;
  }
  if (ints > 0) tally.addNumber(value, "int", ints);
  if (all > ints) tally.addNumber(value, "float", all - ints);
  return work;
}

/** Row by row. */
function* tallyRows(metadata: RowMetadata, rows: Uint32Array, { key, tally }: TalliedKey): Work {
  let work = 0;
  for (const row of listBits(rows)) {
    const value = metadata.value(row, key);
    work += VALUE_WORK + metadata.bytes(row) / BYTES_PER_WORK;
    const values = value === undefined ? [] : valuesOf(value);
    let isHeld = false;
    for (const one of values) {
      isHeld = true;
      if (tally.wants(one)) {
        if (typeof one === "string" || typeof one === "boolean") tally.addOther(one);
        else tally.addNumber(one, isOfInts(value) ? "int" : "float", 1);
      }
      if (++work < WORK_PER_PAUSE) continue;
      work = 0;
      yield;
    }
    if (isHeld) tally.holders++;
  }
}

/** The keys of what counts once for a record. */
function valuesOf(value: MetadataValue): Iterable<MetadataScalar> {
  if (typeof value !== "object") return [scalarKey(value)];
  const keys = new Set<MetadataScalar>();
  if (!isSparseVector(value)) for (const member of value) keys.add(scalarKey(member));
  return keys;
}

/** An integer, or an array of integers. */
function isOfInts(value: MetadataValue | undefined): boolean {
  return typeof value === "bigint" || isIntegerArray(value);
}

/** `null`: only the rows tell. */
function kindOf(value: bigint | number, kinds: NumberKinds): NumberKind | null {
  if (typeof value === "number" && !Number.isInteger(value)) return "float";
  return kinds === "mixed" ? null : kinds;
}
