/** Small whole segments as version 1 of the format has them: in each space that codes know, with a row too long for codes. */
import type { SegmentFiles } from "../../../storage/files/segment-files.ts";
import type { FileIdentity } from "../../../storage/files/section-writer.ts";
import type { SegmentShape } from "../../dense/segment-layout.ts";
import type { SegmentRow } from "../../mutable-segment.ts";
import { mutableSegment, sealedSegment, withCodes } from "../../testing/sealed-segments.ts";
import { writeSegmentFile } from "../segment-file.ts";

export const GOLDEN_DIMENSION = 10;
const ROWS = 64;
const TOO_LONG = 5;

/** By the space of their vectors. The checksums are those of the files that are kept. */
export const GOLDEN_SEGMENTS: readonly { readonly space: SegmentShape["space"]; readonly crc: number }[] = [
  { space: "l2", crc: 4_150_639_803 },
  { space: "ip", crc: 1_946_559_181 },
];

export function goldenName(space: SegmentShape["space"]): string {
  return `segment-${space}.seg`;
}

export function goldenRows(): SegmentRow[] {
  return Array.from({ length: ROWS }, (_, i) => ({
    offset: 5 * i + 2 ** 33,
    sequence: i + 2 ** 40,
    id: i === 0 ? "" : `größe ${i}`,
    document: i % 3 === 0 ? null : `the words of ${i}`,
    metadata: i % 4 === 0 ? null : new Map([["n", i]]),
    vector: new Float32Array(GOLDEN_DIMENSION).map((_x, j) =>
      i === TOO_LONG ? 2 ** 41 : (((i + 1) * (j + 3) * 7) % 101) / 50 - 1,
    ),
    sparse: new Map([["terms", { indices: Uint32Array.of(i % 5), values: Float32Array.of(i + 1) }]]),
  }));
}

/** Hashes of ids are seeded at random, so no two of them are the same. */
export async function writeGoldenSegments(files: SegmentFiles): Promise<FileIdentity[]> {
  const written: FileIdentity[] = [];
  for (const { space } of GOLDEN_SEGMENTS) {
    const origin = space === "l2" ? new Float32Array(GOLDEN_DIMENSION).fill(0.25) : null;
    const shape: SegmentShape = { space, dimension: GOLDEN_DIMENSION, origin };
    const { segment } = sealedSegment([withCodes(mutableSegment(goldenRows(), ROWS), shape)]);
    written.push(await writeSegmentFile(files, goldenName(space), segment));
  }
  return written;
}
