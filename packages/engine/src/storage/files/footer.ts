/**
 * The end of an index file: a directory of its sections, and a trailer that leads to it. `storage-format.md` has the
 * layout byte by byte. Nothing that is read here is trusted before its checksum fits, nor afterwards: places and sizes
 * must be just those that the writer makes, so that whatever a file says, at most its own size is ever allocated.
 */
import { SheafError } from "@sheaf/protocol";
import { crc32c } from "../values/crc32c.ts";
import { SegmentDamaged } from "./segment-damaged.ts";

/** Sections begin at multiples of it. */
export const ALIGNMENT = 4_096;
/** A stream has a checksum for each so many bytes. */
export const CHUNK_BYTES = 65_536;
/** Behind each row of a section of rows. */
export const ROW_CHECKSUM_BYTES = 4;
/** Row and checksum fit kernel memory, where they are checked. */
export const MAX_ROW_BYTES = CHUNK_BYTES - ROW_CHECKSUM_BYTES;
export const MAX_SECTION_NAME_BYTES = 512;
export const TRAILER_BYTES = 16;

const VERSION = 1;
/** "SHIX" as bytes. */
const MAGIC = 0x58494853;
/** Checksums of 256 GiB. */
const MAX_FOOTER_BYTES = 16 * 1024 * 1024;
const KIND = { stream: 1, rows: 2 } as const;
/** What this version reads beyond what version 1 has from the start. */
/** Of a file in which blocks of postings have the lengths of documents. */
export const LENGTHS_FEATURE = "lengths";
/** Of a file of records in which those of a partition lie together. */
export const PARTITIONS_FEATURE = "partitions";
const KNOWN_FEATURES: ReadonlySet<string> = new Set([LENGTHS_FEATURE, PARTITIONS_FEATURE]);

interface SectionPlace {
  readonly name: string;
  readonly offset: number;
  /** With the checksums of rows, without the padding behind. */
  readonly length: number;
}

export interface StreamEntry extends SectionPlace {
  readonly kind: "stream";
  /** One for each chunk. */
  readonly checksums: Uint32Array;
}

export interface RowsEntry extends SectionPlace {
  readonly kind: "rows";
  readonly rowBytes: number;
  /** Keeps rows of different sections apart, see `rowMask`. */
  readonly seed: number;
  /** Of the checksums of all rows, one after another. */
  readonly checksum: number;
}

export type SectionEntry = StreamEntry | RowsEntry;

export interface Footer {
  /** Features that a reader must know. */
  readonly features: readonly string[];
  /** In the order in which they lie in the file. */
  readonly sections: readonly SectionEntry[];
}

export interface Trailer {
  readonly footerBytes: number;
  /** Identifies the whole file: the footer has the checksums of all that is before it. */
  readonly crc: number;
}

/** What a row's checksum is combined with by exclusive or, so that a row in the place of another one is noticed. */
export function rowMask(seed: number, row: number): number {
  return Math.imul(seed + row, 0x9e3779b1) >>> 0;
}

export function aligned(bytes: number): number {
  return Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
}

/** Footer and trailer. */
export function encodeFooter({ features, sections }: Footer): Buffer {
  const parts = [u16(features.length), ...features.map(text), u32(sections.length)];
  for (const section of sections) {
    parts.push(u16(KIND[section.kind]), text(section.name), u64(section.offset), u64(section.length));
    if (section.kind === "stream") parts.push(u32s(section.checksums));
    else parts.push(u32(section.rowBytes), u32(section.seed), u32(section.checksum));
  }
  const footer = Buffer.concat(parts);
  const version = u32(VERSION);
  return Buffer.concat([footer, u32(footer.length), u32(identity(footer, version)), version, u32(MAGIC)]);
}

/** @param end The last bytes of a file of `size` bytes, `TRAILER_BYTES` at least where it has so many. */
export function decodeTrailer(file: string, end: Uint8Array, size: number): Trailer {
  if (end.length < TRAILER_BYTES) throw new SegmentDamaged(file, null, `it has only ${size} bytes`);
  const trailer = Buffer.from(end.buffer, end.byteOffset + end.length - TRAILER_BYTES, TRAILER_BYTES);
  if (trailer.readUInt32LE(12) !== MAGIC)
    throw new SegmentDamaged(file, null, "it does not end as an index file does");
  const footerBytes = trailer.readUInt32LE(0);
  if (footerBytes > Math.min(size - TRAILER_BYTES, MAX_FOOTER_BYTES))
    throw new SegmentDamaged(file, null, `a directory of ${footerBytes} bytes is not possible`);
  return { footerBytes, crc: trailer.readUInt32LE(4) };
}

