/** Memories with random contents, for kernels beside their plain twins. */
import type { Random } from "../../segment/dense/testing/data-sets.ts";
import { CANDIDATES } from "../argument-layouts.generated.ts";
import { type Kernels } from "../kernels.ts";
import { KernelMemory } from "../kernel-memory.ts";

/** Prepares two memories in the same way, runs the kernels on one and the twins on the other. */
export function sameBits(prepare: (memory: KernelMemory) => (kernels: Kernels) => void): boolean {
  const [wasm, plain] = (["wasm", "plain"] as const).map((kernels) => {
    const memory = new KernelMemory(1_400_000, { kernels });
    if (memory.kind !== kernels) throw new Error(`no ${kernels} kernels`);
    prepare(memory)(memory.kernels);
    memory.close();
    return Buffer.from(memory.buffer);
  });
  return wasm !== undefined && plain !== undefined && wasm.equals(plain);
}

export function fillFloats(memory: KernelMemory, length: number, next: () => number): number {
  const address = memory.allocate(length * 4);
  memory.f32(address, length).forEach((_, i, floats) => (floats[i] = next()));
  return address;
}

export function fillBytes(memory: KernelMemory, length: number, next: Random): number {
  const address = memory.allocate(length);
  memory.u8(address, length).forEach((_, i, bytes) => (bytes[i] = next() * 256));
  return address;
}

export function fillWords(memory: KernelMemory, length: number, next: () => number): number {
  const address = memory.allocate(length * 4);
  memory.u32(address, length).forEach((_, i, words) => (words[i] = next()));
  return address;
}

/** A candidate buffer: `keep` survive of `keep` + `room`. */
export function candidates(memory: KernelMemory, keep: number, room: number, threshold = -Infinity) {
  const best = memory.block(CANDIDATES);
  best.threshold = threshold;
  best.keep = keep;
  best.capacity = keep + room;
  best.ids = memory.allocate((keep + room) * 4);
  best.scores = memory.allocate((keep + room) * 4);
  return best;
}

export const gauss = (random: Random): number => (random() + random() + random() + random() - 2) * 1.7;
