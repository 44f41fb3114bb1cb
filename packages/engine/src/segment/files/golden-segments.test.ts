import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { FolderFiles } from "../../storage/files/folder-files.ts";
import { MemoryFiles } from "../../storage/files/memory-files.ts";
import { readFile } from "../../storage/files/segment-files.suite.ts";
import { runSteps } from "../../storage/steps.ts";
import { BLOCK_DOCS } from "../block-docs.ts";
import { hasBit, listBits } from "../bits.ts";
import { searchDense } from "../dense/search-dense.ts";
import type { SealedSegment } from "../sealed-segment.ts";
import { planOf } from "../testing/sealed-segments.ts";
import { openSegmentFile, writeSegmentFile } from "./segment-file.ts";
import { GOLDEN_DIMENSION, GOLDEN_SEGMENTS, goldenName, goldenRows } from "./testing/golden-segments.ts";

const golden = new FolderFiles(fileURLToPath(new URL("golden-v1", import.meta.url)));

describe.each(GOLDEN_SEGMENTS)("the segment that version 1 wrote, in $space", ({ space, crc }) => {
  function opened(): Promise<SealedSegment> {
    const options = { id: 1, space, dimension: GOLDEN_DIMENSION, plan: planOf(space) };
    return openSegmentFile(golden, { name: goldenName(space), crc }, options);
  }

  it("has every row", async () => {
    const segment = await opened();
    const { search, uncoded } = segment.vectors;
    const dense = search.segment;
    const vector = new Float32Array(dense.layout.width);
    const { origin } = dense.shape;
    expect([dense.readable, origin === null]).toStrictEqual(
      space === "l2" ? ["bf16", false] : ["whole", true],
    );
    for (const row of goldenRows()) {
      const docId = segment.docOfId(row.id);
      expect(segment.docOfOffset(row.offset)).toBe(docId);
      expect([segment.idAt(docId), segment.offsets[docId], segment.sequences[docId]]).toStrictEqual([
        row.id,
        row.offset,
        row.sequence,
      ]);
      expect(segment.blocks[0]!.metadata.get(docId % BLOCK_DOCS)).toStrictEqual(row.metadata);
      const isTooLong = row.vector[0]! > 2 ** 40;
      expect(hasBit(uncoded!, docId)).toBe(isTooLong);
      if (isTooLong) continue;
      expect(dense.readVector(docId, vector)).toBe(true);
      for (const [j, x] of row.vector.entries()) {
        if (origin === null) expect(vector[j]).toBe(x);
        else expect(vector[j]).toBeCloseTo(x - origin[j]!, 2);
      }
    }
    const { block } = segment.postings("terms")!.blocks[0]!;
    expect(block.lists.rows.length).toBe(goldenRows().length);
  });

  it("is searched", async () => {
    const { search, uncoded } = (await opened()).vectors;
    const dense = search.segment;
    const docs = dense.placed.map((word, i) => word & ~uncoded![i]!);
    const slots = Uint32Array.from(listBits(docs));
    const query = new Float32Array(GOLDEN_DIMENSION).fill(1);
    const vector = new Float32Array(dense.layout.width);
    const scoreOf = (slot: number): number => {
      dense.readVector(slot, vector);
      return vector.reduce((sum, x, j) => {
        const y = j < GOLDEN_DIMENSION ? 1 - (dense.shape.origin?.[j] ?? 0) : 0;
        return sum + (space === "l2" ? -((x - y) ** 2) : x * y);
      }, 0);
    };
    const distanceAt = (slot: number): number => (space === "l2" ? -scoreOf(slot) : 1 - scoreOf(slot));
    for (const exact of [false, true]) {
      const part = { search, base: 0, docs, count: slots.length, slots: () => slots };
      const request = { query, k: 5, exact, size: slots.length, distanceAt };
      const hits = runSteps(searchDense([part], request)).toSorted((a, b) => a.distance - b.distance);
      const expected = [...slots].toSorted((a, b) => scoreOf(b) - scoreOf(a)).slice(0, 5);
      expect(hits.slice(0, 5).map(({ position }) => position)).toStrictEqual(expected);
    }
  });

  it("is written again to the byte", async () => {
    const files = new MemoryFiles();
    await writeSegmentFile(files, goldenName(space), await opened());
    expect(
      (await readFile(files, goldenName(space)))!.equals((await readFile(golden, goldenName(space)))!),
    ).toBe(true);
  });
});
