/**
 * Where replies lie that are too long for memory, until they are sent. A file has no name from the moment that it is
 * open, so it is gone when its reply is, however that ends. The server empties the folder when it starts.
 */
import { randomUUID } from "node:crypto";
import { type FileHandle, mkdir, open, statfs, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { DiskReserve } from "@sheaf/engine";
import { SheafError } from "@sheaf/protocol";

export interface SpoolFolderOptions {
  readonly path: string;
  /** What is kept free on its disk for what stays there. Replies go again soon, and may take half of it. */
  readonly diskReserve: DiskReserve;
}

const PRIVATE_FOLDER = 0o700;
const PRIVATE_FILE = 0o600;

export class SpoolFolder {
  readonly #options: SpoolFolderOptions;

  constructor(options: SpoolFolderOptions) {
    this.#options = options;
  }

  /** A new file for one reply. Throws 503 where none can be made. */
  open(): Promise<FileHandle> {
    return this.guard(async () => {
      const { path } = this.#options;
      await mkdir(path, { recursive: true, mode: PRIVATE_FOLDER });
      const name = join(path, randomUUID());
      const file = await open(name, "wx+", PRIVATE_FILE);
      try {
        await unlink(name);
      } catch (error) {
        await file.close();
        throw error;
      }
      return file;
    });
  }

  /** Throws 503 unless so many more bytes fit beside half of the reserve. */
  async require(bytes: number): Promise<void> {
    const { path, diskReserve } = this.#options;
    const { bavail, bsize, blocks } = await this.guard(() => statfs(path));
    const reserve =
      typeof diskReserve === "number" ? diskReserve : (Number.parseFloat(diskReserve) / 100) * blocks * bsize;
    if (bavail * bsize < reserve / 2 + bytes) throw noRoom();
  }

  /** Runs what touches files here; a disk that is full or fails is no fault of the request. */
  async guard<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw error instanceof SheafError ? error : noRoom(error);
    }
  }
}

function noRoom(cause?: unknown): SheafError {
  return new SheafError("unavailable", "the disk has no room for a reply of this size now; try again later", {
    cause,
    retryAfterSeconds: 5,
  });
}
