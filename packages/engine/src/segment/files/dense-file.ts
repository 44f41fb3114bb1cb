/**
 * Codes and vectors of a segment in its file. Codes are read into the segment's memory when a search first needs them,
 * vectors by position, or all of them where there is room. The sections are those regions of the memory as they are.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { SheafError, abortable } from "@sheaf/protocol";
import { RECORD } from "../../kernels/kernels.ts";
import { wholeFloats } from "../../kernels/plain/rows.ts";
import { CHUNK_BYTES } from "../../storage/files/footer.ts";
import { READS_AT_A_TIME } from "../../storage/files/row-reader.ts";
import type { RowSection } from "../../storage/files/row-section.ts";
import { SegmentDamaged } from "../../storage/files/segment-damaged.ts";
import type { ReadOptions } from "../../storage/files/segment-files.ts";
import type { SectionReader } from "../../storage/files/section-reader.ts";
import type { StreamSection } from "../../storage/files/stream-section.ts";
import type { DenseSegment } from "../dense/dense-segment.ts";
import { DataAbsent } from "../../storage/data-absent.ts";
import { type CodePart, type DenseSource, type ReadBeside, allCodeParts } from "../dense/dense-source.ts";
import { halvesToFloats } from "../dense/half-float.ts";
import { type RowsKept, magnitudeBytes, recordBytes, widthsOf } from "../dense/segment-layout.ts";
import { FetchedRows } from "./fetched-rows.ts";
import type { SegmentHeader } from "./segment-header.ts";

/** Sections of vectors. */
export const HALVES = "bf16";
export const LOWS = "residual";

/** Bytes that are read between two pauses: about half a millisecond. */
const SLICE_BYTES = 512 * 1024;

