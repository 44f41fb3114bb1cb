/**
 * The head of a segment's file: the section `segment`, of a fixed length, from which the lengths of most others follow.
 * `storage-format.md` has the layout.
 */
import type { Space } from "@sheaf/protocol";
import { SegmentDamaged } from "../../storage/files/segment-damaged.ts";
import type { RowsKept, SegmentShape } from "../dense/segment-layout.ts";
import type { Reach } from "../dense/list-reach.ts";

export const HEADER = "segment";
export const HEADER_BYTES = 64;

const SPACES = ["l2", "ip"] as const satisfies readonly SegmentShape["space"][];
const KEPT = ["none", "bf16", "whole"] as const satisfies readonly RowsKept[];
const FLAG = { origin: 1, uncoded: 2 } as const;

export interface SegmentHeader {
  readonly space: SegmentShape["space"];
  readonly dimension: number;
  /** DocIds, which are slots: a multiple of 32. */
  readonly capacity: number;
  readonly rows: number;
  readonly lists: number;
  /** What the file has of the vectors. */
  readonly kept: RowsKept;
  readonly hasOrigin: boolean;
  /** There are rows that are too long for codes. */
  readonly hasUncoded: boolean;
  /** Of the hashes of ids. */
  readonly seed: number;
  readonly minOffset: number;
  readonly reach: Reach;
}

export function encodeHeader(header: SegmentHeader): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES);
  const flags = (header.hasOrigin ? FLAG.origin : 0) | (header.hasUncoded ? FLAG.uncoded : 0);
  const numbers = [
    SPACES.indexOf(header.space),
    header.dimension,
    header.capacity,
    header.rows,
    header.lists,
    KEPT.indexOf(header.kept),
    flags,
    header.seed,
  ];
  for (const [i, number] of numbers.entries()) bytes.writeUInt32LE(number, i * 4);
  bytes.writeDoubleLE(header.minOffset, 32);
  bytes.writeDoubleLE(header.reach.unfiltered, 40);
  bytes.writeDoubleLE(header.reach.filtered, 48);
  bytes.writeDoubleLE(header.reach.best, 56);
  return bytes;
}

/** What a segment must be, to be of an index. */
export interface ExpectedVectors {
  readonly space: Space;
  readonly dimension: number;
}

/** Throws `SegmentDamaged`. */
export function decodeHeader(file: string, bytes: Buffer, expected: ExpectedVectors): SegmentHeader {
  const fail = (reason: string): SegmentDamaged => new SegmentDamaged(file, HEADER, reason);
  const [spaceNumber, dimension, capacity, rows, lists, keptNumber, flags, seed] = Array.from(
    { length: 8 },
    (_, i) => bytes.readUInt32LE(i * 4),
  ) as [number, number, number, number, number, number, number, number];
  const space = SPACES[spaceNumber];
  const kept = KEPT[keptNumber];
  if (space === undefined || kept === undefined || flags > (FLAG.origin | FLAG.uncoded))
    throw fail("it has unknown values");
  const wanted = expected.space === "l2" ? "l2" : "ip";
  if (space !== wanted || dimension !== expected.dimension)
    throw fail(
      `vectors of ${dimension} dimensions in ${space}, and not ${expected.dimension} in ${expected.space}`,
    );
  if (capacity === 0 || capacity % 32 !== 0 || rows > capacity || lists === 0 || lists > capacity / 32)
    throw fail(`${rows} rows in ${lists} lists of ${capacity} slots`);
  const [unfiltered, filtered, best] = [40, 48, 56].map((at) => bytes.readDoubleLE(at)) as [
    number,
    number,
    number,
  ];
  const reach = { unfiltered, best, filtered };
  const minOffset = bytes.readDoubleLE(32);
  if (!(unfiltered >= 0 && filtered >= 0 && best >= 0 && minOffset >= 0))
    throw fail("it has negative values");
  const hasOrigin = (flags & FLAG.origin) !== 0;
  const hasUncoded = (flags & FLAG.uncoded) !== 0;
  const counts = { dimension, capacity, rows, lists, seed };
  return { ...counts, space, kept, hasOrigin, hasUncoded, minOffset, reach };
}
