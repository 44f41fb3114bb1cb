/**
 * How much memory a model takes, told from its small files: weights, and activations of a run. The constants of the
 * activations are upper bounds of what was measured with ONNX Runtime 1.30 (docs/guide/models.md), so that what fits by
 * this account fits in truth.
 */
import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { ModelKind } from "@sheaf/protocol";

/** What the size of activations depends on. */
export interface ModelShape {
  readonly hiddenSize: number;
  readonly feedForwardSize: number;
  readonly heads: number;
  /** Width of the output per token: the vocabulary of a sparse model, 0 for a dense one. */
  readonly outputSize: number;
}

const FLOAT_BYTES = 4;
/** Values of the hidden width that live at once for each token: residual, queries, keys, values, their copies. */
const HIDDEN_COPIES = 12;
const FEED_FORWARD_COPIES = 3;
/** Scores, their scaled and masked copies, and their softmax. */
const SCORE_COPIES = 4;
const OUTPUT_COPIES = 2;
const HALF_TYPES: ReadonlySet<unknown> = new Set(["bfloat16", "float16"]);

/** Peak of the activations of a batch of `texts` padded to `length` tokens, in bytes. */
export function activationBytes(shape: ModelShape, texts: number, length: number): number {
  const { hiddenSize, feedForwardSize, heads, outputSize } = shape;
  const perToken =
    HIDDEN_COPIES * hiddenSize + FEED_FORWARD_COPIES * feedForwardSize + OUTPUT_COPIES * outputSize;
  const scores = SCORE_COPIES * heads * length;
  return FLOAT_BYTES * texts * length * (perToken + scores);
}

/** `null` for a network whose numbers have other names; its activations are then left out of account. */
export function readModelShape(
  config: Readonly<Record<string, unknown>>,
  kind: ModelKind,
): ModelShape | null {
  const first = (...names: readonly string[]): number =>
    names.map((name) => config[name]).find((value) => typeof value === "number" && value > 0) as number;
  const shape = {
    hiddenSize: first("hidden_size", "dim") ?? 0,
    feedForwardSize: first("intermediate_size", "hidden_dim") ?? 0,
    heads: first("num_attention_heads", "n_heads") ?? 0,
    outputSize: kind === "sparse" ? (first("vocab_size") ?? 0) : 0,
  };
  return shape.hiddenSize > 0 && shape.heads > 0 ? shape : null;
}

/** Peak of the weights from loading on: half-precision tensors are widened to float32. */
export function weightBytesOf(file: string, config: Readonly<Record<string, unknown>>): number {
  const folder = dirname(file);
  const bytes = filesOfWeights(file, folder).reduce((sum, name) => sum + sizeOf(join(folder, name)), 0);
  // What lies in the graph file itself is held twice while it loads.
  if (file.endsWith(".onnx")) return bytes + sizeOf(file);
  return HALF_TYPES.has(config["torch_dtype"] ?? config["dtype"]) ? 2 * bytes : bytes;
}

/** A graph's external data bears its name and more; the shards of an index are all files of their kind. */
function filesOfWeights(file: string, folder: string): readonly string[] {
  const name = basename(file);
  if (name.endsWith(".safetensors")) return [name];
  const names = existsSync(folder) ? readdirSync(folder) : [];
  if (name.endsWith(".json")) return names.filter((other) => other.endsWith(".safetensors"));
  return names.filter((other) => other.startsWith(name));
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
