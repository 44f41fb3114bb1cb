/** Writes the dense part of a segment: codes as they are in memory, then its vectors. */
import type { SectionWriter } from "../../storage/files/section-writer.ts";
import type { DenseSegment } from "../dense/dense-segment.ts";
import { floatsToHalves } from "../dense/half-float.ts";
import type { RowsKept } from "../dense/segment-layout.ts";
import { allCodeParts } from "../dense/dense-source.ts";
import { HALVES, LOWS, codeRegion } from "./dense-file.ts";
import type { Pause } from "./write-cells.ts";

/** Bytes that are written between two pauses. */
const PIECE_BYTES = 256 * 1024;
/** Vectors that are made of those of the store between two pauses. */
const ROWS_PER_PIECE = 32;

/** The vector of a slot as it was, relative to the origin and padded to the width, into `target`. */
export type ReadWhole = (slot: number, target: Float32Array) => void;

export async function writeCodes(writer: SectionWriter, segment: DenseSegment, pause: Pause): Promise<void> {
  const parts = allCodeParts(segment.isFine);
  for (const _ of segment.load(parts)) await pause();
  for (const part of parts) {
    await writer.stream(part);
    await writePieces(writer, codeRegion(segment, part), pause);
  }
}

export interface VectorsToWrite {
  /** How much of each. */
  readonly kept: RowsKept;
  /** Of those that are not in memory. */
  readonly readWhole: ReadWhole;
}

export async function writeVectors(
  writer: SectionWriter,
  segment: DenseSegment,
  { kept, readWhole }: VectorsToWrite,
  pause: Pause,
): Promise<void> {
  const { capacity, layout } = segment;
  const { memory, at, width } = layout;
  const bytes = capacity * width * 2;
  if (kept === "none") return;
  await writer.rows(HALVES, width * 2);
  if (segment.hasRows) await writePieces(writer, memory.u8(at.halves, bytes), pause, width * 2);
  else await writeMade(writer, segment, { readWhole, pause, take: ({ halves }) => halves });
  if (kept === "bf16") return;
  await writer.rows(LOWS, width * 2);
  if (segment.hasWholeRows) await writePieces(writer, memory.u8(at.lows, bytes), pause, width * 2);
  else await writeMade(writer, segment, { readWhole, pause, take: ({ lows }) => lows });
}

interface MadeVectors {
  readonly readWhole: ReadWhole;
  readonly pause: Pause;
  readonly take: (split: { readonly halves: Uint16Array; readonly lows: Uint16Array }) => Uint16Array;
}

/** One of the halves of vectors that are read one by one; zeros where there is no row. */
async function writeMade(
  writer: SectionWriter,
  segment: DenseSegment,
  { readWhole, pause, take }: MadeVectors,
): Promise<void> {
  const { width } = segment.layout;
  const vector = new Float32Array(width);
  const split = {
    halves: new Uint16Array(width * ROWS_PER_PIECE),
    lows: new Uint16Array(width * ROWS_PER_PIECE),
  };
  for (let first = 0; first < segment.capacity; first += ROWS_PER_PIECE) {
    for (let i = 0; i < ROWS_PER_PIECE; i++) {
      if (segment.isPlaced(first + i)) readWhole(first + i, vector);
      else vector.fill(0);
      floatsToHalves(vector, { ...split, at: i * width });
    }
    await writer.write(new Uint8Array(take(split).buffer));
    await pause();
  }
}

/** `multiple`: pieces are as many bytes, or some times that. */
async function writePieces(
  writer: SectionWriter,
  bytes: Uint8Array,
  pause: Pause,
  multiple = 1,
): Promise<void> {
  const piece = Math.ceil(PIECE_BYTES / multiple) * multiple;
  for (let from = 0; from < bytes.length; from += piece) {
    await writer.write(bytes.subarray(from, from + piece));
    await pause();
  }
}