/** @param bytes Footer and trailer. Throws `SegmentDamaged`, or a plain `collection_unavailable` for a file of a later version. */
export function decodeFooter(file: string, bytes: Buffer, size: number): Footer {
  const footer = bytes.subarray(0, bytes.length - TRAILER_BYTES);
  const version = bytes.subarray(bytes.length - 8, bytes.length - 4);
  if (identity(footer, version) !== bytes.readUInt32LE(bytes.length - 12))
    throw new SegmentDamaged(file, null, "the checksum of its directory does not match");
  if (version.readUInt32LE(0) !== VERSION) throw unsupported(file, `has version ${version.readUInt32LE(0)}`);
  const reader = new FooterReader(file, footer);
  const features = Array.from({ length: reader.u16() }, () => reader.text());
  const unknown = features.find((feature) => !KNOWN_FEATURES.has(feature));
  if (unknown !== undefined) throw unsupported(file, `needs the feature ${JSON.stringify(unknown)}`);
  const sections: SectionEntry[] = [];
  let end = 0;
  for (let left = reader.u32(); left > 0; left--) {
    const section = reader.section();
    if (section.offset !== aligned(end)) throw reader.fail(`section ${section.name} is out of place`);
    end = section.offset + section.length;
    sections.push(section);
  }
  if (end !== size - bytes.length) throw reader.fail("its sections do not end where the directory begins");
  reader.end();
  if (new Set(sections.map(({ name }) => name)).size < sections.length)
    throw reader.fail("two sections have the same name");
  return { features, sections };
}

/** The version counts, so that one that is damaged is not taken for a later one. */
function identity(footer: Uint8Array, version: Uint8Array): number {
  return crc32c(version, 0, version.length, crc32c(footer));
}

function unsupported(file: string, what: string): SheafError {
  return new SheafError(
    "collection_unavailable",
    `index file ${file} ${what}, which this version of Sheaf cannot read`,
  );
}

class FooterReader {
  readonly #file: string;
  readonly #bytes: Buffer;
  #position = 0;

  constructor(file: string, bytes: Buffer) {
    this.#file = file;
    this.#bytes = bytes;
  }

  section(): SectionEntry {
    const kind = this.u16();
    const place = { name: this.text(), offset: this.u64(), length: this.u64() };
    if (kind === KIND.stream) {
      const at = this.#take(Math.ceil(place.length / CHUNK_BYTES) * 4);
      const words = { length: (this.#position - at) / 4 };
      const checksums = Uint32Array.from(words, (_, i) => this.#bytes.readUInt32LE(at + 4 * i));
      return { kind: "stream", ...place, checksums };
    }
    if (kind !== KIND.rows) throw this.fail(`section ${place.name} is of unknown kind ${kind}`);
    const rows = { rowBytes: this.u32(), seed: this.u32(), checksum: this.u32() };
    if (rows.rowBytes < 1 || rows.rowBytes > MAX_ROW_BYTES)
      throw this.fail(`section ${place.name} has rows of ${rows.rowBytes} bytes`);
    if (place.length % (rows.rowBytes + ROW_CHECKSUM_BYTES) !== 0)
      throw this.fail(`section ${place.name} ends within a row`);
    return { kind: "rows", ...place, ...rows };
  }

  u16(): number {
    return this.#bytes.readUInt16LE(this.#take(2));
  }

  u32(): number {
    return this.#bytes.readUInt32LE(this.#take(4));
  }

  u64(): number {
    const value = Number(this.#bytes.readBigUInt64LE(this.#take(8)));
    if (!Number.isSafeInteger(value)) throw this.fail(`${value} is no place in a file`);
    return value;
  }

  text(): string {
    const length = this.u16();
    const at = this.#take(length);
    return this.#bytes.toString("utf8", at, at + length);
  }

  end(): void {
    if (this.#position !== this.#bytes.length) throw this.fail("its directory has bytes left over");
  }

  fail(reason: string): SegmentDamaged {
    return new SegmentDamaged(this.#file, null, reason);
  }

  #take(bytes: number): number {
    const at = this.#position;
    if (bytes > this.#bytes.length - at) throw this.fail("its directory ends too early");
    this.#position = at + bytes;
    return at;
  }
}

function u16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value);
  return bytes;
}

function u32(value: number): Buffer {
  return u32s([value]);
}

function u32s(values: Iterable<number> & { readonly length: number }): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  let at = 0;
  for (const value of values) at = bytes.writeUInt32LE(value, at);
  return bytes;
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

/** u16 byte length, then UTF-8. */
function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([u16(bytes.length), bytes]);
}
