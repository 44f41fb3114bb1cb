/** Traces as callers read them, evaluated again in f32, from the leaves up, by what the reference says of each operator. */

type TraceNumber = number | string;

export interface TraceNode {
  readonly op: string;
  readonly value: TraceNumber;
  readonly operands?: readonly TraceNode[];
  readonly key?: string;
  readonly from?: "limit" | "default" | "record";
  readonly rank?: number;
  readonly distance?: TraceNumber;
  readonly dot_product?: TraceNumber;
  readonly terms?: readonly {
    readonly term: number;
    readonly token?: string;
    readonly query: TraceNumber;
    readonly record: TraceNumber;
  }[];
  readonly model?: string;
  readonly tokens?: readonly string[];
  readonly stored?: number | boolean;
}

const f = Math.fround;
const LARGEST = 3.4028234663852886e38;

/** `NaN`, `Infinity` and `-Infinity` are texts. */
export function numberOf(value: TraceNumber): number {
  return f(Number(value));
}

export function evaluateTrace({ op, value, operands = [] }: TraceNode): number {
  const values = operands.map(evaluateTrace);
  const [first = NaN, second = NaN] = values;
  switch (op) {
    case "$sum":
      return values.reduce((a, b) => f(a + b), 0);
    case "$mul":
      return values.reduce((a, b) => f(a * b), 1);
    case "$max":
      return values.reduce((a, b) => unlessNaN(a, b, Math.max), -LARGEST);
    case "$min":
      return values.reduce((a, b) => unlessNaN(a, b, Math.min), LARGEST);
    case "$sub":
      return f(first - second);
    case "$div":
      return f(first / second);
    case "$abs":
      return Math.abs(first);
    case "$exp":
      return f(Math.exp(first));
    case "$log":
      return f(Math.log(first));
    default:
      return numberOf(value);
  }
}

export function traceNodes(node: TraceNode): readonly TraceNode[] {
  return [node, ...(node.operands ?? []).flatMap(traceNodes)];
}

function unlessNaN(a: number, b: number, choose: (a: number, b: number) => number): number {
  if (Number.isNaN(a)) return b;
  return Number.isNaN(b) ? a : choose(a, b);
}
