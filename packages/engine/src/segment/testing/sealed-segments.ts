/** Segments for tests: mutable, with codes, and sealed. */
import type { IndexPlan } from "@sheaf/protocol";
import type { SegmentMemory } from "../../storage/files/index-memory.ts";
import { runSteps } from "../../storage/steps.ts";
import type { RowsKept, SegmentShape } from "../dense/segment-layout.ts";
import { MutableSegment, type SegmentRow } from "../mutable-segment.ts";
import type { SealedSegment } from "../sealed-segment.ts";
import { SegmentWriter } from "../segment-writer.ts";
import type { WriterSource } from "../source-rows.ts";
import { VectorBlocks } from "../vector-blocks.ts";

/** Has sparse vectors under `terms`. */
export function planOf(space: IndexPlan["space"]): IndexPlan {
  return {
    space,
    embeddingFunction: null,
    sparse: [{ key: "terms", bm25: false, sourceKey: null, embeddingFunction: null }],
  };
}

export function mutableSegment(rows: readonly SegmentRow[], capacity: number): MutableSegment {
  const segment = new MutableSegment({
    id: 1,
    capacity,
    plan: planOf("ip"),
    vectors: { blocks: new VectorBlocks(rows[0]!.vector.length), firstRows: 16 },
    minSparseTail: 100,
  });
  for (const row of rows) runSteps(segment.append(row));
  segment.publish();
  while (segment.packSparse());
  return segment;
}

/** With codes for all rows, and a bit for each. */
export function withCodes(
  segment: MutableSegment,
  shape: SegmentShape = { space: "ip", dimension: segment.vectors.at(0)!.length, origin: null },
): WriterSource {
  segment.vectors.code(segment.count, { shape, centroid: null });
  const live = new Uint32Array(segment.capacity / 32);
  for (let docId = 0; docId < segment.count; docId++) live[docId >>> 5]! |= 1 << (docId & 31);
  return { segment, live };
}

/** `keep`: the most of the vectors. `memory`: of the segment; without limit if left out. */
export function sealedSegment(
  sources: readonly WriterSource[],
  keep?: RowsKept,
  memory?: SegmentMemory,
): { readonly segment: SealedSegment; readonly live: Uint32Array } {
  const writer = new SegmentWriter(sources, {
    id: 2,
    sparseKeys: ["terms"],
    readVector: () => null,
    keep: ({ kept }) => keep ?? kept,
    memory,
  });
  for (;;) {
    const segment = writer.step();
    if (segment !== undefined) return { segment, live: writer.liveDocs() };
  }
}
