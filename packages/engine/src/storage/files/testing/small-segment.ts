/** A segment of a few kilobytes in memory, what is in it, and whether all of that can still be read. */
import { MemoryFiles } from "../memory-files.ts";
import { SegmentDamaged } from "../segment-damaged.ts";
import { type SectionReader, openAnySections } from "../section-reader.ts";
import { type FileIdentity, writeSections } from "../section-writer.ts";

export const SMALL_NAME = "small.seg";
const STREAMS = {
  lists: Uint8Array.from({ length: 300 }, (_, i) => i * 3),
  blocks: new Uint8Array(),
  factors: Uint8Array.from({ length: 40 }, (_, i) => 200 - i),
};
const ROW_BYTES = 12;
const ROWS = {
  bf16: Uint8Array.from({ length: 5 * ROW_BYTES }, (_, i) => i),
  residual: Uint8Array.from({ length: 5 * ROW_BYTES }, (_, i) => i ^ 0x55),
};

export interface SmallSegment {
  readonly identity: FileIdentity;
  readonly bytes: Uint8Array;
}

export async function smallSegment(): Promise<SmallSegment> {
  const kept = new Map<string, Uint8Array>();
  const identity = await writeSections(new MemoryFiles(kept), SMALL_NAME, async (writer) => {
    for (const [name, bytes] of Object.entries(STREAMS)) {
      await writer.stream(name);
      await writer.write(bytes);
    }
    for (const [name, bytes] of Object.entries(ROWS)) {
      await writer.rows(name, ROW_BYTES);
      await writer.write(bytes);
    }
  });
  return { identity, bytes: kept.get(SMALL_NAME)! };
}

export interface Findings {
  /** By going through the whole file. */
  readonly byVerifying: boolean;
  /** By opening, or by reading all sections. */
  readonly byReading: boolean;
}

/**
 * Whether damage is found. Throws if anything but `SegmentDamaged` or a refused version is thrown, and if bytes are read
 * that were never written.
 */
export async function findDamage(bytes: Uint8Array): Promise<Findings> {
  let reader;
  try {
    reader = await openAnySections(new MemoryFiles(new Map([[SMALL_NAME, bytes]])), SMALL_NAME);
  } catch (error) {
    requireDamaged(error);
    return { byVerifying: true, byReading: true };
  }
  if (reader === null) throw new Error("the file is not there");
  let byVerifying = false;
  try {
    for await (const length of reader.verify()) if (length === 0) throw new Error("a piece without bytes");
  } catch (error) {
    requireDamaged(error);
    byVerifying = true;
  }
  return { byVerifying, byReading: (await Promise.all(readAll(reader))).includes(true) };
}

function requireDamaged(error: unknown): void {
  if (!(error instanceof SegmentDamaged) || error.file !== SMALL_NAME || !error.message.includes(SMALL_NAME))
    throw error;
}

/** Reads each section at once and as if it were late; `true`: it is found to be damaged. */
function readAll(reader: SectionReader): readonly Promise<boolean>[] {
  const streams = Object.entries(STREAMS).map(
    ([name, bytes]) => [name, bytes, () => reader.stream(name)] as const,
  );
  const rows = Object.entries(ROWS).map(
    ([name, bytes]) => [name, bytes, () => reader.rows(name, ROW_BYTES)] as const,
  );
  return [...streams, ...rows].flatMap(([name, bytes, open]) =>
    [true, false].map(async (isAtOnce) => {
      const into = new Uint8Array(bytes.length);
      try {
        const section = open();
        if (!isAtOnce || !section.tryRead(into, 0)) await section.read(into, 0);
      } catch (error) {
        requireDamaged(error);
        return true;
      }
      if (Buffer.compare(into, bytes) !== 0) throw new Error(`${name}: other bytes than were written`);
      return false;
    }),
  );
}
