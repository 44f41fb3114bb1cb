/** What filters look at of a small segment, as version 1 of the format has it: every kind of value, part and form. */
import { type Metadata, type MetadataValue, integerArray } from "@sheaf/protocol";
import type { SegmentFiles } from "../../../storage/files/segment-files.ts";
import { type FileIdentity, writeSections } from "../../../storage/files/section-writer.ts";
import { runSteps } from "../../../storage/steps.ts";
import { MemoryBlock } from "../../memory-block.ts";
import { SparsePostings } from "../../postings/sparse-postings.ts";
import { writeBlocks } from "../write-blocks.ts";
import { writePostings } from "../write-postings.ts";

export const GOLDEN_FILTERS = "filters.seg";
/** Needs the feature `lengths`. */
export const GOLDEN_LENGTHS = "lengths.seg";
export const GOLDEN_CAPACITY = 64;
/** More than have columns. */
const KEYS = 258;
const DOCUMENTS = [
  "The quick brown fox",
  null,
  "naïve Größe 日本語",
  "x".repeat(16_385),
  "half \ud800 a character",
  "",
];

export function goldenBlocks(): readonly MemoryBlock[] {
  const block = new MemoryBlock();
  for (let row = 0; row < GOLDEN_CAPACITY; row++) {
    block.signatures.add(row, DOCUMENTS[row] ?? null);
    runSteps(block.push(metadataAt(row)));
  }
  block.seal();
  return [block];
}

function metadataAt(row: number): Metadata | null {
  if (row === 63) return null;
  const metadata = new Map<string, MetadataValue>();
  if (row === 5) for (let key = 0; key < KEYS; key++) metadata.set(`key ${key}`, BigInt(key));
  if (row > 5) metadata.set("common", row % 2 === 0);
  const values: readonly (MetadataValue | undefined)[] = [
    ["a", "日本", "x".repeat(65), "x".repeat(300), ""][row % 5],
    [1n, 2n ** 53n + 1n, 1.5, 2 ** 60, -(2n ** 63n), 1e300][row % 6],
    [-3n, 200n, 70_000n][row % 3],
    row % 7 === 0 ? integerArray([1n, 300n]) : [`tag ${row % 3}`, "tag", "tag"],
    row === 9 ? Float64Array.from({ length: 600 }, (_, i) => i / 2) : undefined,
    row === 10 ? integerArray(Array.from({ length: 5_000 }, (_, i) => BigInt(i % 100))) : undefined,
    row === 11 ? [] : [true, false],
    row === 12 ? { indices: Uint32Array.of(1), values: Float32Array.of(1) } : undefined,
  ];
  for (const [i, value] of values.entries())
    if (value !== undefined) metadata.set(`größe ${i} \ud800`, value);
  return metadata;
}

export function goldenPostings(): ReadonlyMap<string, SparsePostings> {
  const lists = (scale: number): SparsePostings => {
    const postings = new SparsePostings();
    for (let docId = 0; docId < GOLDEN_CAPACITY; docId += scale) {
      const indices = Uint32Array.of(docId % 3, 7, 4_294_967_295);
      postings.add(docId, { indices, values: Float32Array.of(-1, docId, 0.25) });
    }
    runSteps(postings.seal());
    return postings;
  };
  return new Map([
    ["terms", lists(1)],
    ["größe", lists(7)],
    ["empty", new SparsePostings()],
  ]);
}

/** Beside a key that has no lengths. */
export function goldenLengths(): ReadonlyMap<string, SparsePostings> {
  const lists = (hasLengths: boolean): SparsePostings => {
    const postings = new SparsePostings({ hasLengths });
    for (let docId = 0; docId < GOLDEN_CAPACITY; docId += 3) {
      const indices = Uint32Array.of(docId % 4, 7, 4_294_967_295);
      postings.add(docId, { indices, values: Float32Array.of(1, 2 ** docId, 3) });
    }
    runSteps(postings.seal());
    return postings;
  };
  return new Map([
    ["frequencies", lists(true)],
    ["weights", lists(false)],
  ]);
}

export function writeGoldenLengths(files: SegmentFiles): Promise<FileIdentity> {
  return writeSections(files, GOLDEN_LENGTHS, (writer) => writePostings(writer, goldenLengths()));
}

export function writeGoldenFilters(files: SegmentFiles): Promise<FileIdentity> {
  return writeSections(files, GOLDEN_FILTERS, async (writer) => {
    await writeBlocks(writer, goldenBlocks());
    await writePostings(writer, goldenPostings());
  });
}
