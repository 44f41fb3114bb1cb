/** Names of what a record holds, for filters, `select`, `groupBy` and `Knn`: fields of its metadata, and the built-in ones. */
import { WhereExpression } from "./where.ts";

/** A key with the operators of filters. The JSON is that of Chroma's clients. */
export class Key<N extends string = string> {
  static readonly ID = new Key("#id");
  static readonly DOCUMENT = new Key("#document");
  static readonly EMBEDDING = new Key("#embedding");
  static readonly METADATA = new Key("#metadata");
  static readonly SCORE = new Key("#score");

  readonly name: N;

  constructor(name: N) {
    this.name = name;
  }

  eq(value: unknown): WhereExpression {
    return this.#compare("$eq", value);
  }

  /** Also true of records without this key, as are `notIn`, `notContains` and `notRegex`. */
  ne(value: unknown): WhereExpression {
    return this.#compare("$ne", value);
  }

  gt(value: unknown): WhereExpression {
    return this.#compare("$gt", value);
  }

  gte(value: unknown): WhereExpression {
    return this.#compare("$gte", value);
  }

  lt(value: unknown): WhereExpression {
    return this.#compare("$lt", value);
  }

  lte(value: unknown): WhereExpression {
    return this.#compare("$lte", value);
  }

  isIn(values: Iterable<unknown>): WhereExpression {
    return this.#compare("$in", listOf(values, "$in"));
  }

  notIn(values: Iterable<unknown>): WhereExpression {
    return this.#compare("$nin", listOf(values, "$nin"));
  }

  /** A member of an array; of `K.DOCUMENT`: a substring of the document. */
  contains(value: string | number | boolean): WhereExpression {
    return this.#compare("$contains", this.#member(value, "contains"));
  }

  notContains(value: string | number | boolean): WhereExpression {
    return this.#compare("$not_contains", this.#member(value, "notContains"));
  }

  /** Of `K.DOCUMENT`: a regular expression in the syntax of Rust's `regex`, found anywhere. */
  regex(pattern: string): WhereExpression {
    return this.#compare("$regex", patternOf(pattern, "$regex"));
  }

  notRegex(pattern: string): WhereExpression {
    return this.#compare("$not_regex", patternOf(pattern, "$not_regex"));
  }

  #compare(operator: string, value: unknown): WhereExpression {
    return WhereExpression.compare(this.name, operator, value);
  }

  #member<T>(value: T, method: string): T {
    if (this.name === "#document" && typeof value !== "string") {
      throw new TypeError(`K.DOCUMENT.${method}: must be a string`);
    }
    return value;
  }
}

/** What stands for a key wherever one is taken. */
export type KeyInput<N extends string = string> = N | Key<N>;

/** The name that a `KeyInput` type stands for. */
export type KeyName<T> = T extends Key<infer N> ? N : T extends string ? T : never;

/**
 * `K("year")` is a field of the metadata; `K.ID`, `K.DOCUMENT`, `K.EMBEDDING`, `K.METADATA` and `K.SCORE` are built in.
 *
 * @example
 * K("year").gte(1990).and(K("topic").isIn(["sea", "food"])).or(K.DOCUMENT.contains("tide"))
 */
export const K = Object.assign(<const N extends string>(name: N): Key<N> => new Key(name), {
  ID: Key.ID,
  DOCUMENT: Key.DOCUMENT,
  EMBEDDING: Key.EMBEDDING,
  METADATA: Key.METADATA,
  SCORE: Key.SCORE,
});

/** @throws TypeError for what is neither a string nor a key. */
export function keyName(key: KeyInput, path: string): string {
  const name = key instanceof Key ? key.name : key;
  if (typeof name !== "string") throw new TypeError(`${path}: must be a string or a key made with K`);
  return name;
}

function listOf(values: Iterable<unknown>, operator: string): readonly unknown[] {
  const list = [...values];
  if (list.length === 0) throw new TypeError(`${operator}: needs at least one value`);
  return list;
}

function patternOf(pattern: string, operator: string): string {
  if (typeof pattern !== "string") throw new TypeError(`${operator}: must be a string`);
  return pattern;
}
