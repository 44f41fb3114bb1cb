/** Plain twin of `assembly/rotate.ts`: four rounds of signs, Hadamard transform and mixed halves. */
import { blockAt } from "../argument-block.ts";
import { ROTATE } from "../argument-layouts.generated.ts";
import type { Views } from "./views.ts";

export function rotate(views: Views, pointer: number): void {
  const args = blockAt(ROTATE, views, pointer);
  const size = args.size;
  const window = args.window;
  const start = args.vector >>> 2;
  const signs = args.signs >>> 2;
  const vector = views.f32.subarray(start, start + size);
  for (let round = 0; round < 4; round++) {
    for (let i = 0; i < size; i++) vector[i]! *= views.f32[signs + round * size + i]!;
    const first = round & 1 ? size - window : 0;
    for (let half = 1; half < window; half *= 2) mixHalves(vector.subarray(first, first + window), half);
    if (window !== size) mixHalves(vector, size / 2);
  }
}

/** In groups of twice `half`: sums to the first half, differences to the second. */
function mixHalves(vector: Float32Array, half: number): void {
  for (let group = 0; group < vector.length; group += half * 2) {
    for (let i = group; i < group + half; i++) {
      const x = vector[i]!;
      const y = vector[i + half]!;
      vector[i] = x + y;
      vector[i + half] = x - y;
    }
  }
}
