/** Seeded choices: the same seed and number of a request give the same request on every machine. */
import { seededRandom } from "../../benchmarks/measure/random.ts";

/** Spreads neighbouring numbers over all seeds; the odd constant is that of Knuth's multiplicative hash. */
const SPREAD = 0x9e37_79b1;

export class Dice {
  readonly #random: () => number;

  constructor(seed: number, index = 0) {
    this.#random = seededRandom((seed ^ Math.imul(index + 1, SPREAD)) >>> 0);
  }

  /** True with a probability of `share`. */
  chance(share: number): boolean {
    return this.#random() < share;
  }

  /** An integer from 0 up to, but not including, `bound`. */
  below(bound: number): number {
    return Math.floor(this.#random() * bound);
  }

  pick<T>(choices: readonly T[]): T {
    if (choices.length === 0) throw new Error("nothing to pick from");
    return choices[this.below(choices.length)] as T;
  }

  /** A choice by its weight. */
  weighted<T>(choices: readonly (readonly [weight: number, choice: T])[]): T {
    let left = this.#random() * choices.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, choice] of choices) {
      left -= weight;
      if (left < 0) return choice;
    }
    throw new Error("nothing to pick from");
  }
}
