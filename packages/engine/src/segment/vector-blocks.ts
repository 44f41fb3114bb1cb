/**
 * Shared memory for the vectors of segments. A block that comes back serves the next segment: V8 counts no shared
 * memory, so what is left to it stays long after the last reference is gone.
 */
export class VectorBlocks {
  readonly dimension: number;
  /** Room for the vector of a row until that is in its block: memory for each would have to be collected. */
  readonly one: Float32Array;
  #spare: Float32Array | null = null;
  #readers = 0;

  constructor(dimension: number) {
    this.dimension = dimension;
    this.one = new Float32Array(dimension);
  }

  /** Room for so many vectors, with anything in it. */
  take(rows: number): Float32Array {
    const length = rows * this.dimension;
    const spare = this.#spare;
    if (spare?.length === length) {
      this.#spare = null;
      return spare;
    }
    const bytes = length * Float32Array.BYTES_PER_ELEMENT;
    return new Float32Array(new SharedArrayBuffer(bytes));
  }

  /** Nobody but readers under way looks at the block any more. */
  give(block: Float32Array): void {
    if (this.#readers === 0) this.#spare = block;
  }

  /** Blocks that are given back while `read` is under way are not used again. */
  async reading<T>(read: () => Promise<T>): Promise<T> {
    this.#readers++;
    try {
      return await read();
    } finally {
      this.#readers--;
    }
  }
}
