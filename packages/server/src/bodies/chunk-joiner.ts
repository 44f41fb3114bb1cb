/**
 * Joins the short chunks of a body. Each chunk is an object of some hundred bytes, so a sender of chunks of one byte would
 * take hundreds of times the memory of what it sends.
 */

/** So many are joined at once. */
const CHUNKS = 1_024;
/** Chunks that have so many bytes are joined sooner. */
const JOINED_BYTES = 32 * 1024;

export class ChunkJoiner {
  #chunks: Buffer[] = [];
  #bytes = 0;

  #areShort = false;

  /** There have been many that were short. */
  get areShort(): boolean {
    return this.#areShort;
  }

  /** What came since the last time; `null`: not yet. */
  add(chunk: Buffer): Buffer | null {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes >= JOINED_BYTES) return this.take();
    if (this.#chunks.length < CHUNKS) return null;
    this.#areShort = true;
    return this.take();
  }

  /** What is left. */
  take(): Buffer {
    const [first] = this.#chunks;
    const joined = first !== undefined && this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.#bytes = 0;
    return joined;
  }
}
