/** Files in memory: for tests, and for what shall not outlive its process. */
import { SheafError, throwIfAborted } from "@sheaf/protocol";
import { SegmentDamaged } from "./segment-damaged.ts";
import {
  type ReadOptions,
  type SegmentFile,
  type SegmentFileWriter,
  type SegmentFiles,
  isFileName,
} from "./segment-files.ts";

export class MemoryFiles implements SegmentFiles {
  readonly #files: Map<string, Uint8Array>;
  readonly #quarantined = new Set<string>();

  /** @param files Where they are kept, by name. */
  constructor(files = new Map<string, Uint8Array>()) {
    this.#files = files;
  }

  async create(name: string): Promise<SegmentFileWriter> {
    if (!isFileName(name)) throw new SheafError("internal", `${name} is no name of an index file`);
    const parts: Uint8Array[] = [];
    return {
      write: async (bytes) => void parts.push(Uint8Array.from(bytes)),
      commit: async () => {
        if (this.#files.has(name))
          throw new SheafError("already_exists", `index file ${name} exists already`);
        this.#files.set(name, Buffer.concat(parts));
      },
      abort: async () => void parts.splice(0),
    };
  }

  async open(name: string, { signal }: ReadOptions = {}): Promise<SegmentFile | null> {
    throwIfAborted(signal);
    const bytes = this.#files.get(name);
    return bytes === undefined ? null : new MemoryFile(name, bytes);
  }

  async list(): Promise<readonly string[]> {
    return [...this.#files.keys()].toSorted();
  }

  async remove(name: string): Promise<void> {
    this.#files.delete(name);
  }

  async quarantine(name: string): Promise<void> {
    if (this.#files.delete(name)) this.#quarantined.add(name);
  }

  async isQuarantined(name: string): Promise<boolean> {
    return this.#quarantined.has(name);
  }

  async removeUnfinished(): Promise<void> {
    // What is not committed is its writer's alone.
  }

  async close(): Promise<void> {
    // Nothing is held.
  }
}

class MemoryFile implements SegmentFile {
  readonly name: string;
  readonly size: number;
  readonly isLocal = true;
  #bytes: Uint8Array | null;

  constructor(name: string, bytes: Uint8Array) {
    this.name = name;
    this.size = bytes.length;
    this.#bytes = bytes;
  }

  tryRead(into: Uint8Array, position: number): boolean {
    if (this.#bytes === null) throw new SheafError("internal", `index file ${this.name} is closed`);
    const end = position + into.length;
    if (end > this.size) throw new SegmentDamaged(this.name, null, `it ends before byte ${end}`);
    into.set(this.#bytes.subarray(position, end));
    return true;
  }

  async read(into: Uint8Array, position: number, { signal }: ReadOptions = {}): Promise<void> {
    throwIfAborted(signal);
    this.tryRead(into, position);
  }

  async close(): Promise<void> {
    this.#bytes = null;
  }
}
