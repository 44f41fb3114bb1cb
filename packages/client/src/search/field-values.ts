/** Numbers and times of the metadata as leaves of rank expressions. */
import { type MembersOf, requireKnown } from "../require-known.ts";
import { type KeyInput, keyName } from "./key.ts";
import { RankExpression } from "./rank.ts";

export interface FieldValueParams {
  /** A field of the metadata; a number counts as it is, a boolean as 0 or 1. */
  readonly key: KeyInput;
  /** Score of records that have none there and that another leaf has found. Without it they drop out. */
  readonly default?: number | undefined;
}

export interface AgeParams {
  /** A field of the metadata that is a time, in seconds since 1970. */
  readonly key: KeyInput;
  readonly halfLifeSeconds: number;
  /** The time from which ages count; that of the call if omitted. */
  readonly now?: Date | undefined;
  /** Score of records that have no time there. Without it they drop out. */
  readonly default?: number | undefined;
}

const FIELD_VALUE: MembersOf<FieldValueParams> = { key: true, default: true };
const AGE: MembersOf<AgeParams> = { key: true, halfLifeSeconds: true, now: true, default: true };

/**
 * The number that a record has in a field. Lower scores are better: what should come first because it is large is
 * multiplied by a negative number.
 *
 * @example
 * knn({ query: "boats" }).subtract(fieldValue({ key: "rating", default: 0 }).multiply(0.1))
 */
export function fieldValue(params: FieldValueParams): RankExpression {
  const { key, default: missing } = requireKnown(params, FIELD_VALUE, "params");
  const name = keyName(key, "params.key");
  return RankExpression.leaf(() => ({ $key: { key: name, ...given(missing) } }));
}

/**
 * How many half-lives ago a time of a record is: 0 for what is new or to come, 1 after one half-life.
 *
 * @example
 * age({ key: "created", halfLifeSeconds: 86_400 }).multiply(-Math.LN2).exp() // 1 for new, a half after a day
 */
export function age(params: AgeParams): RankExpression {
  const { key, halfLifeSeconds, now, default: missing } = requireKnown(params, AGE, "params");
  const name = keyName(key, "params.key");
  if (!(halfLifeSeconds > 0)) throw new TypeError("params.halfLifeSeconds: must be a number over 0");
  const at = now === undefined ? {} : { now: now.getTime() / 1000 };
  return RankExpression.leaf(() => ({
    $age: { key: name, half_life: halfLifeSeconds, ...at, ...given(missing) },
  }));
}

function given(missing: number | undefined): { readonly default?: number } {
  return missing === undefined ? {} : { default: missing };
}
