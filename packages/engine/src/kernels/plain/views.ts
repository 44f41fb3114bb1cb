/** One buffer seen as every kind of number that the plain kernels read and write. Addresses are in bytes. */

export interface Views {
  readonly u8: Uint8Array;
  readonly u16: Uint16Array;
  readonly u32: Uint32Array;
  readonly f32: Float32Array;
}

/** An argument block: reads its fields by their index. */
export class Arguments {
  readonly #views: Views;
  readonly #word: number;

  constructor(views: Views, pointer: number) {
    this.#views = views;
    this.#word = pointer >>> 2;
  }

  u32(field: number): number {
    return this.#views.u32[this.#word + field]!;
  }

  f32(field: number): number {
    return this.#views.f32[this.#word + field]!;
  }

  setU32(field: number, value: number): void {
    this.#views.u32[this.#word + field] = value;
  }

  setF32(field: number, value: number): void {
    this.#views.f32[this.#word + field] = value;
  }
}
