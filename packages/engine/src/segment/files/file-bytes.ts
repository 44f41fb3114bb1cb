/** The bytes of a column's values in a file. Few at a time are read and forgotten; all of them are kept for a while. */
import type { SegmentMemory } from "../../storage/files/index-memory.ts";
import { LazyPart } from "../../storage/files/lazy-part.ts";
import type { PagedSection } from "../../storage/files/paged-section.ts";
import type { ReadOptions } from "../../storage/files/segment-files.ts";
import type { ValueBytes } from "../columns/value-bytes.ts";
import { pagedSource } from "./paged-source.ts";

/** As many are read at once. */
const SMALL_BYTES = 16 * 1024;

export class FileBytes implements ValueBytes {
  readonly length: number;
  readonly #section: PagedSection;
  readonly #start: number;
  readonly #whole: LazyPart<Buffer>;

  constructor(section: PagedSection, [start, end]: readonly [number, number], memory: SegmentMemory) {
    this.length = end - start;
    this.#section = section;
    this.#start = start;
    this.#whole = new LazyPart(
      memory,
      pagedSource(section, [start, end], (bytes) => bytes),
    );
  }

  /** What the first look at any of them reads; 0: not all of them. */
  get smallBytes(): number {
    return this.length <= SMALL_BYTES ? this.length : 0;
  }

  preload(): void {
    if (this.smallBytes > 0) this.#whole.get();
  }

  read(start: number, end: number): Buffer {
    const isWhole = this.#whole.isLoaded || this.length <= SMALL_BYTES;
    const few = isWhole ? null : this.#section.tryRead(this.#start + start, this.#start + end);
    return few ?? this.#whole.get().subarray(start, end);
  }

  whole(): Buffer {
    return this.#whole.get();
  }

  async prepare(options: ReadOptions): Promise<void> {
    await this.#whole.prepare(options);
  }
}
