/**
 * Building blocks that all architectures share. Hidden states run through a graph flattened to [batch * length, width],
 * so that every linear layer is one Gemm that reads a checkpoint's [out, in] matrices as they are stored.
 */
import type { ModelWeights } from "./model-weights.ts";
import type { OnnxGraph } from "./onnx-writer.ts";

/** Added to the score of what must not be seen; e to the power of it is exactly 0 in float32. */
export const LOWEST_FLOAT = -3.4028234663852886e38;

/** The graph's two inputs, int64 [batch, length], and their axes. */
export interface BatchInputs {
  readonly ids: string;
  readonly mask: string;
  /** int64 [2]: batch, length. */
  readonly shape: string;
  /** int64 [1]. */
  readonly length: string;
  /** int64 [length]: 0, 1, 2, ... */
  readonly positions: string;
}

export function declareInputs(graph: OnnxGraph): BatchInputs {
  const ids = graph.input("input_ids", "int64", ["batch", "length"]);
  const mask = graph.input("attention_mask", "int64", ["batch", "length"]);
  const shape = graph.node("Shape", [ids]);
  const length = graph.node("Gather", [shape, graph.ints([1])], { axis: 0 });
  const scalarLength = graph.node("Gather", [shape, graph.int(1)], { axis: 0 });
  const positions = graph.node("Range", [graph.int(0), scalarLength, graph.int(1)]);
  return { ids, mask, shape, length, positions };
}

export interface LinearShape {
  readonly inputs: number;
  readonly outputs: number;
  readonly bias: boolean;
}

export class Layers {
  readonly graph: OnnxGraph;
  readonly weights: ModelWeights;
  readonly batch: BatchInputs;

  constructor(graph: OnnxGraph, weights: ModelWeights, batch: BatchInputs) {
    this.graph = graph;
    this.weights = weights;
    this.batch = batch;
  }

  /** [rows, inputs] -> [rows, outputs] with `{name}.weight` and `{name}.bias`. */
  linear(x: string, name: string, { inputs, outputs, bias }: LinearShape): string {
    const operands = [x, this.weights.tensor(`${name}.weight`, [outputs, inputs])];
    if (bias) operands.push(this.weights.tensor(`${name}.bias`, [outputs]));
    return this.graph.node("Gemm", operands, { transB: 1 });
  }

  /** Layer normalisation of the last axis. */
  layerNorm(x: string, name: string, norm: { readonly width: number; readonly epsilon: number }): string {
    const scale = this.weights.tensor(`${name}.weight`, [norm.width]);
    const shift = this.weights.tensor(`${name}.bias`, [norm.width]);
    return this.graph.node("LayerNormalization", [x, scale, shift], {
      axis: -1,
      epsilon: { float: norm.epsilon },
    });
  }

  /** Root-mean-square normalisation of the last axis. */
  rmsNorm(x: string, name: string, norm: { readonly width: number; readonly epsilon: number }): string {
    const { graph } = this;
    const squares = graph.node("Mul", [x, x]);
    const mean = graph.reduce("ReduceMean", squares, -1, { keepDims: true });
    const root = graph.node("Sqrt", [graph.node("Add", [mean, graph.float(norm.epsilon)])]);
    const scale = this.weights.tensor(`${name}.weight`, [norm.width]);
    return graph.node("Mul", [graph.node("Div", [x, root]), scale]);
  }

  /** [batch * length, heads * size] -> [batch, length, heads, size]. */
  splitHeads(x: string, heads: number, size: number): string {
    const shape = this.graph.node("Concat", [this.batch.shape, this.graph.ints([heads, size])], { axis: 0 });
    return this.graph.node("Reshape", [x, shape]);
  }

  /** [batch * length, width] -> [batch, length, width]. */
  unflatten(x: string, width: number): string {
    const shape = this.graph.node("Concat", [this.batch.shape, this.graph.ints([width])], { axis: 0 });
    return this.graph.node("Reshape", [x, shape]);
  }

  /** [batch, ..., width] -> [rows, width]. */
  flatten(x: string, width: number): string {
    return this.graph.node("Reshape", [x, this.graph.ints([-1, width])]);
  }

  transpose(x: string, perm: readonly number[]): string {
    return this.graph.node("Transpose", [x], { perm });
  }
}
