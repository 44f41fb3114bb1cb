/**
 * From a model folder as it lies upstream to one ONNX file that turns token ids into one vector per text. An ONNX file
 * is used where there is one, with the missing head appended; otherwise a graph is built over the safetensors weights.
 * Runs before ONNX Runtime is asked for anything and loads no weights.
 */
import { lstat, realpath } from "node:fs/promises";
import path from "node:path";
import { SheafError } from "@sheaf/protocol";
import { EncoderBuilder } from "./encoder-builder.ts";
import { planGraft } from "./graft-head.ts";
import { declareInputs, Layers } from "./layers.ts";
import { type ModelConfig, parseModelConfig, parsePadId, parseWidth } from "./model-config.ts";
import { errorCode, modelFileError, readModelJson } from "./model-file.ts";
import { describeInputs, type ModelInput } from "./model-inputs.ts";
import { ModelWeights } from "./model-weights.ts";
import { readOnnxSummary } from "./onnx-reader.ts";
import { BUILT_OPSET, OnnxGraph } from "./onnx-writer.ts";
import { addPoolingHead, type Head, POOLED_OUTPUT } from "./pooling-head.ts";
import { writePreparedFolder } from "./prepared-folder.ts";
import { Qwen3Builder } from "./qwen3-builder.ts";
import { readSafeTensors, type SafeTensors } from "./safetensors-reader.ts";

export interface PrepareOptions {
  readonly head: Head;
  /**
   * Folder for graphs and links to weights; created when needed. What lies there may be deleted while no model is
   * loaded. On the file system of the model folder it costs next to nothing, on another one a copy of the weights.
   */
  readonly workFolder: string;
  /** Path of the weights inside the model folder, for one of several. Default: the first of `WEIGHT_FILES` there is. */
  readonly weights?: string;
}

export interface PreparedModel {
  /** Absolute path of the ONNX file to open. */
  readonly modelPath: string;
  readonly inputs: readonly ModelInput[];
  /** Name of the output with the pooled vectors, float32 [batch, width]; the only one worth fetching. */
  readonly output: string;
  /** Dimension, or size of the vocabulary; `null` if neither the ONNX file nor `config.json` says. */
  readonly width: number | null;
  /** Id that fills a row up to the length of the batch. */
  readonly padId: number;
  /** Absolute real paths of the upstream files that hold graph and weights: what a digest of the model must cover. */
  readonly sourceFiles: readonly string[];
}

/** Where weights are looked for, first hit first. */
export const WEIGHT_FILES: readonly string[] = [
  "onnx/model.onnx",
  "model.onnx",
  "model.safetensors",
  "model.safetensors.index.json",
];

/** Throws 503 `model_unavailable` naming the file that is missing, damaged or not supported. */
export async function prepareModelFolder(folder: string, options: PrepareOptions): Promise<PreparedModel> {
  const weights = path.join(folder, options.weights ?? (await findWeights(folder)));
  const configFile = path.join(folder, "config.json");
  const config = await readModelJson(configFile);
  if (weights.endsWith(".onnx")) {
    return prepareOnnx(weights, { ...options, config });
  }
  return prepareSafeTensors(weights, { ...options, config: parseModelConfig(configFile, config) });
}

async function findWeights(folder: string): Promise<string> {
  for (const candidate of WEIGHT_FILES) {
    if ((await fileKind(path.join(folder, candidate))) !== "absent") return candidate;
  }
  throw new SheafError("model_unavailable", `${folder}: no weights, looked for ${WEIGHT_FILES.join(", ")}`);
}

async function prepareOnnx(
  file: string,
  options: PrepareOptions & { readonly config: Readonly<Record<string, unknown>> },
): Promise<PreparedModel> {
  const summary = await readOnnxSummary(file);
  const inputs = describeInputs(file, summary.inputs);
  const graft = planGraft(file, summary, options.head);
  const weights = new Map<string, string>();
  let linked = (await fileKind(file)) === "link";
  for (const location of summary.externalFiles) {
    if (path.isAbsolute(location) || location.split(/[\\/]/).includes("..")) {
      throw modelFileError(file, `refers to ${location} outside its folder`);
    }
    const target = path.join(path.dirname(file), location);
    const kind = await fileKind(target);
    if (kind === "absent") throw modelFileError(target, "is missing, the model refers to it");
    linked ||= kind === "link";
    weights.set(location, target);
  }
  const modelPath =
    graft.fragment === null && !linked
      ? path.resolve(file)
      : await writePreparedFolder({
          workFolder: path.resolve(options.workFolder),
          graphName: path.basename(file),
          graph: { base: file, fragment: graft.fragment },
          weights,
        });
  const sourceFiles = await Promise.all([file, ...weights.values()].map((source) => realpath(source)));
  return {
    modelPath,
    inputs,
    output: graft.output,
    width: graft.width ?? parseWidth(options.config, options.head),
    padId: parsePadId(options.config),
    sourceFiles,
  };
}

async function prepareSafeTensors(
  file: string,
  options: PrepareOptions & { readonly config: ModelConfig },
): Promise<PreparedModel> {
  const { config, head } = options;
  const tensors = await readSafeTensors(file);
  const built = buildGraph(file, tensors, { config, head });
  const shards = new Map([...tensors.values()].map((tensor) => [path.basename(tensor.file), tensor.file]));
  const modelPath = await writePreparedFolder({
    workFolder: path.resolve(options.workFolder),
    graphName: "model.onnx",
    graph: built.model,
    weights: shards,
  });
  const { inputs } = await readOnnxSummary(modelPath);
  return {
    modelPath,
    inputs: describeInputs(modelPath, inputs),
    output: POOLED_OUTPUT,
    width: built.width,
    padId: config.padId,
    sourceFiles: await Promise.all([...shards.values()].map((shard) => realpath(shard))),
  };
}

function buildGraph(
  file: string,
  tensors: SafeTensors,
  { config, head }: { readonly config: ModelConfig; readonly head: Head },
): { readonly model: Uint8Array; readonly width: number } {
  const graph = new OnnxGraph({ opset: BUILT_OPSET, prefix: "sheaf" });
  const batch = declareInputs(graph);
  const layers = new Layers(graph, new ModelWeights(graph, tensors, file), batch);
  const width = head === "splade" ? config.vocabSize : config.hiddenSize;
  let tokens: string;
  if (config.family === "qwen3") {
    if (head === "splade") throw modelFileError(file, "a sparse head over Qwen3 is not supported");
    tokens = new Qwen3Builder(layers, config).hiddenStates();
  } else {
    const encoder = new EncoderBuilder(layers, config, file);
    tokens = head === "splade" ? encoder.logits() : encoder.hiddenStates();
  }
  addPoolingHead(graph, head, { tokens, mask: batch.mask, width });
  return { model: graph.toModel(), width };
}

async function fileKind(file: string): Promise<"absent" | "link" | "file"> {
  try {
    return (await lstat(file)).isSymbolicLink() ? "link" : "file";
  } catch (error) {
    if (errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR") return "absent";
    throw modelFileError(file, `cannot be read (${errorCode(error)})`, error);
  }
}
