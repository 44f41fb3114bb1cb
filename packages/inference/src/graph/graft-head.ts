/**
 * Decides what an upstream ONNX file still lacks and writes it as a fragment to append: nothing if the graph already
 * gives finished vectors, the scaling to unit length if it only pools, else the whole head.
 */
import { modelFileError } from "./model-file.ts";
import type { OnnxSummary, OnnxValue } from "./onnx-reader.ts";
import { type Dimension, ELEMENT_TYPE, OnnxGraph } from "./onnx-writer.ts";
import { addPoolingHead, addUnitLength, type Head, LOWEST_OPSET, POOLED_OUTPUT } from "./pooling-head.ts";

export interface Graft {
  /** Name of the pooled output, float32 [batch, width]. */
  readonly output: string;
  /** Width of a vector; `null` if the file does not say. */
  readonly width: number | null;
  /** Bytes to append to the file; `null`: it is used as it is. */
  readonly fragment: Uint8Array | null;
}

/** Outputs under which exporters put finished sentence vectors. BERT's `pooler_output` is none. */
const POOLED_NAMES: ReadonlySet<string> = new Set([
  "sentence_embedding",
  "sentence_embeddings",
  POOLED_OUTPUT,
]);

const TOKEN_NAMES: { readonly [head in Head]: readonly string[] } = {
  mean: ["last_hidden_state", "token_embeddings", "hidden_states"],
  cls: ["last_hidden_state", "token_embeddings", "hidden_states"],
  last: ["last_hidden_state", "token_embeddings", "hidden_states"],
  splade: ["logits"],
};

/** Operators between a vector's norm and the division by it. */
const NORM_PATH: ReadonlySet<string> = new Set([
  "Clip",
  "Max",
  "Add",
  "Expand",
  "Cast",
  "Identity",
  "Unsqueeze",
]);
const MAX_NORM_PATH = 6;

/** Throws 503 `model_unavailable` if no output of the graph can be pooled. */
export function planGraft(file: string, summary: OnnxSummary, head: Head): Graft {
  const finished = head === "splade" ? undefined : summary.outputs.find(({ name }) => POOLED_NAMES.has(name));
  if (finished !== undefined) {
    const width = axisLength(finished, 1);
    if (finished.elementType === ELEMENT_TYPE.float32 && isUnitLength(summary, finished.name)) {
      return { output: finished.name, width: asNumber(width), fragment: null };
    }
    const graph = fragmentGraph(file, summary, head);
    addUnitLength(graph, asFloat(graph, finished));
    graph.output(POOLED_OUTPUT, "float32", ["batch", width]);
    return { output: POOLED_OUTPUT, width: asNumber(width), fragment: graph.toFragment() };
  }
  const tokens = tokenOutput(file, summary.outputs, head);
  const width = axisLength(tokens, 2);
  const graph = fragmentGraph(file, summary, head);
  addPoolingHead(graph, head, { tokens: asFloat(graph, tokens), mask: "attention_mask", width });
  return { output: POOLED_OUTPUT, width: asNumber(width), fragment: graph.toFragment() };
}

function fragmentGraph(file: string, { opset }: OnnxSummary, head: Head): OnnxGraph {
  if (opset < LOWEST_OPSET[head]) {
    throw modelFileError(
      file,
      `operator set ${opset} is too old, ${LOWEST_OPSET[head]} is the oldest supported`,
    );
  }
  return new OnnxGraph({ opset, prefix: "sheaf" });
}

function asFloat(graph: OnnxGraph, { name, elementType }: OnnxValue): string {
  return elementType === ELEMENT_TYPE.float32 ? name : graph.cast(name, "float32");
}

/** The output with one row per token: by name, else the only one of rank 3. */
function tokenOutput(file: string, outputs: readonly OnnxValue[], head: Head): OnnxValue {
  const named = TOKEN_NAMES[head].map((name) => outputs.find((output) => output.name === name));
  const found = named.find((output) => output !== undefined);
  if (found !== undefined) return found;
  const perToken = outputs.filter(({ shape }) => shape?.length === 3);
  const [only] = perToken;
  if (only === undefined || perToken.length > 1) {
    throw modelFileError(
      file,
      `none of its outputs can be pooled: ${outputs.map(({ name }) => name).join(", ")}`,
    );
  }
  return only;
}

/** Whether an output is provably divided by its norm; the scaling is repeated where it is not, which is harmless. */
function isUnitLength({ producers }: OnnxSummary, output: string): boolean {
  const last = producers.get(output);
  if (last?.opType === "LpNormalization") return true;
  if (last?.opType !== "Div") return false;
  let name = last.inputs[1] ?? "";
  for (let step = 0; step < MAX_NORM_PATH; step++) {
    const producer = producers.get(name);
    if (producer === undefined) return false;
    if (producer.opType === "ReduceL2" || producer.opType === "Sqrt") return true;
    if (!NORM_PATH.has(producer.opType)) return false;
    name = producer.inputs[0] ?? "";
  }
  return false;
}

function axisLength({ shape }: OnnxValue, axis: number): Dimension {
  return shape?.[axis] ?? "width";
}

function asNumber(length: Dimension): number | null {
  return typeof length === "number" ? length : null;
}
