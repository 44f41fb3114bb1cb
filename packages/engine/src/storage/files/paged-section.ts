/**
 * Bytes of any length in a section of rows, each row a page with its checksum: a short piece is read and checked without
 * the 64 KiB of a stream around it. Pieces begin at multiples of 8, so typed arrays can lie where they were read.
 */
import type { SectionReader } from "./section-reader.ts";
import type { SectionWriter } from "./section-writer.ts";
import type { RowSection } from "./row-section.ts";
import { SegmentDamaged } from "./segment-damaged.ts";
import type { ReadOptions } from "./segment-files.ts";

/** With its checksum nearly a page of the disk, and a multiple of 8. */
const PAGE_BYTES = 4_088;
const ALIGNMENT = 8;
/** Pages that are written at once. */
const BUFFERED_PAGES = 16;

/** Writes one section. `end` before the next one is begun. */
export class PagedWriter {
  readonly #writer: SectionWriter;
  readonly #buffer = Buffer.alloc(BUFFERED_PAGES * PAGE_BYTES);
  #filled = 0;
  #position = 0;

  private constructor(writer: SectionWriter) {
    this.#writer = writer;
  }

  static async begin(writer: SectionWriter, section: string): Promise<PagedWriter> {
    await writer.rows(section, PAGE_BYTES);
    return new PagedWriter(writer);
  }

  /** Where the next bytes go. */
  get position(): number {
    return this.#position;
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let from = 0; from < bytes.length;) {
      const part = bytes.subarray(from, from + this.#buffer.length - this.#filled);
      this.#buffer.set(part, this.#filled);
      this.#filled += part.length;
      this.#position += part.length;
      from += part.length;
      if (this.#filled === this.#buffer.length) await this.#flush();
    }
  }

  /** Zeros up to where a piece may begin. */
  async align(): Promise<void> {
    await this.write(Buffer.alloc((ALIGNMENT - (this.#position % ALIGNMENT)) % ALIGNMENT));
  }

  async end(): Promise<void> {
    const bytes = Math.ceil(this.#filled / PAGE_BYTES) * PAGE_BYTES;
    this.#buffer.fill(0, this.#filled, bytes);
    await this.#writer.write(this.#buffer.subarray(0, bytes));
    this.#filled = 0;
  }

  async #flush(): Promise<void> {
    await this.#writer.write(this.#buffer);
    this.#filled = 0;
  }
}

export class PagedSection {
  readonly #rows: RowSection;
  readonly #damaged: (reason: string) => SegmentDamaged;

  /** Throws `SegmentDamaged` where there is no such section. */
  constructor(reader: SectionReader, section: string) {
    this.#rows = reader.rows(section, PAGE_BYTES);
    this.#damaged = (reason) => new SegmentDamaged(reader.name, section, reason);
  }

  /** In bytes, with what fills the last page. */
  get length(): number {
    return this.#rows.count * PAGE_BYTES;
  }

  /** The section is not what a writer leaves. */
  damaged(reason: string): SegmentDamaged {
    return this.#damaged(reason);
  }

  /** The bytes from `start` to `end`, in memory of their own, or `null`: not all of them are on this machine. */
  tryRead(start: number, end: number): Buffer | null {
    const { pages, first, from } = this.#pagesOf(start, end);
    return this.#rows.tryRead(pages, first) ? pages.subarray(from, from + end - start) : null;
  }

  async read(start: number, end: number, options: ReadOptions = {}): Promise<Buffer> {
    const { pages, first, from } = this.#pagesOf(start, end);
    await this.#rows.read(pages, first, options);
    return pages.subarray(from, from + end - start);
  }

  #pagesOf(
    start: number,
    end: number,
  ): { readonly pages: Buffer; readonly first: number; readonly from: number } {
    if (!(start >= 0 && start <= end && end <= this.length))
      throw this.#damaged(`it has no bytes from ${start} to ${end}`);
    const first = Math.floor(start / PAGE_BYTES);
    const pages = Buffer.allocUnsafeSlow((Math.ceil(end / PAGE_BYTES) - first) * PAGE_BYTES);
    return { pages, first, from: start - first * PAGE_BYTES };
  }
}