export class DenseFile implements DenseSource {
  readonly rows: RowsKept;
  readonly hasMagnitudes: boolean;
  readonly #reader: SectionReader;
  readonly #name: string;
  readonly #lists: number;
  readonly #codes: Readonly<Partial<Record<CodePart, StreamSection>>>;
  readonly #halves: RowSection | null;
  readonly #lows: RowSection | null;
  /** Bytes of each part that are in memory. */
  readonly #loaded: Record<CodePart, number> = {
    biases: 0,
    factors: 0,
    blocks: 0,
    records: 0,
    magnitudes: 0,
  };
  /** Chunks behind these that are. */
  readonly #ahead: Readonly<Record<CodePart, Set<number>>> = {
    biases: new Set(),
    factors: new Set(),
    blocks: new Set(),
    records: new Set(),
    magnitudes: new Set(),
  };
  readonly #halvesOfOne: Uint16Array;
  readonly #lowsOfOne: Uint16Array;
  #fetching: Promise<void> | null = null;
  /** bf16 of slots that were fetched. */
  #fetched: FetchedRows | null = null;

  /** Throws `SegmentDamaged` where a section does not have the length that follows from the header. */
  constructor(reader: SectionReader, { capacity, dimension, kept, lists }: SegmentHeader) {
    const { width } = widthsOf(dimension);
    this.rows = kept;
    this.#reader = reader;
    this.#name = reader.name;
    this.#lists = lists;
    const lengths = codeLengths(capacity, dimension);
    this.hasMagnitudes = reader.has("magnitudes");
    const codes = allCodeParts(this.hasMagnitudes).map((part) => {
      const section = reader.stream(part);
      if (section.length !== lengths[part])
        throw new SegmentDamaged(
          reader.name,
          part,
          `${section.length} bytes are no codes of ${capacity} slots`,
        );
      return [part, section] as const;
    });
    this.#codes = Object.fromEntries(codes);
    this.#halves = kept === "none" ? null : rowsOf(reader, HALVES, { width, capacity });
    this.#lows = kept === "whole" ? rowsOf(reader, LOWS, { width, capacity }) : null;
    this.#halvesOfOne = new Uint16Array(width);
    this.#lowsOfOne = new Uint16Array(width);
  }

  get isLocal(): boolean {
    return this.#reader.isLocal;
  }

  lacks(parts: readonly CodePart[]): boolean {
    return parts.some((part) => this.#loaded[part] < this.#section(part).length);
  }

  *load(segment: DenseSegment, parts: readonly CodePart[]): Generator<void, void> {
    for (const part of parts) {
      for (let slice = this.#next(segment, part); slice !== null; slice = this.#next(segment, part)) {
        if (!this.#section(part).tryRead(slice.into, slice.from))
          throw new DataAbsent(() => this.fetch(segment, parts, {}));
        this.#read(segment, part, slice);
        yield;
      }
    }
  }

  loadSlots(
    segment: DenseSegment,
    parts: readonly CodePart[],
    [first, end]: readonly [number, number],
  ): void {
    for (const part of parts) {
      const bytes = codeRegion(segment, part);
      const perChunk = (CHUNK_BYTES * segment.capacity) / bytes.length;
      for (let chunk = Math.floor(first / perChunk); chunk * perChunk < end; chunk++) {
        const from = chunk * CHUNK_BYTES;
        const into = bytes.subarray(from, from + CHUNK_BYTES);
        if (from + into.length <= this.#loaded[part] || this.#ahead[part].has(chunk)) continue;
        if (!this.#section(part).tryRead(into, from)) throw this.#notPrepared();
        this.#ahead[part].add(chunk);
      }
    }
  }

  async fetch(segment: DenseSegment, parts: readonly CodePart[], { signal }: ReadOptions): Promise<void> {
    while (this.lacks(parts)) {
      // For all who wait for it: one that is cancelled does not end it.
      this.#fetching ??= this.#fetch(segment, parts).finally(() => (this.#fetching = null));
      await abortable(this.#fetching, signal);
    }
  }

  async #fetch(segment: DenseSegment, parts: readonly CodePart[]): Promise<void> {
    for (const part of parts) {
      for (let slice = this.#next(segment, part); slice !== null; slice = this.#next(segment, part)) {
        const { into, from } = slice;
        if (!this.#section(part).tryRead(into, from)) await this.#section(part).read(into, from);
        this.#read(segment, part, slice);
        await nextTurn();
      }
    }
  }

  *loadRows(segment: DenseSegment, kept: RowsKept): Generator<void, void> {
    for (const { section, into } of this.#rowRegions(segment, kept, segment.kept)) {
      const rows = Math.ceil(SLICE_BYTES / section.rowBytes);
      for (let first = 0; first < segment.capacity; first += rows) {
        const slice = into.subarray(first * section.rowBytes, (first + rows) * section.rowBytes);
        if (!section.tryRead(slice, first)) throw this.#notPrepared();
        yield;
      }
    }
  }

  async readRows(segment: DenseSegment, kept: RowsKept, { reader, mayGoOn }: ReadBeside): Promise<boolean> {
    for (const { section, into } of this.#rowRegions(segment, kept, segment.kept)) {
      const { rowBytes, rowsPerRead } = section;
      const reads = new Set<Promise<void>>();
      try {
        for (let next = 0; next < segment.capacity; next += rowsPerRead) {
          if (reads.size === READS_AT_A_TIME) await Promise.race(reads);
          if (!(await mayGoOn())) return false;
          const slice = into.subarray(next * rowBytes, (next + rowsPerRead) * rowBytes);
          const read = section.readWith(reader, slice, next);
          reads.add(read);
          void read.then(
            () => reads.delete(read),
            () => {},
          );
        }
        await Promise.all(reads);
      } finally {
        await Promise.allSettled(reads);
      }
    }
    return true;
  }

  requireHalves(slots: Uint32Array): void {
    if (this.isLocal) return;
    this.#fetched ??= new FetchedRows(this.#halves!);
    this.#fetched.require(slots);
  }

  readHalves(slots: Uint32Array, into: Uint8Array): boolean {
    if (this.isLocal) this.#fetched = null;
    return this.#fetched?.tryReadEach(into, slots) === true || this.#halves!.tryReadEach(into, slots);
  }

  readLows(slot: number, into: Uint8Array): boolean {
    return this.#lows!.tryRead(into, slot);
  }

  readVector(slot: number, target: Float32Array): boolean {
    const [halves, lows] = [this.#halvesOfOne, this.#lowsOfOne];
    if (!this.readHalves(Uint32Array.of(slot), new Uint8Array(halves.buffer))) return false;
    if (this.rows === "bf16") halvesToFloats(halves, 0, target);
    else if (!this.readLows(slot, new Uint8Array(lows.buffer))) return false;
    else wholeFloats({ halves, lows, at: 0 }, target);
    return true;
  }

  #section(part: CodePart): StreamSection {
    const section = this.#codes[part];
    if (section === undefined) throw new SheafError("internal", `${this.#name} has no ${part}`);
    return section;
  }

  #notPrepared(): SheafError {
    return new SheafError("internal", `${this.#name} was not prepared`);
  }

  #next(segment: DenseSegment, part: CodePart): Slice | null {
    const from = this.#loaded[part];
    const { length } = this.#section(part);
    if (from === length) return null;
    const bytes = codeRegion(segment, part);
    return { from, into: bytes.subarray(from, from + SLICE_BYTES) };
  }

  /** Another reader may have come as far meanwhile. */
  #read(segment: DenseSegment, part: CodePart, { from, into }: Slice): void {
    const end = from + into.length;
    if (part === "records" && end === this.#section("records").length) this.#requireLists(segment);
    this.#loaded[part] = Math.max(this.#loaded[part], end);
  }

  /** Kernels trust the lists of records. */
  #requireLists({ capacity, layout }: DenseSegment): void {
    const { memory, at, recordCodeBytes } = layout;
    const stride = recordBytes(recordCodeBytes) / 4;
    const words = memory.u32(at.records, capacity * stride);
    for (let at32 = recordCodeBytes / 4 + RECORD.list; at32 < words.length; at32 += stride)
      if (words[at32]! >= this.#lists)
        throw new SegmentDamaged(this.#name, "records", `a record is of list ${words[at32]}`);
  }

  /** `had`: what is there already. */
  #rowRegions(
    { capacity, layout }: DenseSegment,
    kept: RowsKept,
    had: RowsKept = "none",
  ): readonly RowRegion[] {
    const { memory, at, width } = layout;
    const regions: RowRegion[] = [];
    const bytes = capacity * width * 2;
    if (kept !== "none" && had === "none")
      regions.push({ section: this.#halves!, into: memory.u8(at.halves, bytes) });
    if (kept === "whole" && had !== "whole")
      regions.push({ section: this.#lows!, into: memory.u8(at.lows, bytes) });
    return regions;
  }
}

interface Slice {
  readonly from: number;
  readonly into: Uint8Array;
}

interface RowRegion {
  readonly section: RowSection;
  readonly into: Uint8Array;
}

/** Where codes lie in the memory of a segment. */
export function codeRegion({ capacity, shape, layout }: DenseSegment, part: CodePart): Uint8Array {
  return layout.memory.u8(layout.at[part], codeLengths(capacity, shape.dimension)[part]);
}

function codeLengths(capacity: number, dimension: number): Readonly<Record<CodePart, number>> {
  const { codeBytes, recordCodeBytes } = widthsOf(dimension);
  return {
    biases: capacity * 4,
    factors: capacity * 4,
    blocks: capacity * codeBytes,
    records: capacity * recordBytes(recordCodeBytes),
    magnitudes: capacity * magnitudeBytes(recordCodeBytes),
  };
}

function rowsOf(
  reader: SectionReader,
  name: string,
  { width, capacity }: { readonly width: number; readonly capacity: number },
): RowSection {
  const section = reader.rows(name, width * 2);
  if (section.count === capacity) return section;
  throw new SegmentDamaged(reader.name, name, `${section.count} rows instead of ${capacity}`);
}
