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

/** What a leaf has for the records of a block. */
export type FoundByLeaf = Pick<Operand, "values" | "present">;

type Combination = NaryOperator | BinaryOperator;

const NO_VALUES = new Float32Array(0);
const NO_SUPPORT = new Uint8Array(0);

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
  if (rank.type === "knn" || rank.type === "key" || rank.type === "age") {
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
  return { values: NO_VALUES, present: NO_SUPPORT, default: Math.fround(value) };
}

function apply(operand: Operand, operation: (value: number) => number): Operand {
  const { values, present } = operand;
  for (let i = 0; i < values.length; i++) values[i] = operation(values[i]!);
  return { values, present, default: operand.default === null ? null : operation(operand.default) };
}

/** Into the arrays of an operand that has any: two new ones for each operator would take longer than the sums. */
function merge(left: Operand, right: Operand, operator: Combination): Operand {
  const { values, present } = left.values.length > 0 ? left : right;
  if (values.length > 0) {
    combine(operator, columnOf(left, LEFT), columnOf(right, RIGHT), values);
    mergeSupports(left, right, present);
  }
  const bothDefault = left.default !== null && right.default !== null;
  return { values, present, default: bothDefault ? ofDefaults(operator, left.default, right.default) : null };
}

/** A value for each record, or one for all of them. */
interface Column {
  readonly values: Float32Array;
  /** From a record's value to the next one's: 1 or 0. */
  readonly step: number;
}

/** For constants, of which the next merge knows nothing any more: to make an array takes longer than to fill one. */
const LEFT = new Float32Array(1);
const RIGHT = new Float32Array(1);
const RESULT = new Float32Array(1);

/** `constant` is for an operand without values. */
function columnOf({ values, default: fallback }: Operand, constant: Float32Array): Column {
  return values.length > 0 ? { values, step: 1 } : constantColumn(constant, fallback ?? 0);
}

function constantColumn(values: Float32Array, value: number): Column {
  values[0] = value;
  return { values, step: 0 };
}

export function unaryOf(operator: UnaryOperator, value: number): number {
  return UNARY[operator](value);
}

/** One record's value of an operator over those of its operands, folded as blocks are. */
export function foldOf(operator: NaryOperator, values: Iterable<number>): number {
  let folded = STARTS[operator];
  for (const value of values) folded = ofDefaults(operator, folded, value);
  return folded;
}

export function ofDefaults(operator: Combination, left: number, right: number): number {
  combine(operator, constantColumn(LEFT, left), constantColumn(RIGHT, right), RESULT);
  return RESULT[0]!;
}

/** In f32: a sum, product or quotient of two f32 that is rounded from f64 is the one rounded at once. */
function combine(operator: Combination, left: Column, right: Column, into: Float32Array): void {
  const { values: a, step: stepA } = left;
  const { values: b, step: stepB } = right;
  const count = into.length;
  switch (operator) {
    case "$sum":
      for (let i = 0; i < count; i++) into[i] = a[i * stepA]! + b[i * stepB]!;
      return;
    case "$mul":
      for (let i = 0; i < count; i++) into[i] = a[i * stepA]! * b[i * stepB]!;
      return;
    case "$sub":
      for (let i = 0; i < count; i++) into[i] = a[i * stepA]! - b[i * stepB]!;
      return;
    case "$div":
      for (let i = 0; i < count; i++) into[i] = a[i * stepA]! / b[i * stepB]!;
      return;
    case "$max":
      for (let i = 0; i < count; i++) into[i] = maximum(a[i * stepA]!, b[i * stepB]!);
      return;
    case "$min":
      break;
  }
  for (let i = 0; i < count; i++) into[i] = minimum(a[i * stepA]!, b[i * stepB]!);
}

/** Into the one that is there. Without branches, for which records are in a support nothing foretells. */
function mergeSupports(left: Operand, right: Operand, into: Uint8Array): void {
  const { present: inLeft } = left;
  const { present: inRight } = right;
  const [fillsLeft, fillsRight] = [Number(left.default !== null), Number(right.default !== null)];
  if (inLeft.length > 0 && inRight.length > 0) {
    for (let i = 0; i < into.length; i++) {
      const [l, r] = [inLeft[i]!, inRight[i]!];
      into[i] = (l | r) & (l | fillsLeft) & (r | fillsRight);
    }
  } else if ((inLeft.length === 0 ? fillsLeft : fillsRight) === 0) into.fill(0);
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
