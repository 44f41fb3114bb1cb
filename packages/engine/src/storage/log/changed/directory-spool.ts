/**
 * Rows of the directory of a file of records until its records are written, which come before them: on the disk, where there is a
 * place for that.
 */
import { mkdir, open, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { isDiskFull, storageFull } from "../../folder/disk-space.ts";
import type { Scratch } from "./record-source.ts";

/** Read at once. */
const PIECE_BYTES = 1024 * 1024;
const NAME = "directory";

export class DirectorySpool {
  readonly #scratch: Scratch | undefined;
  #file: FileHandle | null = null;
  readonly #held: Uint8Array[] = [];
  #length = 0;

  constructor(scratch: Scratch | undefined) {
    this.#scratch = scratch;
  }

  async add(numbers: Float64Array<ArrayBuffer>): Promise<void> {
    const bytes = new Uint8Array(numbers.buffer);
    if (bytes.length === 0) return;
    if (this.#scratch === undefined) this.#held.push(bytes);
    else await this.#write(this.#scratch, bytes);
    this.#length += bytes.length;
  }

  async #write({ folder, disk }: Scratch, bytes: Uint8Array): Promise<void> {
    disk.require(bytes.length);
    try {
      await mkdir(folder, { recursive: true });
      this.#file ??= await open(join(folder, NAME), "wx+", 0o600);
      for (let at = 0; at < bytes.length;)
        at += (await this.#file.write(bytes, at, bytes.length - at, this.#length + at)).bytesWritten;
    } catch (error) {
      throw isDiskFull(error) ? storageFull("", error) : error;
    }
  }

  /** All of them, in their order. */
  async *read(): AsyncGenerator<Uint8Array> {
    yield* this.#held;
    if (this.#file === null) return;
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    for (let at = 0; at < this.#length;) {
      const { bytesRead } = await this.#file.read(piece, 0, Math.min(PIECE_BYTES, this.#length - at), at);
      if (bytesRead === 0) throw new Error(`the ${NAME} of the records ends after ${at} bytes`);
      yield piece.subarray(0, bytesRead);
      at += bytesRead;
    }
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = null;
  }
}
