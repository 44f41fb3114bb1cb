/** Reads an archive from some position on, and says where it ends and why. Nothing that is damaged or missing is passed over. */
import { closeSync, fstatSync, readSync } from "node:fs";
import { crc32 } from "node:zlib";
import { basename } from "node:path";
import { openFileSync } from "../storage/folder/open-file.ts";
import {
  ENTRY_HEADER_BYTES,
  type EntryHeader,
  type EntryKind,
  SEGMENT_HEADER_BYTES,
  type SegmentHeader,
  type SegmentName,
  decodeEntryHeader,
  decodeSegmentHeader,
  listSegments,
} from "./archive-format.ts";

export interface ArchiveEntry {
  readonly chain: string;
  readonly position: number;
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly kind: EntryKind;
  readonly body: Buffer;
}

export interface ArchiveEnd {
  /** Of the last entry that is whole; where there is none, the position before the first. */
  readonly position: number;
  readonly time: number | null;
  readonly chain: string | null;
  /** What is wrong there; `null`: the archive goes no further. */
  readonly problem: string | null;
  /** Path of the last segment, and where its last whole entry ends. */
  readonly segment: string | null;
  readonly bytes: number;
}

const READ_BYTES = 2 ** 20;
/** How far positions behind a bad entry may be ahead. */
const MOST_AHEAD = 1_000_000;

/** Entries above `after`, as far as they are whole; returns where that is. */
export function* readArchive(folder: string, after: number): Generator<ArchiveEntry, ArchiveEnd> {
  const all = listSegments(folder);
  const begin = Math.max(
    0,
    all.findLastIndex(({ first }) => first <= after + 1),
  );
  const segments = all.slice(begin);
  const [first] = segments;
  let end: ArchiveEnd = { ...NOTHING, position: first === undefined ? after : first.first - 1 };
  if (first !== undefined && first.first > after + 1)
    return { ...end, position: after, problem: gap(after + 1, first.first - 1) };
  for (const [i, segment] of segments.entries()) {
    if (segment.first > end.position + 1)
      return { ...end, problem: gap(end.position + 1, segment.first - 1) };
    if (segment.first <= end.position)
      return { ...end, problem: `segment ${basename(segment.path)} begins with an entry of the one before` };
    end = yield* readSegment(segment, { after, isLast: i === segments.length - 1, before: end });
    if (end.problem !== null) return end;
  }
  return end;
}

/** Chain and first position that a segment begins with; `null`: it is damaged. */
export function readSegmentHeader({ path }: SegmentName): SegmentHeader | null {
  const file = openFileSync(path);
  try {
    return decodeSegmentHeader(readAt(file, 0, SEGMENT_HEADER_BYTES));
  } finally {
    closeSync(file);
  }
}

const NOTHING: Omit<ArchiveEnd, "position"> = {
  ...{ time: null, chain: null, problem: null },
  ...{ segment: null, bytes: 0 },
};

interface SegmentReading {
  readonly after: number;
  readonly isLast: boolean;
  readonly before: ArchiveEnd;
}

function* readSegment(
  segment: SegmentName,
  { after, isLast, before }: SegmentReading,
): Generator<ArchiveEntry, ArchiveEnd> {
  const file = openFileSync(segment.path);
  try {
    const { size } = fstatSync(file);
    const header = decodeSegmentHeader(readAt(file, 0, SEGMENT_HEADER_BYTES));
    const name = basename(segment.path);
    if (header === null || header.first !== segment.first) {
      // It was being made when the server ended.
      const isTorn = isLast && size <= SEGMENT_HEADER_BYTES;
      return { ...before, problem: isTorn ? null : `segment ${name} has no whole header` };
    }
    const { chain } = header;
    let end: ArchiveEnd = { ...before, chain, segment: segment.path, bytes: SEGMENT_HEADER_BYTES };
    const reader = new BufferedFile(file, size);
    while (end.bytes < size) {
      const entry = entryAt(reader, end.bytes, end.position + 1);
      if (entry === null) {
        const isTorn = isLast && !hasEntryBehind(reader, end);
        const where = `entry ${end.position + 1} in segment ${name}, byte ${end.bytes}`;
        return isTorn ? end : { ...end, problem: `${where}, is damaged` };
      }
      const { position, time, kind } = entry.header;
      end = { ...end, position, time, bytes: end.bytes + ENTRY_HEADER_BYTES + entry.body.length };
      if (position > after) yield { chain, position, time, kind, body: entry.body };
    }
    return end;
  } finally {
    closeSync(file);
  }
}

interface WholeEntry {
  readonly header: EntryHeader;
  readonly body: Buffer;
}

/** `expected`: its position, if that is known. */
function entryAt(reader: BufferedFile, at: number, expected: number | null): WholeEntry | null {
  const header = decodeEntryHeader(reader.read(at, ENTRY_HEADER_BYTES));
  if (header === null || (expected !== null && header.position !== expected)) return null;
  if (at + ENTRY_HEADER_BYTES + header.bodyBytes > reader.size) return null;
  const body = reader.read(at + ENTRY_HEADER_BYTES, header.bodyBytes);
  return crc32(body) === header.bodyCrc ? { header, body } : null;
}

/** Entries are written in order, so where a later one is whole, this one was written and is damaged. */
function hasEntryBehind(reader: BufferedFile, { bytes, position }: ArchiveEnd): boolean {
  for (let at = bytes + 1; at + ENTRY_HEADER_BYTES <= reader.size; at++) {
    const candidate = reader.read(at, ENTRY_HEADER_BYTES);
    // Before its checksum is made: positions are small, and so are kinds.
    if (candidate.readUInt32LE(24) > 0xff || candidate.readUInt16LE(14) !== 0) continue;
    const ahead = Number(candidate.readBigUInt64LE(8)) - position;
    if (ahead > 1 && ahead < MOST_AHEAD && entryAt(reader, at, null) !== null) return true;
  }
  return false;
}

class BufferedFile {
  readonly size: number;
  readonly #file: number;
  #buffer: Buffer = Buffer.alloc(0);
  #start = 0;

  constructor(file: number, size: number) {
    this.#file = file;
    this.size = size;
  }

  /** What is asked for, or less where the file ends. Its bytes stay. */
  read(at: number, length: number): Buffer {
    const isThere = at >= this.#start && at + length <= this.#start + this.#buffer.length;
    if (!isThere) {
      this.#buffer = readAt(this.#file, at, Math.max(length, READ_BYTES));
      this.#start = at;
    }
    return this.#buffer.subarray(at - this.#start, at - this.#start + length);
  }
}

function readAt(file: number, position: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  let filled = 0;
  for (let read = -1; filled < length && read !== 0; filled += read)
    read = readSync(file, bytes, filled, length - filled, position + filled);
  return bytes.subarray(0, filled);
}

function gap(from: number, to: number): string {
  return `${from === to ? `entry ${from} is` : `entries ${from} to ${to} are`} missing`;
}
