/** Groups of a search: how many records of each are kept, and which. */
import { isPlainObject, requireArray } from "../require-known.ts";
import { type KeyInput, keyName } from "./key.ts";

interface KeptJson {
  readonly keys: readonly string[];
  readonly k: number;
}

export type AggregateJson = { readonly $min_k: KeptJson } | { readonly $max_k: KeptJson };

export interface GroupByJson {
  readonly keys: readonly string[];
  readonly aggregate: AggregateJson;
}

export type AggregateInput = Aggregate | AggregateJson;
export type GroupByInput = GroupBy | GroupByJson;

/** Which records of a group are kept. Use `MinK` or `MaxK`. */
export abstract class Aggregate {
  readonly keys: readonly string[];
  readonly k: number;

  /** @param keys Fields of the metadata or `#score`, compared one after the other. */
  constructor(keys: readonly KeyInput[], k: number) {
    this.keys = namesOf(keys, "keys");
    if (!(Number.isInteger(k) && k > 0)) throw new TypeError("k: must be a positive integer");
    this.k = k;
  }

  static from(input: AggregateInput): Aggregate {
    if (input instanceof Aggregate) return input;
    if (isPlainObject(input) && "$min_k" in input) return new MinK(input.$min_k.keys, input.$min_k.k);
    if (isPlainObject(input) && "$max_k" in input) return new MaxK(input.$max_k.keys, input.$max_k.k);
    throw new TypeError("aggregate: must be a MinK or MaxK, or JSON with $min_k or $max_k");
  }

  static minK(keys: readonly KeyInput[], k: number): MinK {
    return new MinK(keys, k);
  }

  static maxK(keys: readonly KeyInput[], k: number): MaxK {
    return new MaxK(keys, k);
  }

  abstract toJSON(): AggregateJson;
}

/** The `k` smallest of each group. */
export class MinK extends Aggregate {
  toJSON(): AggregateJson {
    return { $min_k: { keys: this.keys, k: this.k } };
  }
}

/** The `k` largest of each group. */
export class MaxK extends Aggregate {
  toJSON(): AggregateJson {
    return { $max_k: { keys: this.keys, k: this.k } };
  }
}

/**
 * Records with equal values of `keys` form a group.
 *
 * @example
 * new GroupBy([K("topic")], new MinK([K.SCORE], 2)) // the two best of each topic
 */
export class GroupBy {
  readonly keys: readonly string[];
  readonly aggregate: Aggregate;

  constructor(keys: readonly KeyInput[], aggregate: AggregateInput) {
    this.keys = namesOf(keys, "keys");
    this.aggregate = Aggregate.from(aggregate);
  }

  /** Nothing for `null` and `undefined`. */
  static from(input: GroupByInput | null | undefined): GroupBy | undefined {
    if (input === null || input === undefined || input instanceof GroupBy) return input ?? undefined;
    if (!isPlainObject(input)) throw new TypeError("groupBy: must be a GroupBy or its JSON");
    return new GroupBy(input.keys, input.aggregate);
  }

  toJSON(): GroupByJson {
    return { keys: this.keys, aggregate: this.aggregate.toJSON() };
  }
}

function namesOf(keys: readonly KeyInput[], path: string): readonly string[] {
  const names = requireArray(keys, path).map((key, i) => keyName(key, `${path}[${i}]`));
  if (names.length === 0) throw new TypeError(`${path}: must not be empty`);
  return names;
}
