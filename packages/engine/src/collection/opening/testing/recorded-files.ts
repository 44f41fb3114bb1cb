/** Files in memory that remember which of their bytes were read. */
import { MemoryFiles } from "../../../storage/files/memory-files.ts";
import { type ReadOptions, type SegmentFile, TAIL_BYTES } from "../../../storage/files/segment-files.ts";

export class RecordedFiles extends MemoryFiles {
  /** By file, 1 for each byte that was read but with the last ones at its opening, of which only the footer is used. */
  readonly read = new Map<string, Uint8Array>();
  /** By file, where each read began and ended. */
  readonly reads = new Map<string, (readonly [from: number, to: number])[]>();

  override async open(name: string, options: ReadOptions = {}): Promise<SegmentFile | null> {
    const file = await super.open(name, options);
    if (file === null) return null;
    const read = this.read.get(name) ?? new Uint8Array(file.size);
    this.read.set(name, read);
    const reads = this.reads.get(name) ?? [];
    this.reads.set(name, reads);
    const note = (length: number, position: number): void => {
      reads.push([position, position + length]);
      if (length !== Math.min(TAIL_BYTES, file.size) || position + length !== file.size)
        read.fill(1, position, position + length);
    };
    return {
      ...{ name, size: file.size, isLocal: true },
      tryRead: (into, position) => {
        note(into.length, position);
        return file.tryRead(into, position);
      },
      read: (into, position, given) => {
        note(into.length, position);
        return file.read(into, position, given);
      },
      close: () => file.close(),
    };
  }
}
