/** A small index of version 1 of the format, as it lies in `golden-v1/`: every kind of file and section, and each field. */
import { writeDeadRows } from "../dead-rows.ts";
import { type Manifest, installManifest } from "../manifest.ts";
import { writeSections } from "../section-writer.ts";
import type { SegmentFiles } from "../segment-files.ts";

const SEGMENTS = [
  "6e1f7c52-0b4c-4d0e-9a55-2f1d8b9c0a01.seg",
  "6e1f7c52-0b4c-4d0e-9a55-2f1d8b9c0a02.seg",
] as const;
const DEAD = "6e1f7c52-0b4c-4d0e-9a55-2f1d8b9c0a03.dead";

/** Content of the streams, by their names. */
export const GOLDEN_STREAMS: readonly (readonly [string, Uint8Array])[] = [
  ["lists", Uint8Array.from({ length: 100 }, (_, i) => i * 7)],
  ["columns/größe", Uint8Array.from({ length: 65_546 }, (_, i) => i >> 8)],
  ["trigrams", new Uint8Array()],
];
export const GOLDEN_ROW_BYTES = 16;
export const GOLDEN_ROWS = Uint8Array.from({ length: 11 * GOLDEN_ROW_BYTES }, (_, i) => 255 - i);
export const GOLDEN_BITMAP = Uint8Array.of(0b0010_0001, 0b0000_0100);

export async function writeGoldenIndex(files: SegmentFiles): Promise<Manifest> {
  const segments = [];
  for (const name of SEGMENTS) {
    const identity = await writeSections(files, name, async (writer) => {
      for (const [section, bytes] of GOLDEN_STREAMS) {
        await writer.stream(section);
        await writer.write(bytes);
      }
      await writer.rows("bf16", GOLDEN_ROW_BYTES);
      await writer.write(GOLDEN_ROWS);
    });
    segments.push({ ...identity, rows: GOLDEN_ROWS.length / GOLDEN_ROW_BYTES });
  }
  const manifest: Manifest = {
    n: 7,
    lineage: "0d9a2d3c-5c41-4f0c-8f3b-53a1f2f0e6b7",
    covers: 4_999_999_000,
    head: { sequence: 5_000_000_000, nextOffset: 22, dimension: 384 },
    space: "cosine",
    sparse: ["terms"],
    kinds: [
      { key: "größe", kinds: ["int", "float"] },
      { key: "terms", kinds: ["sparse_vector"] },
    ],
    segments,
    deadRows: await writeDeadRows(files, DEAD, new Map([[SEGMENTS[1], GOLDEN_BITMAP]])),
  };
  await installManifest(files, manifest);
  return manifest;
}
