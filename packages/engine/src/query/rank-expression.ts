/**
 * The arithmetic of a rank expression over a block of records, in f32. Every sub-expression is a support (the records
 * it has a value for) and perhaps a default; an operator needs a value from both sides and takes a side's default
 * where its support has none. `$sum`, `$mul`, `$max`, `$min` fold from the left, starting with a default alone.
 */
import type { BinaryOperator, NaryOperator, Rank, UnaryOperator } from "@sheaf/protocol";

export interface Operand {
  readonly values: Float32Array;
  /** 1 where the record is in the support. */
  readonly present: Uint8Array;
  readonly default: number | null;
}

/** The records of one block. */
export interface Block {
  readonly length: number;
  /** What each `$knn` leaf found among them, in depth-first order, left to right. */
  readonly leaves: readonly Pick<Operand, "values" | "present">[];
}

type Binary = (a: number, b: number) => number;

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

export function evaluateRank(rank: Rank, block: Block): Operand {
  return evaluate(rank, block, { next: 0 });
}

function evaluate(rank: Rank, block: Block, leaf: { next: number }): Operand {
  if (rank.type === "val") return constant(rank.value, block.length);
  if (rank.type === "knn") return { ...block.leaves[leaf.next++]!, default: rank.default };
  if (rank.type === "unary") return apply(evaluate(rank.operand, block, leaf), UNARY[rank.operator]);
  if (rank.type === "binary") {
    const left = evaluate(rank.left, block, leaf);
    return merge(left, evaluate(rank.right, block, leaf), BINARY[rank.operator]);
  }
  const { start, operation } = FOLDS[rank.operator];
  return rank.operands.reduce(
    (folded, operand) => merge(folded, evaluate(operand, block, leaf), operation),
    constant(start, block.length),
  );
}

function constant(value: number, length: number): Operand {
  return { values: new Float32Array(length), present: new Uint8Array(length), default: Math.fround(value) };
}

function apply(operand: Operand, operation: (value: number) => number): Operand {
  return {
    values: operand.values.map(operation),
    present: operand.present,
    default: operand.default === null ? null : operation(operand.default),
  };
}

function merge(left: Operand, right: Operand, operation: Binary): Operand {
  const length = left.values.length;
  const values = new Float32Array(length);
  const present = new Uint8Array(length);
  for (let i = 0; i < length; i++) {
    const inLeft = left.present[i] === 1;
    const inRight = right.present[i] === 1;
    if (!inLeft && !inRight) continue;
    const a = inLeft ? left.values[i]! : left.default;
    const b = inRight ? right.values[i]! : right.default;
    if (a === null || b === null) continue;
    values[i] = operation(a, b);
    present[i] = 1;
  }
  const bothDefault = left.default !== null && right.default !== null;
  return { values, present, default: bothDefault ? operation(left.default, right.default) : null };
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
