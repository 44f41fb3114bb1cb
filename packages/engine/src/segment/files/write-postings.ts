/**
 * Writes the sparse postings of a segment: the lists of all keys as they are in memory, then a directory of them.
 * `storage-format.md` has the layout.
 */
import { LENGTHS_FEATURE } from "../../storage/files/footer.ts";
import type { SectionWriter } from "../../storage/files/section-writer.ts";
import type { ListsSize } from "../postings/posting-lists.ts";
import type { SparseBlock } from "../postings/sparse-block.ts";
import type { SparsePostings } from "../postings/sparse-postings.ts";
import { packTexts } from "../columns/packed-texts.ts";
import type { Pause } from "./write-cells.ts";

export const POSTINGS = "postings";
export const POSTING_KEYS = "posting-keys";
/** Numbers of a block in the directory: first docId, then its size. */
export const BLOCK_FIELDS = 5;
const PIECE_BYTES = 1024 * 1024;

/** `postings`: by key, with nothing left in tails. */
export async function writePostings(
  writer: SectionWriter,
  postings: ReadonlyMap<string, SparsePostings>,
  pause: Pause = async () => {},
): Promise<void> {
  const ends: number[] = [];
  const sizes: number[] = [];
  const blockEnds: number[] = [];
  let end = 0;
  await writer.stream(POSTINGS);
  for (const { blocks } of postings.values()) {
    for (const { block, firstDoc } of blocks) {
      const { bytes } = block;
      for (let from = 0; from < bytes.length; from += PIECE_BYTES) {
        await writer.write(bytes.subarray(from, from + PIECE_BYTES));
        await pause();
      }
      ends.push((end += bytes.length));
      const { rowCount, terms, postings: count, columns, lengths } = sizeOf(block);
      sizes.push(firstDoc, rowCount, terms, count, columns);
      if (lengths > 0) writer.needFeature(LENGTHS_FEATURE);
    }
    blockEnds.push(ends.length);
  }
  const keys = packTexts([...postings.keys()]);
  await writer.stream(POSTING_KEYS);
  await writer.write(bytesOf(Uint32Array.of(postings.size, keys.bytes.length, ends.length, 0)));
  await writer.write(bytesOf(Float64Array.from(ends)));
  await writer.write(bytesOf(Uint32Array.from(sizes)));
  await writer.write(bytesOf(Uint32Array.from(blockEnds)));
  await writer.write(bytesOf(keys.ends));
  await writer.write(keys.bytes);
}

function sizeOf({ lists }: SparseBlock): ListsSize {
  return {
    rowCount: lists.rowCount,
    terms: lists.terms.length,
    postings: lists.rows.length,
    columns: lists.columnTerms.length,
    lengths: lists.lengths.length,
  };
}

function bytesOf({ buffer }: ArrayBufferView): Uint8Array {
  return new Uint8Array(buffer);
}
