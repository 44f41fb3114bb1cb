/**
 * Which rows of the segments are dead: a file with a section for each segment that has any, named as the segment's file.
 * A section is a bitmap, bit `i % 8` of byte `i / 8` for row `i`, and set where the row is dead.
 */
import type { Manifest } from "./manifest.ts";
import { SegmentDamaged } from "./segment-damaged.ts";
import type { ReadOptions, SegmentFiles } from "./segment-files.ts";
import { type SectionReader, openSections } from "./section-reader.ts";
import { type FileIdentity, writeSections } from "./section-writer.ts";

/** Bitmaps by the name of the segment's file. */
export type DeadRows = ReadonlyMap<string, Uint8Array>;

export function bitmapBytes(rows: number): number {
  return Math.ceil(rows / 8);
}

export async function writeDeadRows(
  files: SegmentFiles,
  name: string,
  dead: DeadRows,
): Promise<FileIdentity> {
  return writeSections(files, name, async (writer) => {
    for (const [segment, bitmap] of dead) {
      await writer.stream(segment);
      await writer.write(bitmap);
    }
  });
}

/** Those of a manifest; segments without dead rows are not in it. Throws `SegmentDamaged`. */
export async function readDeadRows(
  files: SegmentFiles,
  { deadRows, segments }: Manifest,
  options: ReadOptions = {},
): Promise<DeadRows> {
  const dead = new Map<string, Uint8Array>();
  if (deadRows === null) return dead;
  const reader = await openSections(files, deadRows, options);
  try {
    const rowsOf = new Map(segments.map(({ name, rows }) => [name, rows]));
    for (const segment of reader.sections)
      dead.set(segment, await readBitmap(reader, segment, { ...options, rows: rowsOf.get(segment) }));
    return dead;
  } finally {
    await reader.close();
  }
}

interface BitmapOptions extends ReadOptions {
  /** Of the segment; `undefined`: there is no such segment. */
  readonly rows: number | undefined;
}

async function readBitmap(
  reader: SectionReader,
  segment: string,
  { rows, ...options }: BitmapOptions,
): Promise<Uint8Array> {
  const section = reader.stream(segment);
  if (rows === undefined)
    throw new SegmentDamaged(reader.name, segment, "no such segment is in the manifest");
  if (section.length !== bitmapBytes(rows))
    throw new SegmentDamaged(reader.name, segment, `${section.length} bytes are no bitmap of ${rows} rows`);
  const bitmap = new Uint8Array(section.length);
  if (!section.tryRead(bitmap, 0)) await section.read(bitmap, 0, options);
  if (rows % 8 !== 0 && bitmap.at(-1)! >> (rows % 8) !== 0)
    throw new SegmentDamaged(reader.name, segment, `it has rows beyond ${rows}`);
  return bitmap;
}
