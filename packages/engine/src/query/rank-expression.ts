/**
 * The arithmetic of a rank expression over a block of records, in f32. Every sub-expression is a support (the records
 * it has a value for) and perhaps a default; an operator needs a value from both sides and takes a side's default
 * where its support has none. `$sum`, `$mul`, `$max`, `$min` fold from the left, starting with a default alone.
 */
import type { BinaryOperator, NaryOperator, Rank, UnaryOperator } from "@sheaf/protocol";

export interface Operand {
  /** One per record of the block, outside the support the default if there is one; none where nothing is in it. */
  readonly values: Float32Array;
  /** 1 where the record is in the support; as many as there are values. */
  readonly present: Uint8Array;
  readonly default: number | null;
}

/** What a `$knn` leaf found among the records of a block. */
export type FoundByLeaf = Pick<Operand, "values" | "present">;

type Combination = NaryOperator | BinaryOperator;

const NO_SUPPORT = { values: new Float32Array(0), present: new Uint8Array(0) } as const;

const F32_MAX = (2 - 2 ** -23) * 2 ** 127;

/** What a fold begins with. */
const STARTS: Record<NaryOperator, number> = { $sum: 0, $mul: 1, $max: -F32_MAX, $min: F32_MAX };

const UNARY: Record<UnaryOperator, (value: number) => number> = {
  $abs: Math.abs,
  $exp: (value) => Math.fround(Math.exp(value)),
  $log: (value) => Math.fround(Math.log(value)),
};

/** `leaves` are those of the rank in depth-first order, left to right; their arrays are worked in. */
export function evaluateRank(rank: Rank, leaves: readonly FoundByLeaf[]): Operand {
  return evaluate(rank, leaves.values());
}

function evaluate(rank: Rank, leaves: Iterator<FoundByLeaf>): Operand {
  if (rank.type === "val") return constant(rank.value);
  if (rank.type === "knn") {
    const { values, present } = leaves.next().value as FoundByLeaf;
    const fallback = rank.default;
    if (fallback !== null) for (let i = 0; i < values.length; i++) if (present[i] === 0) values[i] = fallback;
    return { values, present, default: fallback };
  }
  if (rank.type === "unary") return apply(evaluate(rank.operand, leaves), UNARY[rank.operator]);
  if (rank.type === "binary") {
    const left = evaluate(rank.left, leaves);
    return merge(left, evaluate(rank.right, leaves), rank.operator);
  }
  return rank.operands.reduce(
    (folded, operand) => merge(folded, evaluate(operand, leaves), rank.operator),
    constant(STARTS[rank.operator]),
  );
}

function constant(value: number): Operand {
  return { ...NO_SUPPORT, default: Math.fround(value) };
}

function apply(operand: Operand, operation: (value: number) => number): Operand {
  const { values, present } = operand;
  for (let i = 0; i < values.length; i++) values[i] = operation(values[i]!);
  return { values, present, default: operand.default === null ? null : operation(operand.default) };
}

/**
 * Into the arrays of an operand that has any: two new ones for each operator would take longer than the sums. Without
 * branches, for which records are in a support nothing foretells.
 */
function merge(left: Operand, right: Operand, operator: Combination): Operand {
  const bothDefault = left.default !== null && right.default !== null;
  const ofDefaults = bothDefault ? combine(operator, left.default, right.default) : null;
  const { values: leftValues, present: inLeft } = left;
  const { values: rightValues, present: inRight } = right;
  const [hasLeft, hasRight] = [leftValues.length > 0, rightValues.length > 0];
  const { values, present } = hasLeft ? left : right;
  const [fillsLeft, fillsRight] = [Number(left.default !== null), Number(right.default !== null)];
  const leftDefault = left.default ?? 0;
  const rightDefault = right.default ?? 0;
  for (let i = 0; i < values.length; i++) {
    const l = hasLeft ? inLeft[i]! : 0;
    const r = hasRight ? inRight[i]! : 0;
    present[i] = (l | r) & (l | fillsLeft) & (r | fillsRight);
    const a = hasLeft ? leftValues[i]! : leftDefault;
    const b = hasRight ? rightValues[i]! : rightDefault;
    values[i] = combine(operator, a, b);
  }
  return { values, present, default: ofDefaults };
}

/** In f32. */
function combine(operator: Combination, a: number, b: number): number {
  switch (operator) {
    case "$sum":
      return Math.fround(a + b);
    case "$mul":
      return Math.fround(a * b);
    case "$sub":
      return Math.fround(a - b);
    case "$div":
      return Math.fround(a / b);
    case "$max":
      return maximum(a, b);
    case "$min":
      break;
  }
  return minimum(a, b);
}

/** A NaN gives way to the other operand. */
function maximum(a: number, b: number): number {
  if (Number.isNaN(a)) return b;
  return Number.isNaN(b) ? a : Math.max(a, b);
}

function minimum(a: number, b: number): number {
  if (Number.isNaN(a)) return b;
  return Number.isNaN(b) ? a : Math.min(a, b);
}
