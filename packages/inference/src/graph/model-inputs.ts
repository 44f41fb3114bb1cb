/**
 * The inputs of a model as its graph declares them, and the tensors a batch feeds them. Exports differ: some take token
 * types, some positions, some an empty key-value cache per layer. Nothing is assumed, and an input that Sheaf cannot
 * fill is refused when the model is prepared.
 */
import { modelFileError } from "./model-file.ts";
import type { OnnxValue } from "./onnx-reader.ts";
import { type Dimension, ELEMENT_TYPE } from "./onnx-writer.ts";

type ModelInputKind = "input_ids" | "attention_mask" | "token_type_ids" | "position_ids" | "past_key_value";

type ModelInputType = "int64" | "int32" | "float32" | "float16";

export interface ModelInput {
  readonly name: string;
  readonly kind: ModelInputKind;
  readonly type: ModelInputType;
  /** Lengths, and names of axes of any length: [batch, length], for `past_key_value` [batch, heads, 0, size]. */
  readonly shape: readonly Dimension[];
}

/** One tensor in the form that `new ort.Tensor(type, data, dims)` takes. */
export interface FeedTensor {
  readonly name: string;
  readonly type: ModelInputType;
  readonly data: BigInt64Array | Int32Array | Float32Array | Uint16Array;
  readonly dims: readonly number[];
}

export interface FeedOptions {
  /** `PreparedModel.padId`. */
  readonly padId: number;
  /** Where padding goes; only decoders that pool the last token may take it on the left. Default right. */
  readonly paddingSide?: "left" | "right";
}

/** TensorProto.DataType -> the types that are fed. */
const INPUT_TYPES: ReadonlyMap<number, ModelInputType> = new Map([
  [ELEMENT_TYPE.int64, "int64"],
  [6, "int32"],
  [ELEMENT_TYPE.float32, "float32"],
  [ELEMENT_TYPE.float16, "float16"],
]);

const PER_TOKEN_KINDS: ReadonlySet<string> = new Set<ModelInputKind>([
  "input_ids",
  "attention_mask",
  "token_type_ids",
  "position_ids",
]);

/** Throws 503 `model_unavailable` naming an input that is missing or unknown. */
export function describeInputs(file: string, values: readonly OnnxValue[]): readonly ModelInput[] {
  const inputs = values.map((value) => describeInput(file, value));
  for (const kind of ["input_ids", "attention_mask"] satisfies ModelInputKind[]) {
    if (!inputs.some((input) => input.kind === kind)) throw modelFileError(file, `has no input ${kind}`);
  }
  return inputs;
}

function describeInput(file: string, { name, elementType, shape }: OnnxValue): ModelInput {
  const type = INPUT_TYPES.get(elementType);
  if (PER_TOKEN_KINDS.has(name) && (type === "int64" || type === "int32")) {
    return { name, kind: name as ModelInputKind, type, shape: shape ?? ["batch", "length"] };
  }
  const isCache = name.startsWith("past_key_values.") && shape?.length === 4;
  if (isCache && (type === "float32" || type === "float16")) {
    return { name, kind: "past_key_value", type, shape };
  }
  throw modelFileError(file, `input ${name} is not supported`);
}

/** Pads `rows` (token ids of the texts of a batch, none empty) to one length and fills every input. */
export function batchFeeds(
  inputs: readonly ModelInput[],
  rows: readonly ArrayLike<number>[],
  options: FeedOptions,
): FeedTensor[] {
  const length = rows.reduce((longest, row) => Math.max(longest, row.length), 0);
  const dims = [rows.length, length];
  return inputs.map((input) => {
    if (input.kind === "past_key_value") return emptyCache(input, rows.length);
    const values = new Int32Array(rows.length * length);
    if (input.kind === "input_ids") values.fill(options.padId);
    rows.forEach((row, index) => {
      const padding = options.paddingSide === "left" ? length - row.length : 0;
      fillRow(values.subarray(index * length + padding), input.kind, row);
    });
    const data = input.type === "int32" ? values : BigInt64Array.from(values, BigInt);
    return { name: input.name, type: input.type, data, dims };
  });
}

/** Writes what an input holds for the tokens of a text. Elsewhere the ids hold the pad id, everything else 0. */
function fillRow(target: Int32Array, kind: ModelInputKind, row: ArrayLike<number>): void {
  if (kind === "input_ids") target.set(row);
  else if (kind === "attention_mask") target.fill(1, 0, row.length);
  else if (kind === "position_ids") for (let i = 0; i < row.length; i++) target[i] = i;
}

/** The cache before the first token: its length axis, the one besides the batch that is not fixed, is 0. */
function emptyCache({ name, type, shape }: ModelInput, batchSize: number): FeedTensor {
  const dims = shape.map((length, axis) =>
    axis === 0 ? batchSize : typeof length === "number" ? length : 0,
  );
  return { name, type, data: type === "float16" ? new Uint16Array(0) : new Float32Array(0), dims };
}
