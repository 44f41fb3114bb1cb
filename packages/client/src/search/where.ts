/** Filters: comparisons joined with `and` and `or`, to the same JSON as in Chroma's clients. */
import { isPlainObject } from "../require-known.ts";

export type WhereJson = Readonly<Record<string, unknown>>;
export type WhereInput = WhereExpression | WhereJson | null | undefined;

type Junction = "$and" | "$or";

const OPERATORS = new Set([
  ...["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin"],
  ...["$contains", "$not_contains", "$regex", "$not_regex"],
]);

/** Made with `K`, or with `WhereExpression.from` out of JSON. */
export class WhereExpression {
  readonly #json: WhereJson;
  /** Operands of an `$and` or `$or`, which another one of the same kind takes over. */
  readonly #junction: { readonly operator: Junction; readonly operands: readonly WhereExpression[] } | null;

  private constructor(json: WhereJson, operator?: Junction, operands: readonly WhereExpression[] = []) {
    this.#json = json;
    this.#junction = operator === undefined ? null : { operator, operands };
  }

  /** @internal Use `K(key)` with a method for the operator. */
  static compare(key: string, operator: string, value: unknown): WhereExpression {
    return new WhereExpression({ [key]: { [operator]: value } });
  }

  /** `{ year: 1998 }` is read as `{ year: { $eq: 1998 } }`. Nothing for `null` and `undefined`. */
  static from(input: WhereInput): WhereExpression | undefined {
    if (input instanceof WhereExpression) return input;
    if (input === null || input === undefined) return undefined;
    if (!isPlainObject(input)) throw new TypeError("where: must be an object or made with K");
    const [[key, value], ...others] = Object.entries(input) as [[string, unknown]];
    if (key === undefined || others.length > 0) throw new TypeError("where: needs exactly one key");
    return key === "$and" || key === "$or" ? junctionOf(key, value) : comparisonOf(key, value);
  }

  and(other: WhereInput): WhereExpression {
    return this.#join("$and", other);
  }

  or(other: WhereInput): WhereExpression {
    return this.#join("$or", other);
  }

  toJSON(): WhereJson {
    return this.#json;
  }

  #join(operator: Junction, other: WhereInput): WhereExpression {
    const added = WhereExpression.from(other);
    if (added === undefined) return this;
    const operands = [this, added].flatMap((side) =>
      side.#junction?.operator === operator ? side.#junction.operands : [side],
    );
    return new WhereExpression({ [operator]: operands.map((operand) => operand.#json) }, operator, operands);
  }
}

function junctionOf(operator: Junction, value: unknown): WhereExpression {
  if (!Array.isArray(value) || value.length === 0)
    throw new TypeError(`${operator}: must be a non-empty array`);
  const operands = value.map((item: WhereInput, i) => {
    const operand = WhereExpression.from(item);
    if (operand === undefined) throw new TypeError(`${operator}[${i}]: must be an object or made with K`);
    return operand;
  });
  return operands.reduce((all, operand) => (operator === "$and" ? all.and(operand) : all.or(operand)));
}

function comparisonOf(key: string, value: unknown): WhereExpression {
  if (!isPlainObject(value)) return WhereExpression.compare(key, "$eq", value);
  const [operator, ...others] = Object.keys(value);
  if (operator === undefined || others.length > 0) throw new TypeError(`${key}: needs exactly one operator`);
  if (!OPERATORS.has(operator)) throw new TypeError(`${key}.${operator}: unknown operator`);
  return WhereExpression.compare(key, operator, (value as WhereJson)[operator]);
}
