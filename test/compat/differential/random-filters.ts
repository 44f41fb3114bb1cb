/** Filters at random, and now and then something that is none. */
import { type Json, JsonFloat } from "@sheaf/protocol";
import type { Dice } from "../../fuzz/dice.ts";
import { KEYS, WORDS, randomScalar } from "./random-values.ts";

const MAX_DEPTH = 2;
const REGEXES = ["r.d", "^sand", "(?i)blue", "[0-9]+%", "x1$", "sand|rock", "a_b", "(", "\\bred\\b"];

export function randomWhere(dice: Dice, depth = 0): Json {
  if (dice.chance(0.03))
    return dice.pick<Json>([{}, { a: 1, b: 2 }, { a: { $gt: "x" } }, { a: { $in: [] } }, { a: null }]);
  if (depth < MAX_DEPTH && dice.chance(0.25))
    return { [dice.pick(["$and", "$or"])]: branches(dice, () => randomWhere(dice, depth + 1)) };
  if (dice.chance(0.1)) return { "#document": randomWhereDocument(dice, MAX_DEPTH) };
  return { [dice.pick(KEYS)]: condition(dice) };
}

export function randomWhereDocument(dice: Dice, depth = 0): Json {
  if (depth < MAX_DEPTH && dice.chance(0.25)) {
    return { [dice.pick(["$and", "$or"])]: branches(dice, () => randomWhereDocument(dice, depth + 1)) };
  }
  const isRegex = dice.chance(0.3);
  const operator = isRegex ? dice.pick(["$regex", "$not_regex"]) : dice.pick(["$contains", "$not_contains"]);
  return { [operator]: isRegex ? dice.pick(REGEXES) : dice.pick([...WORDS, "ed", "red Blue", "", "zzz"]) };
}

function condition(dice: Dice): Json {
  const operator = dice.pick([
    "$eq",
    "$ne",
    "$gt",
    "$gte",
    "$lt",
    "$lte",
    "$in",
    "$nin",
    "$contains",
    "$not_contains",
    "",
  ]);
  if (operator === "") return randomScalar(dice);
  if (operator === "$in" || operator === "$nin") return { [operator]: list(dice) };
  if (/^\$[gl]te?$/u.test(operator)) return { [operator]: dice.pick<Json>([0, 1, 2, 1.5, new JsonFloat(2)]) };
  return { [operator]: randomScalar(dice) };
}

function list(dice: Dice): Json {
  const kinds: readonly (() => Json)[] = [
    () => dice.below(4),
    () => new JsonFloat(dice.below(4)),
    () => dice.pick(WORDS),
    () => dice.chance(0.5),
  ];
  const make = dice.pick(kinds);
  return Array.from({ length: 1 + dice.below(3) }, make);
}

function branches(dice: Dice, make: () => Json): readonly Json[] {
  return Array.from({ length: dice.chance(0.05) ? 0 : 1 + dice.below(3) }, make);
}
