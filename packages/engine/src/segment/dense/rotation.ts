/** The random rotation of an index: the same for every index of a size, so segments can be merged and rebuilt. */
import { blockBytes } from "../../kernels/argument-block.ts";
import { ROTATE } from "../../kernels/argument-layouts.generated.ts";
import { type KernelMemory, allocationBytes } from "../../kernels/kernel-memory.ts";

const ROUNDS = 4;
const SEED = 0x5eaf;

/** Elements of a rotated vector: at least 64, so that few dimensions still get codes worth comparing. */
export function rotatedSize(dimension: number): number {
  return Math.ceil(dimension / 64) * 64;
}

/** Bytes of memory that a `Rotation` takes. */
export function rotationBytes(size: number): number {
  return allocationBytes(blockBytes(ROTATE)) + allocationBytes(size * 4) + allocationBytes(size * 4 * ROUNDS);
}

export class Rotation {
  /** `size` elements: what `run` rotates. Elements past the dimension must be zero. */
  readonly vector: Float32Array;
  /** Byte address of the vector. */
  readonly address: number;
  /** Of the arguments of the kernel. */
  readonly pointer: number;
  readonly #memory: KernelMemory;

  constructor(memory: KernelMemory, size: number) {
    const block = memory.block(ROTATE);
    const vector = memory.allocate(size * 4);
    const signs = memory.allocate(size * 4 * ROUNDS);
    const window = 2 ** Math.floor(Math.log2(size));
    block.vector = vector;
    block.size = size;
    block.window = window;
    block.signs = signs;
    this.vector = memory.f32(vector, size);
    this.address = vector;
    this.#memory = memory;
    this.pointer = block.pointer;
    fillSigns(memory.f32(signs, size * ROUNDS), size, window);
  }

  run(): void {
    this.#memory.kernels.rotate(this.pointer);
  }
}

/** Random signs with the scaling that makes each round keep lengths: see `assembly/rotate.ts`. */
function fillSigns(signs: Float32Array, size: number, window: number): void {
  const mixed = window === size ? 1 : Math.SQRT1_2;
  let state = SEED;
  for (let round = 0; round < ROUNDS; round++) {
    const first = round & 1 ? size - window : 0;
    for (let i = 0; i < size; i++) {
      // xorshift32
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      const transformed = i >= first && i < first + window;
      signs[round * size + i] = (state & 0x10000 ? 1 : -1) * mixed * (transformed ? window ** -0.5 : 1);
    }
  }
}
