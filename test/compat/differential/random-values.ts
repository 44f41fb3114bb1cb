/** Values that metadata, documents and filters share, so that filters find something. */
import { type Json, JsonFloat } from "@sheaf/protocol";
import type { Dice } from "../../fuzz/dice.ts";

export const WORDS = ["red", "Blue", "sand", "rock", "river", "x1", "50%", "a_b"] as const;
export const KEYS = ["a", "b", "c"] as const;

export function randomScalar(dice: Dice): Json {
  return dice.weighted<() => Json>([
    [4, () => dice.below(5) - 1],
    [2, () => dice.below(4) + 0.5],
    [2, () => new JsonFloat(dice.below(4))],
    [4, () => dice.pick(WORDS)],
    [2, () => dice.chance(0.5)],
    [1, () => dice.pick(["", "1", "2.0", "true"])],
    [1, () => 9_007_199_254_740_991],
  ])();
}
