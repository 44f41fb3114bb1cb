/** The kernel memory of a segment has room for what works on it, and for nothing else. */
import { expect, it } from "vitest";
import { runSteps } from "../../storage/steps.ts";
import { DenseSegment } from "./dense-segment.ts";
import { measureReach } from "./measure-reach.ts";
import { SegmentSearch } from "./segment-search.ts";

const PAGE_BYTES = 65_536;
/** Of a centroid, its step and its base, in 64 bytes each of several lists. */
const BYTES_PER_LIST = 16 + 4 + 4;
const LISTS_AROUND = 40;

/** Bytes that are not allocated. */
function freeBytes({ layout: { memory } }: DenseSegment): number {
  return memory.buffer.byteLength - memory.allocate(0);
}

function segmentOf(lists: number): DenseSegment {
  const shape = { space: "ip", dimension: 1, origin: null, kernels: "plain" } as const;
  return new DenseSegment(shape, 32, { lists, magnitudes: true });
}

/** As when it is sealed. */
function work(segment: DenseSegment): SegmentSearch {
  runSteps(measureReach(segment));
  return new SegmentSearch(segment);
}

it("has room for measuring and searching however little of its last page is left", () => {
  const one = segmentOf(1);
  const before = freeBytes(one);
  work(one);
  const needed = before - freeBytes(one);
  // Of pages that are filled nearly to the last byte, for which some numbers of lists are off by more than 64.
  const lists = [0, 1, 2].flatMap((pages) => {
    const most = Math.floor((before - needed + pages * PAGE_BYTES) / BYTES_PER_LIST);
    return Array.from({ length: 2 * LISTS_AROUND }, (_, i) => most - LISTS_AROUND + i);
  });
  const left = lists.map((count) => freeBytes(segmentOf(count)));
  const least = Math.min(...left);
  work(segmentOf(lists[left.indexOf(least)]!));
  // So little that it would be found if anything were missing.
  expect(least - needed).toBeLessThan(64);
});
