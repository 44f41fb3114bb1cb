/** What a segment that was just sealed has in memory beside codes and vectors, until a file has it. */
import type { MemoryBlock } from "./memory-block.ts";
import type { PackedDocs } from "./packed-docs.ts";
import type { SparsePostings } from "./postings/sparse-postings.ts";

interface SealedInMemory {
  readonly docs: PackedDocs;
  readonly blocks: readonly MemoryBlock[];
  readonly postings: ReadonlyMap<string, SparsePostings>;
}

export function unfiledBytes({ docs, blocks, postings }: SealedInMemory): number {
  const { offsets, sequences, ids, lookup } = docs.parts;
  const arrays = [offsets, sequences, ids.starts, ids.bytes, ...Object.values(lookup)];
  const identities = arrays.reduce((sum, { byteLength }) => sum + byteLength, 0);
  const filters = blocks.reduce((sum, block) => sum + bytesOfBlock(block), 0);
  return [...postings.values()].reduce((sum, { bytes }) => sum + bytes, identities + filters);
}

function bytesOfBlock({ metadata, signatures, columns }: MemoryBlock): number {
  let bytes = metadata.totalBytes + signatures.bytes;
  for (const key of columns.keys) {
    const packed = columns.packed(key);
    bytes += (packed?.head.length ?? 0) + (packed?.values.length ?? 0);
  }
  return bytes;
}
