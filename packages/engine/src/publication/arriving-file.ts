/** A file that is read in the object store until it is on this disk. */
import type { ReadOptions, SegmentFile } from "../storage/files/segment-files.ts";

export class ArrivingFile implements SegmentFile {
  readonly name: string;
  readonly size: number;
  #file: SegmentFile;
  #isClosed = false;

  /** @param file Closed with this. */
  constructor(file: SegmentFile) {
    this.name = file.name;
    this.size = file.size;
    this.#file = file;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get isLocal(): boolean {
    return this.#file.isLocal;
  }

  tryRead(into: Uint8Array, position: number): boolean {
    return this.#file.tryRead(into, position);
  }

  read(into: Uint8Array, position: number, options?: ReadOptions): Promise<void> {
    return this.#file.read(into, position, options);
  }

  /** From now on this one, with the same bytes, is read; reads under way end first. */
  async arrived(file: SegmentFile): Promise<void> {
    const former = this.#file;
    if (this.#isClosed) return file.close();
    this.#file = file;
    await former.close();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#file.close();
  }
}
