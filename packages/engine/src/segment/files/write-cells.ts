/**
 * Writes the metadata of a block's rows: a head with tables and places, then the cells as they are in memory, row after
 * row, and the long arrays. `FileRows` reads them. `storage-format.md` has the layout.
 */
import type { PagedWriter } from "../../storage/files/paged-section.ts";
import type { NumberArray } from "../columns/cell-writer.ts";
import { MetadataRows } from "../columns/metadata-rows.ts";
import type { RowMetadata } from "../columns/row-metadata.ts";
import { packTexts } from "../columns/packed-texts.ts";

/** Rows that are read at once. */
export const GROUP_ROWS = 64;
/** In place of the width of an integer array's elements. */
export const FLOATS = 0;

/** Of rows that are copied between two pauses: short keys and values take longer than their bytes. */
const COPIED_BYTES = 32 * 1024;

export type Pause = () => Promise<void>;

/** All steps, with a pause wherever there may be one. */
export async function inTurns<T>(steps: Generator<undefined, T>, pause: Pause): Promise<T> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await pause();
  }
}

/** Where the head and the cells of a block begin. */
export interface CellPlaces {
  readonly head: number;
  readonly data: number;
}

export async function writeCells(
  writer: PagedWriter,
  metadata: RowMetadata,
  pause: Pause,
): Promise<CellPlaces> {
  const rows = metadata instanceof MetadataRows ? metadata : await copyOf(metadata, pause);
  await writer.align();
  const head = writer.position;
  for (const field of headOf(rows)) await writer.write(bytesOf(field));
  await writer.align();
  const data = writer.position;
  for (let row = 0; row < rows.length; row++) {
    await writer.write(rows.cells(row));
    if (row % GROUP_ROWS === GROUP_ROWS - 1) await pause();
  }
  for (const array of rows.arrays) {
    await writer.write(bytesOf(array));
    await pause();
  }
  return { head, data };
}

function headOf(rows: MetadataRows): readonly (ArrayBufferView | Uint8Array)[] {
  const keys = packTexts(rows.keys.texts);
  const texts = packTexts(rows.texts.texts);
  const { arrays } = rows;
  const groups = new Float64Array(Math.ceil(rows.length / GROUP_ROWS));
  const ends = new Uint32Array(rows.length);
  let end = 0;
  for (let row = 0; row < rows.length; row++) {
    ends[row] = (row % GROUP_ROWS === 0 ? 0 : ends[row - 1]!) + rows.bytes(row);
    end += rows.bytes(row);
    groups[Math.floor(row / GROUP_ROWS)] = end;
  }
  const arrayEnds = Float64Array.from(arrays, ({ byteLength }) => (end += byteLength));
  const sizes = [rows.length, arrays.length, keys.ends.length, keys.bytes.length];
  return [
    Uint32Array.of(...sizes, texts.ends.length, texts.bytes.length),
    groups,
    arrayEnds,
    ends,
    Uint32Array.from(arrays, formOf),
    keys.ends,
    texts.ends,
    keys.bytes,
    texts.bytes,
  ];
}

function formOf(array: NumberArray): number {
  return array instanceof Float64Array ? FLOATS : array.BYTES_PER_ELEMENT;
}

/** In memory. */
export async function copyOf(metadata: RowMetadata, pause: Pause): Promise<MetadataRows> {
  const rows = new MetadataRows();
  let bytes = 0;
  for (let row = 0; row < metadata.length; row++) {
    for (const _ of rows.push(metadata.get(row))) await pause();
    bytes += rows.bytes(row);
    if (row % GROUP_ROWS !== 0 && bytes < COPIED_BYTES) continue;
    bytes = 0;
    await pause();
  }
  return rows;
}

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
