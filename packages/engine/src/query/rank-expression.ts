/**
 * The arithmetic of a rank expression over a block of records, in f32. Every sub-expression is a support (the records
 * it has a value for) and perhaps a default; an operator needs a value from both sides and takes a side's default
 * where its support has none. `$sum`, `$mul`, `$max`, `$min` fold from the left, starting with a default alone.
 */
import type { BinaryOperator, NaryOperator, Rank, UnaryOperator } from "@sheaf/protocol";

export interface Operand {
  /** One per record of the block; none where nothing is in the support. */
  readonly values: Float32Array;
  /** 1 where the record is in the support; as many as there are values. */
  readonly present: Uint8Array;
  readonly default: number | null;
}

/** What a `$knn` leaf found among the records of a block. */
export type FoundByLeaf = Pick<Operand, "values" | "present">;

type Binary = (a: number, b: number) => number;

const NO_SUPPORT = { values: new Float32Array(0), present: new Uint8Array(0) } as const;

const F32_MAX = (2 - 2 ** -23) * 2 ** 127;

const FOLDS: Record<NaryOperator, { readonly start: number; readonly operation: Binary }> = {
  $sum: { start: 0, operation: (a, b) => Math.fround(a + b) },
  $mul: { start: 1, operation: (a, b) => Math.fround(a * b) },
  $max: { start: -F32_MAX, operation: maximum },
  $min: { start: F32_MAX, operation: minimum },
};

const BINARY: Record<BinaryOperator, Binary> = {
  $sub: (a, b) => Math.fround(a - b),
  $div: (a, b) => Math.fround(a / b),
};

const UNARY: Record<UnaryOperator, (value: number) => number> = {
  $abs: Math.abs,
  $exp: (value) => Math.fround(Math.exp(value)),
  $log: (value) => Math.fround(Math.log(value)),
};

/** `leaves` are those of the rank in depth-first order, left to right. */
export function evaluateRank(rank: Rank, leaves: readonly FoundByLeaf[]): Operand {
  return evaluate(rank, leaves.values());
}

function evaluate(rank: Rank, leaves: Iterator<FoundByLeaf>): Operand {
  if (rank.type === "val") return constant(rank.value);
  if (rank.type === "knn") {
    const { values, present } = leaves.next().value as FoundByLeaf;
    return { values, present, default: rank.default };
  }
  if (rank.type === "unary") return apply(evaluate(rank.operand, leaves), UNARY[rank.operator]);
  if (rank.type === "binary") {
    const left = evaluate(rank.left, leaves);
    return merge(left, evaluate(rank.right, leaves), BINARY[rank.operator]);
  }
  const { start, operation } = FOLDS[rank.operator];
  return rank.operands.reduce(
    (folded, operand) => merge(folded, evaluate(operand, leaves), operation),
    constant(start),
  );
}

function constant(value: number): Operand {
  return { ...NO_SUPPORT, default: Math.fround(value) };
}

function apply(operand: Operand, operation: (value: number) => number): Operand {
  return {
    values: operand.values.map(operation),
    present: operand.present,
    default: operand.default === null ? null : operation(operand.default),
  };
}

function merge(left: Operand, right: Operand, operation: Binary): Operand {
  const length = Math.max(left.values.length, right.values.length);
  const bothDefault = left.default !== null && right.default !== null;
  const ofDefaults = bothDefault ? operation(left.default, right.default) : null;
  if (length === 0) return { ...NO_SUPPORT, default: ofDefaults };
  const values = new Float32Array(length);
  const present = new Uint8Array(length);
  const [hasLeft, hasRight] = [left.values.length > 0, right.values.length > 0];
  for (let i = 0; i < length; i++) {
    const inLeft = hasLeft && left.present[i] === 1;
    const inRight = hasRight && right.present[i] === 1;
    if (!inLeft && !inRight) continue;
    const a = inLeft ? left.values[i]! : left.default;
    const b = inRight ? right.values[i]! : right.default;
    if (a === null || b === null) continue;
    values[i] = operation(a, b);
    present[i] = 1;
  }
  return { values, present, default: ofDefaults };
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
