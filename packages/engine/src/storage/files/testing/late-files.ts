/**
 * Files that answer late, in any order, and fail on demand, as those of an object store do. Nothing is read at once
 * unless `isLocal` says so.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { throwIfAborted } from "@sheaf/protocol";
import type { ReadOptions, SegmentFile, SegmentFileWriter, SegmentFiles } from "../segment-files.ts";

export type LateOperation = "create" | "write" | "commit" | "open" | "list" | "remove" | "read";

export interface LateOptions {
  /** What an operation fails with; `null`: it succeeds. Asked when its turn has come. */
  readonly failure?: (operation: LateOperation, name: string) => Error | null;
  readonly isLocal?: (name: string, position: number) => boolean;
  /** Turns of the event loop until an answer. */
  readonly turns?: () => number;
}

export class LateFiles implements SegmentFiles {
  readonly #files: SegmentFiles;
  readonly #options: LateOptions;

  constructor(files: SegmentFiles, options: LateOptions = {}) {
    this.#files = files;
    this.#options = options;
  }

  async create(name: string): Promise<SegmentFileWriter> {
    await this.#pass("create", name);
    const writer = await this.#files.create(name);
    return {
      write: async (bytes) => {
        await this.#pass("write", name);
        await writer.write(bytes);
      },
      commit: async () => {
        await this.#pass("commit", name);
        await writer.commit();
      },
      abort: () => writer.abort(),
    };
  }

  async open(name: string, options: ReadOptions = {}): Promise<SegmentFile | null> {
    await this.#pass("open", name, options);
    const file = await this.#files.open(name, options);
    return file && this.#late(file);
  }

  async list(): Promise<readonly string[]> {
    await this.#pass("list", "");
    return this.#files.list();
  }

  async remove(name: string): Promise<void> {
    await this.#pass("remove", name);
    await this.#files.remove(name);
  }

  close(): Promise<void> {
    return this.#files.close();
  }

  async quarantine(name: string): Promise<void> {
    await this.#pass("remove", name);
    await this.#files.quarantine(name);
  }

  isQuarantined(name: string): Promise<boolean> {
    return this.#files.isQuarantined(name);
  }

  async removeUnfinished(): Promise<void> {
    await this.#files.removeUnfinished();
  }

  #late(file: SegmentFile): SegmentFile {
    const { name, size } = file;
    const reads = new Set<Promise<void>>();
    return {
      ...{ name, size, isLocal: false },
      tryRead: (into, position) =>
        this.#options.isLocal?.(name, position) === true && file.tryRead(into, position),
      read: (into, position, options) => {
        const read = this.#pass("read", name, options).then(() => file.read(into, position, options));
        reads.add(read);
        return read.finally(() => reads.delete(read));
      },
      close: async () => {
        await Promise.allSettled(reads);
        await file.close();
      },
    };
  }

  /** Waits, then fails where it shall. */
  async #pass(operation: LateOperation, name: string, { signal }: ReadOptions = {}): Promise<void> {
    for (let turns = this.#options.turns?.() ?? 2; turns > 0; turns--) await nextTurn();
    throwIfAborted(signal);
    const failure = this.#options.failure?.(operation, name) ?? null;
    if (failure !== null) throw failure;
  }
}
