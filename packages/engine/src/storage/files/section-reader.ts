/**
 * Reads an index file: opened with one read of its end, then section by section, each byte held to its checksum before
 * anybody sees it. Whatever does not fit is a `SegmentDamaged` with file and section.
 */
import { fetchChecked } from "./checked-range.ts";
import { SegmentDamaged, SegmentMissing } from "./segment-damaged.ts";
import { type ReadOptions, TAIL_BYTES, type SegmentFile, type SegmentFiles } from "./segment-files.ts";
import { type SectionEntry, TRAILER_BYTES, type Trailer, decodeFooter, decodeTrailer } from "./footer.ts";
import { RowSection } from "./row-section.ts";
import type { FileIdentity } from "./section-writer.ts";
import { StreamSection } from "./stream-section.ts";

/** Opens the very file that was written. Throws `SegmentDamaged` if it is missing, damaged or another one. */
export async function openSections(
  files: SegmentFiles,
  { name, crc }: FileIdentity,
  options: ReadOptions = {},
): Promise<SectionReader> {
  const reader = await openAnySections(files, name, options);
  if (reader === null) throw new SegmentMissing(name);
  if (reader.crc === crc) return reader;
  await reader.close();
  throw new SegmentDamaged(name, null, "it is another file than the one that was written");
}

/**
 * Opens the file of this name, whichever it is. `null`: there is none. The end of a file elsewhere may have changed on its way, so one
 * that does not fit is fetched once more.
 */
export async function openAnySections(
  files: SegmentFiles,
  name: string,
  options: ReadOptions = {},
): Promise<SectionReader | null> {
  for (let isAnew = false; ; isAnew = true) {
    const file = await files.open(name, options);
    if (file === null) return null;
    try {
      return await readDirectory(file, options);
    } catch (error) {
      await file.close();
      if (file.isLocal || isAnew || !(error instanceof SegmentDamaged)) throw error;
    }
  }
}

async function readDirectory(file: SegmentFile, options: ReadOptions): Promise<SectionReader> {
  const { name, size } = file;
  const tail = await readEnd(file, Math.min(TAIL_BYTES, size), options);
  const trailer = decodeTrailer(name, tail, size);
  const length = trailer.footerBytes + TRAILER_BYTES;
  const footer = length <= tail.length ? tail.subarray(-length) : await readEnd(file, length, options);
  return new SectionReader(file, trailer, decodeFooter(name, footer, size).sections);
}

export class SectionReader {
  /** Of the footer. */
  readonly crc: number;
  readonly #file: SegmentFile;
  readonly #sections: ReadonlyMap<string, StreamSection | RowSection>;

  constructor(file: SegmentFile, { crc }: Trailer, sections: readonly SectionEntry[]) {
    this.#file = file;
    this.crc = crc;
    this.#sections = new Map(
      sections.map((entry) => [
        entry.name,
        entry.kind === "stream" ? new StreamSection(file, entry) : new RowSection(file, entry),
      ]),
    );
  }

  get name(): string {
    return this.#file.name;
  }

  /** `tryRead` of its sections always succeeds. */
  get isLocal(): boolean {
    return this.#file.isLocal;
  }

  get size(): number {
    return this.#file.size;
  }

  /** Names of the sections, in the order in which they lie in the file. */
  get sections(): readonly string[] {
    return [...this.#sections.keys()];
  }

  has(name: string): boolean {
    return this.#sections.has(name);
  }

  /** Throws `SegmentDamaged` where there is none. */
  stream(name: string): StreamSection {
    const section = this.#sections.get(name);
    if (section instanceof StreamSection) return section;
    throw this.#unexpected(name, "a stream");
  }

  /** Throws `SegmentDamaged` where there is none with such rows. */
  rows(name: string, rowBytes: number): RowSection {
    const section = this.#sections.get(name);
    if (section instanceof RowSection && section.rowBytes === rowBytes) return section;
    throw this.#unexpected(name, `one of rows of ${rowBytes} bytes`);
  }

  /**
   * Reads the whole file and throws at the first byte that is not what was written. Yields how many bytes it has gone on
   * by, about a mebibyte each; so who calls decides on the pace, and when to stop.
   */
  async *verify(options: ReadOptions = {}): AsyncGenerator<number, void> {
    let end = 0;
    for (const section of this.#sections.values()) {
      await this.#verifyPadding(end, section.offset, options);
      yield* section.verify(options);
      end = section.offset + section.length;
    }
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  async #verifyPadding(start: number, end: number, options: ReadOptions): Promise<void> {
    await fetchChecked(this.#file, [start, end], options, ({ bytes }) => {
      if (bytes.some((byte) => byte !== 0))
        throw new SegmentDamaged(this.name, null, `bytes between sections, from ${start} on, are not zero`);
    });
  }

  #unexpected(name: string, expected: string): SegmentDamaged {
    const found = this.#sections.has(name) ? "it is of another kind" : "it is missing";
    return new SegmentDamaged(this.name, name, `${found}, ${expected} is expected`);
  }
}

/** The last bytes of a file. */
async function readEnd(file: SegmentFile, length: number, options: ReadOptions): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  const position = file.size - length;
  if (!file.tryRead(bytes, position)) await file.read(bytes, position, options);
  return bytes;
}
