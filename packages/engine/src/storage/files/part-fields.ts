/**
 * Arrays of numbers one after the other in bytes that were read from a file. Each says how many it takes, and a part that
 * does not have as many is damaged; nothing is copied.
 */

export class PartFields {
  readonly #bytes: Buffer;
  readonly #damaged: (reason: string) => Error;
  #at = 0;

  /** In a sound file the bytes begin at a multiple of 8, and no field is behind one with shorter elements but for `align`. */
  constructor(bytes: Uint8Array, damaged: (reason: string) => Error) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#damaged = damaged;
  }

  u16(count: number): Uint16Array {
    return new Uint16Array(this.#bytes.buffer, this.#take(2 * count, 2), count);
  }

  u32(count: number): Uint32Array {
    return new Uint32Array(this.#bytes.buffer, this.#take(4 * count, 4), count);
  }

  f32(count: number): Float32Array {
    return new Float32Array(this.#bytes.buffer, this.#take(4 * count, 4), count);
  }

  f64(count: number): Float64Array {
    return new Float64Array(this.#bytes.buffer, this.#take(8 * count, 8), count);
  }

  bytes(count: number): Buffer {
    const start = this.#take(count, 1) - this.#bytes.byteOffset;
    return this.#bytes.subarray(start, start + count);
  }

  /** All that is left. */
  rest(): Buffer {
    return this.bytes(this.#bytes.length - this.#at);
  }

  /** Places ascend and end with `last`. */
  requireAscending(places: ArrayLike<number>, last: number): void {
    let before = 0;
    for (let i = 0; i < places.length; i++) {
      if (!(places[i]! >= before)) throw this.fail("places do not ascend");
      before = places[i]!;
    }
    if (before !== last) throw this.fail(`places end at ${before} instead of ${last}`);
  }

  /** What is behind the last field only fills up to a multiple of 8. */
  end(): void {
    const left = this.#bytes.length - this.#at;
    if (left >= 8) throw this.fail(`it has ${left} bytes too many`);
  }

  fail(reason: string): Error {
    return this.#damaged(reason);
  }

  /** Where the field begins in the buffer, at a multiple of `alignment`: a place that is wrong may lead anywhere. */
  #take(bytes: number, alignment: number): number {
    const at = this.#at;
    if ((this.#bytes.byteOffset + at) % alignment !== 0) throw this.fail("a field begins at an odd place");
    if (at + bytes > this.#bytes.length) throw this.fail("it is too short for what it should have");
    this.#at = at + bytes;
    return this.#bytes.byteOffset + at;
  }
}
