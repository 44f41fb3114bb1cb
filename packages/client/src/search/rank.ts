/**
 * Rank expressions: what scores a record. Numbers, nearest-neighbour queries and the arithmetic between them, to the same
 * JSON as in Chroma's clients.
 */
import { isPlainObject } from "../require-known.ts";

export interface SparseVectorJson {
  readonly indices: readonly number[];
  readonly values: readonly number[];
}

/** As it is sent. */
export interface KnnJson {
  readonly query: string | readonly number[] | SparseVectorJson;
  readonly key?: string;
  readonly limit?: number;
  readonly default?: number;
  readonly return_rank?: boolean;
  readonly exact?: boolean;
}

/** A number of the metadata, as it is sent. */
export interface FieldJson {
  readonly key: string;
  readonly default?: number;
}

/** A time of the metadata, as it is sent; all in seconds. */
export interface AgeJson extends FieldJson {
  readonly half_life: number;
  readonly now?: number;
}

export type RankJson =
  | { readonly $val: number }
  | { readonly $key: FieldJson }
  | { readonly $age: AgeJson }
  | { readonly $knn: KnnJson }
  | { readonly $sum: readonly RankJson[] }
  | { readonly $mul: readonly RankJson[] }
  | { readonly $max: readonly RankJson[] }
  | { readonly $min: readonly RankJson[] }
  | { readonly $sub: { readonly left: RankJson; readonly right: RankJson } }
  | { readonly $div: { readonly left: RankJson; readonly right: RankJson } }
  | { readonly $abs: RankJson }
  | { readonly $exp: RankJson }
  | { readonly $log: RankJson };

/** JSON is taken as it is. */
export type RankInput = RankExpression | RankJson | number;

type ManyOperator = "$sum" | "$mul" | "$max" | "$min";
/** The JSON for a search whose page ends at record `pageEnd`; 0 where none is known. */
type MakeJson = (pageEnd: number) => RankJson;

/**
 * What scores a record. Numbers beside it are constants; JSON beside it is taken as it is.
 *
 * @example
 * knn({ query: "boats" }).multiply(0.7).add(knn({ query: "boats", key: "bm25", default: 1 }).multiply(0.3))
 */
export class RankExpression {
  readonly #json: MakeJson;
  /** Operands that an operator of the same kind takes over, so that `a.add(b).add(c)` is one `$sum`. */
  readonly #many: { readonly operator: ManyOperator; readonly operands: readonly RankExpression[] } | null;

  private constructor(json: MakeJson, operator?: ManyOperator, operands: readonly RankExpression[] = []) {
    this.#json = json;
    this.#many = operator === undefined ? null : { operator, operands };
  }

  /** Nothing for `null` and `undefined`. */
  static from(input: RankInput | null | undefined): RankExpression | undefined {
    if (input === null || input === undefined) return undefined;
    return rankOf(input, "rank");
  }

  /** @internal For builders of leaves. */
  static leaf(json: MakeJson): RankExpression {
    return new RankExpression(json);
  }

  /** @internal For operators of any number of operands; one alone is left as it is. */
  static many(operator: ManyOperator, inputs: readonly RankInput[]): RankExpression {
    const operands = inputs
      .map((input, i) => rankOf(input, `${operator}[${i}]`))
      .flatMap((rank) => (rank.#many?.operator === operator ? rank.#many.operands : [rank]));
    const [only] = operands;
    if (only === undefined) throw new TypeError(`${operator}: needs at least one rank expression`);
    if (operands.length === 1) return only;
    const json: MakeJson = (pageEnd) =>
      ({ [operator]: operands.map((operand) => operand.#json(pageEnd)) }) as unknown as RankJson;
    return new RankExpression(json, operator, operands);
  }

  /** @internal The JSON for one search; queries that were given no limit of their own find what its page needs. */
  static jsonFor(input: RankInput, pageEnd: number): RankJson {
    return rankOf(input, "rank").#json(pageEnd);
  }

  add(...others: readonly RankInput[]): RankExpression {
    return RankExpression.many("$sum", [this, ...others]);
  }

  subtract(other: RankInput): RankExpression {
    return this.#pair("$sub", other);
  }

  multiply(...others: readonly RankInput[]): RankExpression {
    return RankExpression.many("$mul", [this, ...others]);
  }

  divide(other: RankInput): RankExpression {
    return this.#pair("$div", other);
  }

  /** The larger of both. */
  max(...others: readonly RankInput[]): RankExpression {
    return RankExpression.many("$max", [this, ...others]);
  }

  /** The smaller of both. */
  min(...others: readonly RankInput[]): RankExpression {
    return RankExpression.many("$min", [this, ...others]);
  }

  negate(): RankExpression {
    return this.multiply(-1);
  }

  abs(): RankExpression {
    return this.#single("$abs");
  }

  /** e to the power of this. */
  exp(): RankExpression {
    return this.#single("$exp");
  }

  /** The natural logarithm of this. */
  log(): RankExpression {
    return this.#single("$log");
  }

  toJSON(): RankJson {
    return this.#json(0);
  }

  #pair(operator: "$sub" | "$div", other: RankInput): RankExpression {
    const right = rankOf(other, `${operator}.right`);
    return new RankExpression(
      (pageEnd) =>
        ({ [operator]: { left: this.#json(pageEnd), right: right.#json(pageEnd) } }) as unknown as RankJson,
    );
  }

  #single(operator: "$abs" | "$exp" | "$log"): RankExpression {
    return new RankExpression((pageEnd) => ({ [operator]: this.#json(pageEnd) }) as unknown as RankJson);
  }
}

/** A constant. It has a value for every record, and finds none by itself. */
export function Val(value: number): RankExpression {
  if (!Number.isFinite(value)) throw new TypeError("Val: must be a finite number");
  return RankExpression.leaf(() => ({ $val: value }));
}

export function Sum(...ranks: readonly RankInput[]): RankExpression {
  return RankExpression.many("$sum", ranks);
}

export function Mul(...ranks: readonly RankInput[]): RankExpression {
  return RankExpression.many("$mul", ranks);
}

export function Max(...ranks: readonly RankInput[]): RankExpression {
  return RankExpression.many("$max", ranks);
}

export function Min(...ranks: readonly RankInput[]): RankExpression {
  return RankExpression.many("$min", ranks);
}

export function Sub(left: RankInput, right: RankInput): RankExpression {
  return rankOf(left, "Sub left").subtract(right);
}

export function Div(left: RankInput, right: RankInput): RankExpression {
  return rankOf(left, "Div left").divide(right);
}

export function Abs(rank: RankInput): RankExpression {
  return rankOf(rank, "Abs").abs();
}

export function Exp(rank: RankInput): RankExpression {
  return rankOf(rank, "Exp").exp();
}

export function Log(rank: RankInput): RankExpression {
  return rankOf(rank, "Log").log();
}

/** @throws TypeError for what is no rank expression. */
export function rankOf(input: RankInput, path: string): RankExpression {
  if (input instanceof RankExpression) return input;
  if (typeof input === "number") return Val(input);
  if (!isPlainObject(input)) throw new TypeError(`${path}: must be a rank expression, its JSON or a number`);
  return RankExpression.leaf(() => input);
}
