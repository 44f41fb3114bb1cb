/** Bytes of the values of a column: in a file, mostly only those are read whose hashes are those that are looked for. */

export interface ValueBytes {
  readonly length: number;
  read(start: number, end: number): Buffer;
  /** All of them. */
  whole(): Buffer;
}

export class MemoryBytes implements ValueBytes {
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get length(): number {
    return this.#bytes.length;
  }

  read(start: number, end: number): Buffer {
    return this.#bytes.subarray(start, end);
  }

  whole(): Buffer {
    return this.#bytes;
  }
}
