/**
 * Writes an index file: sections one after another, each as its bytes come, then the directory. Holds one chunk and the
 * checksums of those before it, however large the file is.
 */
import { SheafError } from "@sheaf/protocol";
import { crc32c } from "../values/crc32c.ts";
import {
  CHUNK_BYTES,
  MAX_ROW_BYTES,
  MAX_SECTION_NAME_BYTES,
  ROW_CHECKSUM_BYTES,
  type SectionEntry,
  TRAILER_BYTES,
  aligned,
  encodeFooter,
  rowMask,
} from "./footer.ts";
import type { SegmentFileWriter, SegmentFiles } from "./segment-files.ts";

/** A file, and how to know that it is the one that was written. */
export interface FileIdentity {
  readonly name: string;
  /** Of its footer, which has the checksums of all the rest. */
  readonly crc: number;
}

/** Writes one file. It is there once this resolves; if `write` throws there is none. `expectedBytes`: as of `SegmentFiles`. */
export async function writeSections(
  files: SegmentFiles,
  name: string,
  write: (writer: SectionWriter) => Promise<void>,
  expectedBytes?: number,
): Promise<FileIdentity> {
  const file = await files.create(name, expectedBytes);
  try {
    const writer = new SectionWriter(name, file);
    await write(writer);
    const crc = await writer.finish();
    await file.commit();
    return { name, crc };
  } catch (error) {
    await file.abort();
    throw error;
  }
}

/** One call at a time. */
export class SectionWriter {
  readonly #name: string;
  readonly #file: SegmentFileWriter;
  readonly #chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  readonly #sections: SectionEntry[] = [];
  readonly #features = new Set<string>();
  #filled = 0;
  /** Bytes of the file that have been written. */
  #position = 0;
  #open: OpenSection | null = null;

  constructor(name: string, file: SegmentFileWriter) {
    this.#name = name;
    this.#file = file;
  }

  /** A reader that does not know the feature must refuse the file. */
  needFeature(feature: string): void {
    this.#features.add(feature);
  }

  /** Begins a section that is read from front to back, or in long pieces. */
  async stream(name: string): Promise<void> {
    await this.#begin({ kind: "stream", name, checksums: [] });
  }

  /** Begins a section of rows of the same length, each of which can be read alone. */
  async rows(name: string, rowBytes: number): Promise<void> {
    if (rowBytes < 1 || rowBytes > MAX_ROW_BYTES)
      throw new SheafError("internal", `section ${name}: rows of ${rowBytes} bytes`);
    const place = Buffer.from(`${this.#name}/${name}`);
    await this.#begin({ kind: "rows", name, rowBytes, seed: crc32c(place), checksum: 0, row: 0 });
  }

  /** Continues the section; rows come whole. The bytes may change once it has resolved. */
  async write(bytes: Uint8Array): Promise<void> {
    const section = this.#open;
    if (section === null) throw new SheafError("internal", `${this.#name}: no section was begun`);
    if (section.kind === "rows") return this.#writeRows(section, bytes);
    for (let from = 0; from < bytes.length;) {
      const part = bytes.subarray(from, from + CHUNK_BYTES - this.#filled);
      this.#chunk.set(part, this.#filled);
      this.#filled += part.length;
      from += part.length;
      if (this.#filled === CHUNK_BYTES) await this.#flush(section);
    }
  }

  /** Ends the file; returns the checksum of its footer. */
  async finish(): Promise<number> {
    await this.#end();
    const footer = encodeFooter({ features: [...this.#features], sections: this.#sections });
    await this.#file.write(footer);
    return footer.readUInt32LE(footer.length - TRAILER_BYTES + 4);
  }

  async #begin(section: NewSection): Promise<void> {
    const bytes = Buffer.byteLength(section.name);
    if (bytes === 0 || bytes > MAX_SECTION_NAME_BYTES)
      throw new SheafError("internal", `${this.#name}: a section with a name of ${bytes} bytes`);
    if (this.#open?.name === section.name || this.#sections.some(({ name }) => name === section.name))
      throw new SheafError("internal", `${this.#name}: a second section ${section.name}`);
    await this.#end();
    const padding = aligned(this.#position) - this.#position;
    await this.#file.write(Buffer.alloc(padding));
    this.#position += padding;
    this.#open = { ...section, offset: this.#position };
  }

  async #writeRows(section: OpenRows, bytes: Uint8Array): Promise<void> {
    const { rowBytes, seed } = section;
    if (bytes.length % rowBytes !== 0)
      throw new SheafError("internal", `${this.#name}, section ${section.name}: part of a row`);
    for (let from = 0; from < bytes.length; from += rowBytes) {
      if (this.#filled + rowBytes + ROW_CHECKSUM_BYTES > CHUNK_BYTES) await this.#flush(section);
      const at = this.#filled;
      this.#chunk.set(bytes.subarray(from, from + rowBytes), at);
      const checksum = crc32c(this.#chunk, at, at + rowBytes) ^ rowMask(seed, section.row++);
      this.#filled = this.#chunk.writeInt32LE(checksum, at + rowBytes);
      section.checksum = crc32c(this.#chunk, at + rowBytes, this.#filled, section.checksum);
    }
  }

  async #flush(section: OpenSection): Promise<void> {
    if (this.#filled === 0) return;
    const chunk = this.#chunk.subarray(0, this.#filled);
    if (section.kind === "stream") section.checksums.push(crc32c(chunk));
    this.#filled = 0;
    await this.#file.write(chunk);
    this.#position += chunk.length;
  }

  async #end(): Promise<void> {
    const section = this.#open;
    if (section === null) return;
    await this.#flush(section);
    this.#open = null;
    const { name, offset } = section;
    const place = { name, offset, length: this.#position - offset };
    if (section.kind === "stream")
      this.#sections.push({ kind: "stream", ...place, checksums: Uint32Array.from(section.checksums) });
    else {
      const { rowBytes, seed, checksum } = section;
      this.#sections.push({ kind: "rows", ...place, rowBytes, seed, checksum });
    }
  }
}

interface NewStream {
  readonly kind: "stream";
  readonly name: string;
  readonly checksums: number[];
}

interface NewRows {
  readonly kind: "rows";
  readonly name: string;
  readonly rowBytes: number;
  readonly seed: number;
  checksum: number;
  /** Rows so far. */
  row: number;
}

type NewSection = NewStream | NewRows;
type OpenRows = NewRows & { readonly offset: number };
type OpenSection = NewSection & { readonly offset: number };
