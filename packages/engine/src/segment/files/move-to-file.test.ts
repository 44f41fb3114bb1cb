/** What is in memory of a segment that was made there, once its file has it. */
import { expect, it } from "vitest";
import { IndexMemory } from "../../storage/files/index-memory.ts";
import { MemoryFiles } from "../../storage/files/memory-files.ts";
import { mutableSegment, sealedSegment, withCodes } from "../testing/sealed-segments.ts";
import { moveToFile, writeSegmentFile } from "./segment-file.ts";

const ROWS = 100;

it("makes room, and is read again", async () => {
  const rows = Array.from({ length: ROWS }, (_, i) => ({
    offset: 3 * i,
    sequence: i + 1,
    id: `id ${i}`,
    document: `document ${i}`,
    metadata: new Map([["n", BigInt(i)]]),
    vector: Float32Array.of(Math.sin(i), Math.cos(i)),
    sparse: new Map([["terms", { indices: Uint32Array.of(i % 3), values: Float32Array.of(i) }]]),
  }));
  const whole = new IndexMemory(1);
  const memory = whole.forSegment();
  const source = withCodes(mutableSegment(rows, 128));
  const { segment } = sealedSegment([source], undefined, memory);
  const said = (): unknown => ({
    docs: rows.map(({ id, offset }) => [segment.docOfId(id), segment.docOfOffset(offset)]),
    identities: rows.map(({ id }) => {
      const docId = segment.docOfId(id);
      return [segment.idAt(docId), segment.offsets[docId], segment.sequences[docId]];
    }),
    lists: segment.postings("terms")!.blocks.map(({ block }) => block.lists),
    metadata: segment.blocks.flatMap(({ metadata }) => rows.map((_, i) => metadata.value(i, "n"))),
  });
  const before = said();
  expect(whole.taken.unfiled).toBeGreaterThan(0);

  const files = new MemoryFiles();
  await moveToFile(files, await writeSegmentFile(files, "a.seg", segment), segment, {});
  expect(whole.taken).toMatchObject({ unfiled: 0, parts: 0 });
  expect(whole.reads).toBe(0);
  expect(whole.evictions).toBeGreaterThan(4);
  expect(segment.postings("terms")!.isLoaded).toBe(false);
  // A search has them read in slices before.
  await segment.prepare({ postings: ["terms", "other"] });
  expect(said()).toStrictEqual(before);
});
