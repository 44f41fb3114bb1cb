/** Files in memory that remember which of their bytes were read. */
import { MemoryFiles } from "../../../storage/files/memory-files.ts";
import { type ReadOptions, type SegmentFile, TAIL_BYTES } from "../../../storage/files/segment-files.ts";

export class RecordedFiles extends MemoryFiles {
  /** By file, 1 for each byte that was read but with the last ones at its opening, of which only the footer is used. */
  readonly read = new Map<string, Uint8Array>();

  override async open(name: string, options: ReadOptions = {}): Promise<SegmentFile | null> {
    const file = await super.open(name, options);
    if (file === null) return null;
    const read = this.read.get(name) ?? new Uint8Array(file.size);
    this.read.set(name, read);
    const note = (length: number, position: number): void => {
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
