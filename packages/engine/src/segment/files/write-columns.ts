/**
 * Writes the columns of a segment, block after block: one for each key that many rows hold, and for all other keys a list
 * of the rows that hold them, by hash. `FileColumns` reads them.
 */
import { type MetadataValue, isSparseVector } from "@sheaf/protocol";
import { PagedWriter } from "../../storage/files/paged-section.ts";
import type { SectionWriter } from "../../storage/files/section-writer.ts";
import { BLOCK_WORDS } from "../block-docs.ts";
import { ColumnBuilder, type PackedColumn } from "../columns/column-builder.ts";
import { MetadataRows } from "../columns/metadata-rows.ts";
import type { RowMetadata } from "../columns/row-metadata.ts";
import type { DocBlock } from "../doc-block.ts";
import { KeyRows } from "./key-rows.ts";
import { type Pause, copyOf, inTurns } from "./write-cells.ts";

export const COLUMNS = "columns";
/** Keys with columns. */
const MAX_KEYS = 256;
/** Of the rows, from which on a key has a column. */
const COLUMN_SHARE = 0.001;
/** Keys that are counted; those that come later are rare, or too many to have columns. */
const COUNTED_KEYS = 65_536;
/** Between two pauses, in keys; a row takes as long as a few. */
const WORK_PER_SLICE = 1_024;
const ROW_WORK = 8;
/** What the columns of a block may take that are made at the same time, packed: before they take several times as much. */
const MADE_BYTES = 32 * 1024 * 1024;
/** Members of arrays between two looks at that. */
const ADDED_PER_LOOK = 65_536;
const NOTHING: PackedColumn = { head: new Uint8Array(0), values: Buffer.alloc(0) };

export interface ColumnPlaces {
  readonly keys: readonly string[];
  /** Of each block its columns in the order of the keys, each with its values, and its list of other keys; then the end. */
  readonly places: readonly number[];
}

/** By key: as it is in memory, what makes it here, or `null`: it is left out, for it would be too large. */
type ColumnParts = Map<string, PackedColumn | ColumnBuilder | null>;

export async function writeColumns(
  writer: SectionWriter,
  { blocks, capacity }: { readonly blocks: readonly DocBlock[]; readonly capacity: number },
  pause: Pause,
): Promise<ColumnPlaces> {
  const keys = await commonKeys(blocks, capacity, pause);
  const pages = await PagedWriter.begin(writer, COLUMNS);
  const places: number[] = [];
  for (const { metadata, columns } of blocks) {
    const words = Math.min(BLOCK_WORDS, Math.ceil(metadata.length / 32));
    // Those in memory are as the file has them.
    const parts: ColumnParts = new Map(
      keys.map((key) => {
        const made = columns.packed(key);
        return [key, made === undefined ? new ColumnBuilder() : made];
      }),
    );
    const others = new KeyRows();
    let added = 0;
    let work = 0;
    const rows = areAllMade(metadata, parts) ? 0 : metadata.length;
    for (let row = 0; row < rows; row++) {
      const keysOfRow = metadata.get(row);
      for (const [key, value] of keysOfRow ?? []) {
        const part = parts.get(key);
        if (part === undefined) others.add(key, row);
        else if (part instanceof ColumnBuilder) {
          const long = part.add(row, value);
          if (long !== undefined) await inTurns(long, pause);
          added += sizeOf(value);
        }
      }
      work += ROW_WORK + (keysOfRow?.size ?? 0);
      if (work >= WORK_PER_SLICE) {
        work = 0;
        await pause();
      }
      if (added < ADDED_PER_LOOK) continue;
      added = 0;
      leaveOutLargest(parts);
    }
    for (const part of parts.values()) {
      const packed = part instanceof ColumnBuilder ? await inTurns(part.pack(words), pause) : part;
      // Of one that is left out there is nothing.
      const { head, values } = packed ?? NOTHING;
      places.push(pages.position, pages.position + head.length);
      await pages.write(head);
      await pages.write(values);
      await pages.align();
      await pause();
    }
    places.push(pages.position);
    await pages.write(await inTurns(others.pack(), pause));
    await pause();
  }
  places.push(pages.position);
  await pages.end();
  return { keys, places };
}

/** There is no other key in the block, so rows need not be decoded for what they hold. */
function areAllMade(metadata: RowMetadata, parts: ColumnParts): boolean {
  if (!(metadata instanceof MetadataRows) || metadata.hasOtherKeys) return false;
  return metadata.keys.texts.every((key) => {
    const part = parts.get(key);
    return part !== undefined && !(part instanceof ColumnBuilder);
  });
}

/** Members of arrays. */
function sizeOf(value: MetadataValue): number {
  return typeof value === "object" && !isSparseVector(value) ? value.length : 0;
}

/** Until what is left takes no more than `MADE_BYTES`. */
function leaveOutLargest(parts: ColumnParts): void {
  const made = [...parts].flatMap(([key, part]) => (part instanceof ColumnBuilder ? [{ key, part }] : []));
  made.sort((a, b) => b.part.bytes - a.part.bytes);
  let bytes = made.reduce((sum, { part }) => sum + part.bytes, 0);
  for (const { key, part } of made) {
    if (bytes <= MADE_BYTES) return;
    bytes -= part.bytes;
    parts.set(key, null);
  }
}

/** Most frequent first. */
async function commonKeys(blocks: readonly DocBlock[], capacity: number, pause: Pause): Promise<string[]> {
  const counts = new Map<string, number>();
  for (const { metadata } of blocks) {
    for (const [key, count] of await keyCounts(metadata, pause)) {
      const known = counts.get(key);
      if (known !== undefined || counts.size < COUNTED_KEYS) counts.set(key, (known ?? 0) + count);
    }
    await pause();
  }
  const least = Math.max(1, capacity * COLUMN_SHARE);
  return [...counts]
    .filter(([, count]) => count >= least)
    .sort(([a, countA], [b, countB]) => countB - countA || (a < b ? -1 : 1))
    .slice(0, MAX_KEYS)
    .map(([key]) => key);
}

/** Rows that hold a value, sparse vectors aside; without keys that nearly no row holds, where there are very many. */
async function keyCounts(metadata: RowMetadata, pause: Pause): Promise<Iterable<readonly [string, number]>> {
  if (metadata instanceof MetadataRows)
    return metadata.keyCounts.map((count, number) => [metadata.keys.at(number)!, count] as const);
  return keyCounts(await copyOf(metadata, pause), pause);
}
