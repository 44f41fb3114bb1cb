/**
 * What an archive is on disk: a folder of segments, `<position of the first entry, 16 hex digits>.log`, little-endian:
 *
 *     "SHEAFLG1"  chain (16 bytes)  position of the first entry (u64)  CRC-32 of these (u32)
 *     then entries: length of the body (u32)  CRC-32 of the body (u32)  position (u64)  time in ms (u64)  kind (u32)
 *                   CRC-32 of these 28 bytes (u32)  body
 *
 * Positions go up by one from entry to entry and from segment to segment. A chain is an unbroken stretch: where the server
 * cannot say that nothing is missing, a new one begins. Only the last segment of a folder may end in part of an entry. Where
 * a clock was set back, entries that void nothing say what it says. The file `lock` beside them keeps a second server out.
 */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { formatUuid } from "../storage/format-uuid.ts";

export const SEGMENT_HEADER_BYTES = 36;
export const ENTRY_HEADER_BYTES = 32;
const MAGIC = Buffer.from("SHEAFLG1");
const SEGMENT_NAME = /^[0-9a-f]{16}\.log$/u;

/** Of entries. */
export const ENTRY_KIND = { catalog: 1, void: 2, change: 3, base: 4 } as const;
export type EntryKind = (typeof ENTRY_KIND)[keyof typeof ENTRY_KIND];
const KNOWN_KINDS: ReadonlySet<number> = new Set(Object.values(ENTRY_KIND));

export interface SegmentName {
  readonly first: number;
  readonly path: string;
}

export interface SegmentHeader {
  /** A UUID. */
  readonly chain: string;
  readonly first: number;
}

export interface EntryHeader {
  readonly bodyBytes: number;
  readonly bodyCrc: number;
  readonly position: number;
  /** Milliseconds since 1970; never less than that of the entry before. */
  readonly time: number;
  readonly kind: EntryKind;
}

/** In order of their positions; none where there is no folder. */
export function listSegments(folder: string): readonly SegmentName[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => SEGMENT_NAME.test(name))
    .toSorted()
    .map((name) => ({ first: Number.parseInt(name.slice(0, 16), 16), path: join(folder, name) }));
}

export function segmentPath(folder: string, first: number): string {
  return join(folder, `${first.toString(16).padStart(16, "0")}.log`);
}

export function encodeSegmentHeader({ chain, first }: SegmentHeader): Buffer {
  const bytes = Buffer.alloc(SEGMENT_HEADER_BYTES);
  MAGIC.copy(bytes);
  Buffer.from(chain.replaceAll("-", ""), "hex").copy(bytes, 8);
  bytes.writeBigUInt64LE(BigInt(first), 24);
  bytes.writeUInt32LE(crc32(bytes.subarray(0, 32)), 32);
  return bytes;
}

/** `null`: these bytes are none. */
export function decodeSegmentHeader(bytes: Buffer): SegmentHeader | null {
  const isOne =
    bytes.length >= SEGMENT_HEADER_BYTES &&
    bytes.subarray(0, 8).equals(MAGIC) &&
    crc32(bytes.subarray(0, 32)) === bytes.readUInt32LE(32);
  return isOne
    ? { chain: formatUuid(bytes.subarray(8, 24)), first: Number(bytes.readBigUInt64LE(24)) }
    : null;
}

export function encodeEntryHeader({ bodyBytes, bodyCrc, position, time, kind }: EntryHeader): Buffer {
  const bytes = Buffer.allocUnsafe(ENTRY_HEADER_BYTES);
  bytes.writeUInt32LE(bodyBytes, 0);
  bytes.writeUInt32LE(bodyCrc, 4);
  bytes.writeBigUInt64LE(BigInt(position), 8);
  bytes.writeBigUInt64LE(BigInt(time), 16);
  bytes.writeUInt32LE(kind, 24);
  bytes.writeUInt32LE(crc32(bytes.subarray(0, 28)), 28);
  return bytes;
}

/** `null`: these bytes are none. */
export function decodeEntryHeader(bytes: Buffer): EntryHeader | null {
  if (bytes.length < ENTRY_HEADER_BYTES) return null;
  const kind = bytes.readUInt32LE(24);
  if (!KNOWN_KINDS.has(kind) || crc32(bytes.subarray(0, 28)) !== bytes.readUInt32LE(28)) return null;
  return {
    bodyBytes: bytes.readUInt32LE(0),
    bodyCrc: bytes.readUInt32LE(4),
    position: Number(bytes.readBigUInt64LE(8)),
    time: Number(bytes.readBigUInt64LE(16)),
    kind: kind as EntryKind,
  };
}
