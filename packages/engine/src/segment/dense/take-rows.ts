import type { SegmentMemory } from "../../storage/files/index-memory.ts";
import type { DenseSegment } from "./dense-segment.ts";
import type { RowsKept } from "./segment-layout.ts";

/** Bits beyond bf16 spare a few reads, bf16 spares far more: room is left to it. */
const WHOLE_SHARE = 0.5;
/** The rest is left to copies of the codes that filters keep. */
const BF16_SHARE = 0.8;

/**
 * Where vectors are loaded one part after the other: takes memory for as much as comes next; `null`: nothing does. `others`:
 * bytes that are left to what spares more.
 */
export function takeNextRows(memory: SegmentMemory, segment: DenseSegment, others: number): RowsKept | null {
  const { kept, readable } = segment;
  const next = kept === "none" ? "bf16" : "whole";
  if (readable === "none" || kept === readable) return null;
  const bytes = segment.rowBytes(next) - segment.rowBytes(kept);
  if (memory.isShortWith(bytes + others)) return null;
  return memory.take("vectors", bytes, next === "whole" ? WHOLE_SHARE : BF16_SHARE) ? next : null;
}

/** Takes memory for magnitudes that are to be loaded; `false`: there are none, or no room. A seventh of bf16, they spare most of its reads. */
export function takeMagnitudes(memory: SegmentMemory, segment: DenseSegment): boolean {
  const bytes = missingMagnitudes(segment);
  return bytes > 0 && !memory.isShortWith(bytes) && memory.take("codes", bytes);
}

/** Bytes of those that would be loaded. */
export function missingMagnitudes(segment: DenseSegment): number {
  return segment.hasMagnitudes || segment.hasRows ? 0 : segment.magnitudeBytes;
}

/** Takes as much memory as there is room for; says how much of the segment's vectors that is. */
export function takeRows(memory: SegmentMemory, segment: DenseSegment): RowsKept {
  const { readable } = segment;
  const take = (kept: RowsKept, share: number): boolean =>
    memory.take("vectors", segment.rowBytes(kept), share);
  if (readable === "whole" && take("whole", WHOLE_SHARE)) return "whole";
  return readable !== "none" && take("bf16", BF16_SHARE) ? "bf16" : "none";
}
