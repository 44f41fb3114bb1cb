/**
 * Writes what filters look at: cells, columns and signatures of all blocks of a segment, then a directory of their places.
 * `storage-format.md` has the layout.
 */
import { PagedWriter } from "../../storage/files/paged-section.ts";
import type { SectionWriter } from "../../storage/files/section-writer.ts";
import type { DocBlock } from "../doc-block.ts";
import { packTexts } from "../columns/packed-texts.ts";
import { writeSignatures } from "./file-signatures.ts";
import { type Pause, writeCells } from "./write-cells.ts";
import { writeColumns } from "./write-columns.ts";

export const CELLS = "cells";
export const PLACES = "block-places";

/** `blocks`: of `BLOCK_DOCS` docIds each, the last one of what is left, a multiple of 32. */
export async function writeBlocks(
  writer: SectionWriter,
  blocks: readonly DocBlock[],
  pause: Pause = async () => {},
): Promise<void> {
  const capacity = blocks.reduce((sum, { metadata }) => sum + metadata.length, 0);
  const cells = await PagedWriter.begin(writer, CELLS);
  const places: number[] = [];
  for (const { metadata } of blocks) {
    const { head, data } = await writeCells(cells, metadata, pause);
    places.push(head, data);
  }
  places.push(cells.position);
  await cells.end();
  const columns = await writeColumns(writer, { blocks, capacity }, pause);
  await writeSignatures(writer, { blocks, capacity }, pause);
  const keys = packTexts(columns.keys);
  await writer.stream(PLACES);
  await writer.write(bytesOf(Uint32Array.of(capacity, keys.ends.length, keys.bytes.length, 0)));
  await writer.write(bytesOf(Float64Array.from(places)));
  await writer.write(bytesOf(Float64Array.from(columns.places)));
  await writer.write(bytesOf(keys.ends));
  await writer.write(keys.bytes);
}

function bytesOf({ buffer }: ArrayBufferView): Uint8Array {
  return new Uint8Array(buffer);
}
