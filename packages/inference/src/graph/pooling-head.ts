/**
 * The last step from token outputs to one vector per text, as graph nodes: pooled inside ONNX Runtime, a batch leaves
 * the process as [batch, width] instead of [batch, length, width]. Padding never reaches a result.
 */
import { LOWEST_FLOAT } from "./layers.ts";
import type { OnnxGraph } from "./onnx-writer.ts";

/**
 * `mean`, `cls` and `last` pool hidden states and scale to unit length. `splade` turns masked-language-model logits into
 * max over tokens of log(1 + relu(logit)) (https://arxiv.org/abs/2109.10086).
 */
export type Head = "mean" | "cls" | "last" | "splade";

/** Name of the output that a head adds. */
export const POOLED_OUTPUT = "sheaf_pooled";

/** The operator set that has every node of a head; `last` needs GatherND with batch dimensions. */
export const LOWEST_OPSET: { readonly [head in Head]: number } = { mean: 11, cls: 11, last: 12, splade: 11 };

export interface HeadOperands {
  /** Hidden states or logits, float32 [batch, length, width]. */
  readonly tokens: string;
  /** Attention mask [batch, length] of any number type. */
  readonly mask: string;
  readonly width: number | string;
}

/** Adds the head and declares its output, float32 [batch, width]. */
export function addPoolingHead(graph: OnnxGraph, head: Head, operands: HeadOperands): void {
  const mask = graph.cast(operands.mask, "float32");
  if (head === "splade") addSplade(graph, operands.tokens, mask);
  else addUnitLength(graph, pool(graph, head, { tokens: operands.tokens, mask }));
  graph.output(POOLED_OUTPUT, "float32", ["batch", operands.width]);
}

/** Scales the rows of [batch, width] to unit length and names the result as the pooled output. */
export function addUnitLength(graph: OnnxGraph, vectors: string): void {
  graph.node("LpNormalization", [vectors], { axis: -1, p: 2 }, POOLED_OUTPUT);
}

/** [batch, width], not yet of unit length. */
function pool(
  graph: OnnxGraph,
  head: Exclude<Head, "splade">,
  { tokens, mask }: { readonly tokens: string; readonly mask: string },
): string {
  if (head === "cls") return graph.node("Gather", [tokens, graph.int(0)], { axis: 1 });
  if (head === "mean") {
    // Sum and mean differ by a factor per text, which the scaling to unit length takes away.
    const row = graph.node("Reshape", [mask, graph.ints([0, 1, -1])]);
    return graph.node("Reshape", [graph.node("MatMul", [row, tokens]), graph.ints([0, -1])]);
  }
  // The running count first reaches its maximum at the last real token, whichever side the padding is on.
  const counted = graph.node("CumSum", [mask, graph.int(1)]);
  const last = graph.node("ArgMax", [counted], { axis: 1, keepdims: 1 });
  return graph.node("GatherND", [tokens, last], { batch_dims: 1 });
}

function addSplade(graph: OnnxGraph, logits: string, mask: string): void {
  // relu and log are monotone, so the maximum comes first: batch * width logarithms instead of batch * length * width.
  const padding = graph.node("Mul", [graph.node("Sub", [graph.float(1), mask]), graph.float(LOWEST_FLOAT)]);
  const column = graph.node("Reshape", [padding, graph.ints([0, -1, 1])]);
  const highest = graph.reduce("ReduceMax", graph.node("Add", [logits, column]), 1, { keepDims: false });
  const shifted = graph.node("Add", [graph.node("Relu", [highest]), graph.float(1)]);
  graph.node("Log", [shifted], {}, POOLED_OUTPUT);
}
