/**
 * Tensors of a checkpoint as values of a graph. Weights stay in their file and their type; half-precision ones are
 * widened to float32 inside the graph, so all arithmetic is float32 whatever is stored.
 */
import path from "node:path";
import { modelFileError } from "./model-file.ts";
import type { OnnxGraph } from "./onnx-writer.ts";
import type { SafeTensor, SafeTensors } from "./safetensors-reader.ts";

export class ModelWeights {
  readonly #graph: OnnxGraph;
  readonly #tensors: SafeTensors;
  readonly #source: string;
  readonly #stored = new Map<string, string>();
  readonly #widened = new Map<string, string>();

  /** `source` is the checkpoint's path, for messages. Its files must lie beside the graph under their own names. */
  constructor(graph: OnnxGraph, tensors: SafeTensors, source: string) {
    this.#graph = graph;
    this.#tensors = tensors;
    this.#source = source;
  }

  has(name: string): boolean {
    return this.#tensors.has(name);
  }

  /** The first of `candidates` that, put before `name`, gives a tensor of the checkpoint. */
  findPrefix(candidates: readonly string[], name: string): string {
    const prefix = candidates.find((candidate) => this.#tensors.has(candidate + name));
    if (prefix === undefined) throw modelFileError(this.#source, `tensor ${name} is missing`);
    return prefix;
  }

  /** A whole tensor as float32. Throws 503 if it is absent or of another shape. */
  tensor(name: string, shape: readonly number[]): string {
    const { type } = this.#checked(name, shape);
    const known = this.#widened.get(name);
    if (known !== undefined) return known;
    const stored = this.#store(name);
    const value = type === "float32" ? stored : this.#graph.cast(stored, "float32");
    this.#widened.set(name, value);
    return value;
  }

  /** Rows of a matrix as float32; only the rows taken are widened, not the whole table. */
  rows(name: string, shape: readonly [number, number], indexes: string): string {
    const { type } = this.#checked(name, shape);
    const rows = this.#graph.node("Gather", [this.#store(name), indexes], { axis: 0 });
    return type === "float32" ? rows : this.#graph.cast(rows, "float32");
  }

  #checked(name: string, shape: readonly number[]): SafeTensor {
    const tensor = this.#tensors.get(name);
    if (tensor === undefined) throw modelFileError(this.#source, `tensor ${name} is missing`);
    if (tensor.shape.length !== shape.length || tensor.shape.some((length, axis) => length !== shape[axis])) {
      throw modelFileError(
        this.#source,
        `tensor ${name} has shape [${tensor.shape.join()}], config.json asks for [${shape.join()}]`,
      );
    }
    return tensor;
  }

  #store(name: string): string {
    const known = this.#stored.get(name);
    if (known !== undefined) return known;
    const tensor = this.#tensors.get(name);
    if (tensor === undefined) throw modelFileError(this.#source, `tensor ${name} is missing`);
    const value = this.#graph.external(name, { ...tensor, location: path.basename(tensor.file) });
    this.#stored.set(name, value);
    return value;
  }
}
