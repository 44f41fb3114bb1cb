/** One buffer seen as every kind of number that the plain kernels read and write. Addresses are in bytes. */

export interface Views {
  readonly u8: Uint8Array;
  readonly u16: Uint16Array;
  readonly u32: Uint32Array;
  readonly f32: Float32Array;
}
