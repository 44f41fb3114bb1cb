/** A score as the sum of its parts, where its expression is one. */
import type { Trace } from "@sheaf/client";

export interface ScorePart {
  readonly name: string;
  /** That it adds to the score; lower scores are better. */
  readonly value: number;
  readonly leaves: readonly Leaf[];
}

export type Leaf = Exclude<
  Trace,
  { readonly op: "$sum" | "$mul" | "$max" | "$min" | "$sub" | "$div" | "$abs" | "$exp" | "$log" | "$val" }
>;

export function partsOf(trace: Trace): readonly ScorePart[] {
  return addends(trace, 1).filter(({ leaves, value }) => leaves.length > 0 || value !== 0);
}

function addends(trace: Trace, factor: number): readonly ScorePart[] {
  if (trace.op === "$sum") return trace.operands.flatMap((operand) => addends(operand, factor));
  if (trace.op === "$mul") {
    const constants = trace.operands.filter(({ op }) => op === "$val");
    const rest = trace.operands.filter(({ op }) => op !== "$val");
    const [only] = rest;
    if (rest.length === 1 && only !== undefined)
      return addends(
        only,
        constants.reduce((product, { value }) => product * Number(value), factor),
      );
  }
  const leaves = leavesOf(trace);
  const name = leaves.length === 0 ? "constant" : [...new Set(leaves.map(({ key }) => key))].join(", ");
  return [{ name, value: Number(trace.value) * factor, leaves }];
}

function leavesOf(trace: Trace): readonly Leaf[] {
  if ("operands" in trace) return trace.operands.flatMap(leavesOf);
  return trace.op === "$val" ? [] : [trace];
}
