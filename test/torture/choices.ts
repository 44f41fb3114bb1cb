/** Seeded choices. Every part of a run draws from a stream of its own, so that one part cannot disturb another's. */
import { seededRandom } from "../../benchmarks/measure/random.ts";

export class Choices {
  readonly #random: () => number;

  constructor(seed: number, stream: string) {
    this.#random = seededRandom(hashText(`${seed}/${stream}`));
  }

  /** In [0, 1). */
  unit(): number {
    return this.#random();
  }

  /** A whole number in [0, end). */
  below(end: number): number {
    return Math.floor(this.#random() * end);
  }

  chance(probability: number): boolean {
    return this.#random() < probability;
  }

  one<T>(list: readonly T[]): T {
    const item = list[this.below(list.length)];
    if (item === undefined) throw new Error("there is nothing to choose from");
    return item;
  }

  /** `count` different ones, or all there are. */
  some<T>(list: readonly T[], count: number): T[] {
    const left = [...list];
    return Array.from({ length: Math.min(count, left.length) }, () =>
      left.splice(this.below(left.length), 1),
    ).flat(1);
  }

  weighted<T extends string>(weights: Readonly<Record<T, number>>): T {
    const entries = Object.entries<number>(weights) as [T, number][];
    let left = this.#random() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [name, weight] of entries) {
      left -= weight;
      if (left < 0) return name;
    }
    return this.one(entries)[0];
  }
}

/** FNV-1a, 32 bits. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}
