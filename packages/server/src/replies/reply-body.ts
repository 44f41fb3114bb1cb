/** A reply of known length that is sent from memory and a file, as fast as its receiver reads it. */
import type { FileHandle } from "node:fs/promises";
import { Readable } from "node:stream";
import type { CancelSignal } from "@sheaf/protocol";

/** Bytes in memory, or where bytes lie in the file. */
export type ReplyPart = Buffer | { readonly position: number; readonly length: number };

export interface ReplyBodyOptions {
  readonly parts: readonly ReplyPart[];
  readonly byteLength: number;
  readonly file: FileHandle | null;
  /** Called once, when all is handed over or the reply is given up. */
  readonly onClose: () => void;
}

/** What is read, and written to the socket, at once: little enough to see how fast a slow receiver is. */
const CHUNK_BYTES = 64 * 1024;

export class ReplyBody extends Readable {
  readonly byteLength: number;
  readonly #parts: readonly ReplyPart[];
  readonly #file: FileHandle | null;
  readonly #onClose: () => void;
  #part = 0;
  /** Bytes of the current part that are handed over. */
  #at = 0;
  #reading: Promise<unknown> = Promise.resolve();

  constructor({ parts, byteLength, file, onClose }: ReplyBodyOptions) {
    super({ highWaterMark: CHUNK_BYTES });
    this.byteLength = byteLength;
    this.#parts = parts;
    this.#file = file;
    this.#onClose = onClose;
  }

  /** Ends with the signal, whether somebody has begun to send it or not. */
  endWith(signal: CancelSignal): void {
    const end = (): void => void this.destroy();
    signal.addEventListener("abort", end, { once: true });
    this.once("close", () => signal.removeEventListener("abort", end));
  }

  override _read(): void {
    const part = this.#parts[this.#part];
    if (part === undefined) {
      this.push(null);
      return;
    }
    const from = this.#at;
    const length = Math.min(part.length - from, CHUNK_BYTES);
    this.#at += length;
    if (this.#at === part.length) {
      this.#part++;
      this.#at = 0;
    }
    if (Buffer.isBuffer(part)) this.push(part.subarray(from, from + length));
    else this.#reading = this.#readFile(part.position + from, length);
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    const close = async (): Promise<void> => {
      // A descriptor that is closed under a read may be another file by then.
      await this.#reading;
      await this.#file?.close();
    };
    close()
      .catch(() => undefined)
      .finally(() => {
        this.#onClose();
        callback(error);
      });
  }

  async #readFile(position: number, length: number): Promise<void> {
    const chunk = Buffer.allocUnsafe(length);
    try {
      for (let filled = 0; filled < length;) {
        const { bytesRead } = await this.#file!.read(chunk, filled, length - filled, position + filled);
        if (bytesRead === 0) throw new Error("a spooled reply is shorter than it was written");
        filled += bytesRead;
      }
      this.push(chunk);
    } catch (error) {
      this.destroy(error as Error);
    }
  }
}
