/**
 * Builds ONNX graphs node by node (field numbers from https://github.com/onnx/onnx/blob/main/onnx/onnx.proto).
 * A graph becomes either a whole model, or a fragment: a ModelProto that holds nothing but nodes, constants and
 * outputs. Protocol buffers merge on concatenation, so a fragment appended to a model's bytes extends its graph.
 * Invariant: nodes stand in the order they were added, which is a topological order because a node names its inputs.
 */
import { ProtobufWriter } from "./protobuf-writer.ts";

/** TensorProto.DataType. */
export const ELEMENT_TYPE = { float32: 1, int64: 7, float16: 10, bfloat16: 16 } as const;
export type ElementType = keyof typeof ELEMENT_TYPE;

/** A tensor inside a file beside the model; ONNX Runtime maps it in place. */
export interface ExternalTensor {
  readonly type: ElementType;
  readonly shape: readonly number[];
  /** File name relative to the model. */
  readonly location: string;
  readonly offset: number;
  readonly byteLength: number;
}

export type AttributeValue = number | string | readonly number[] | { readonly float: number };

/** A named axis of unknown length, or a length. */
export type Dimension = string | number;

const MODEL = { irVersion: 1, producerName: 2, graph: 7, opsetImport: 8 } as const;
const OPSET = { version: 2 } as const;
const GRAPH = { node: 1, name: 2, initializer: 5, input: 11, output: 12 } as const;
const NODE = { input: 1, output: 2, name: 3, opType: 4, attribute: 5 } as const;
const ATTRIBUTE = { name: 1, float: 2, int: 3, string: 4, ints: 8, type: 20 } as const;
const ATTRIBUTE_TYPE = { float: 1, int: 2, string: 3, ints: 7 } as const;
const TENSOR = { dims: 1, dataType: 2, name: 8, rawData: 9, externalData: 13, dataLocation: 14 } as const;
const ENTRY = { key: 1, value: 2 } as const;
const VALUE = { name: 1, type: 2 } as const;
const TYPE = { tensor: 1, elementType: 1, shape: 2, dim: 1, dimValue: 1, dimName: 2 } as const;
const DATA_LOCATION_EXTERNAL = 1;

/** IR version 9 belongs to operator set 20. */
const IR_VERSION = 9;
/** First operator set in which a reduction takes its axes as an input instead of an attribute. */
const AXES_INPUT_SINCE = { ReduceSum: 13, ReduceMean: 18, ReduceMax: 18 } as const;

/** Operator set of the graphs built here: the first with Gelu. */
export const BUILT_OPSET = 20;

export class OnnxGraph {
  readonly opset: number;
  readonly #prefix: string;
  readonly #graph = new ProtobufWriter();
  readonly #constants = new Map<string, string>();
  #nextId = 0;

  /** `prefix` starts every name made here, so that a fragment's names cannot meet those of the graph it joins. */
  constructor(options: { readonly opset: number; readonly prefix: string }) {
    this.opset = options.opset;
    this.#prefix = options.prefix;
  }

  input(name: string, type: ElementType, shape: readonly Dimension[]): string {
    this.#graph.message(GRAPH.input, valueInfo(name, type, shape));
    return name;
  }

  output(name: string, type: ElementType, shape: readonly Dimension[]): void {
    this.#graph.message(GRAPH.output, valueInfo(name, type, shape));
  }

  /** Adds a node with one output and returns that output's name; `outputName` gives it a fixed one. */
  node(
    opType: string,
    inputs: readonly string[],
    attributes: Readonly<Record<string, AttributeValue>> = {},
    outputName?: string,
  ): string {
    const name = this.#name(opType);
    const node = new ProtobufWriter();
    for (const input of inputs) node.string(NODE.input, input);
    node
      .string(NODE.output, outputName ?? name)
      .string(NODE.name, name)
      .string(NODE.opType, opType);
    for (const [key, value] of Object.entries(attributes))
      node.message(NODE.attribute, attribute(key, value));
    this.#graph.message(GRAPH.node, node);
    return outputName ?? name;
  }

  /** Reduces one axis. */
  reduce(
    opType: keyof typeof AXES_INPUT_SINCE,
    input: string,
    axis: number,
    options: { readonly keepDims: boolean },
  ): string {
    const keepdims = options.keepDims ? 1 : 0;
    return this.opset < AXES_INPUT_SINCE[opType]
      ? this.node(opType, [input], { axes: [axis], keepdims })
      : this.node(opType, [input, this.ints([axis])], { keepdims });
  }

  cast(input: string, type: ElementType): string {
    return this.node("Cast", [input], { to: ELEMENT_TYPE[type] });
  }

  /** An int64 vector. */
  ints(values: readonly number[]): string {
    return this.#constant("int64", BigInt64Array.from(values, BigInt), [values.length]);
  }

  /** An int64 scalar. */
  int(value: number): string {
    return this.#constant("int64", BigInt64Array.of(BigInt(value)), []);
  }

  /** A float32 vector. */
  floats(values: readonly number[]): string {
    return this.#constant("float32", Float32Array.from(values), [values.length]);
  }

  /** A float32 scalar. */
  float(value: number): string {
    return this.#constant("float32", Float32Array.of(value), []);
  }

  /** A tensor of a file beside the model. */
  external(name: string, tensor: ExternalTensor): string {
    const proto = new ProtobufWriter();
    for (const length of tensor.shape) proto.varint(TENSOR.dims, length);
    proto.varint(TENSOR.dataType, ELEMENT_TYPE[tensor.type]).string(TENSOR.name, name);
    const place = { location: tensor.location, offset: tensor.offset, length: tensor.byteLength };
    for (const [key, value] of Object.entries(place)) {
      const entry = new ProtobufWriter().string(ENTRY.key, key).string(ENTRY.value, String(value));
      proto.message(TENSOR.externalData, entry);
    }
    proto.varint(TENSOR.dataLocation, DATA_LOCATION_EXTERNAL);
    this.#graph.message(GRAPH.initializer, proto);
    return name;
  }

  /** A complete model file. */
  toModel(): Uint8Array {
    return new ProtobufWriter()
      .varint(MODEL.irVersion, IR_VERSION)
      .string(MODEL.producerName, "sheaf")
      .message(MODEL.graph, new ProtobufWriter().string(GRAPH.name, "sheaf").append(this.#graph))
      .message(MODEL.opsetImport, new ProtobufWriter().varint(OPSET.version, this.opset))
      .finish();
  }

  /** Bytes that extend the graph of a model with the same operator set when they are appended to its file. */
  toFragment(): Uint8Array {
    return new ProtobufWriter().message(MODEL.graph, this.#graph).finish();
  }

  /** Equal constants are stored once. */
  #constant(type: "int64" | "float32", data: BigInt64Array | Float32Array, shape: readonly number[]): string {
    const bytes = Buffer.from(data.buffer);
    const key = `${type}[${shape.join()}]${bytes.toString("base64")}`;
    const known = this.#constants.get(key);
    if (known !== undefined) return known;
    const name = this.#name("constant");
    const proto = new ProtobufWriter();
    for (const length of shape) proto.varint(TENSOR.dims, length);
    proto.varint(TENSOR.dataType, ELEMENT_TYPE[type]).string(TENSOR.name, name).bytes(TENSOR.rawData, bytes);
    this.#graph.message(GRAPH.initializer, proto);
    this.#constants.set(key, name);
    return name;
  }

  #name(kind: string): string {
    return `${this.#prefix}/${kind}_${this.#nextId++}`;
  }
}

function attribute(name: string, value: AttributeValue): ProtobufWriter {
  const proto = new ProtobufWriter().string(ATTRIBUTE.name, name);
  if (typeof value === "number") {
    return proto.varint(ATTRIBUTE.int, value).varint(ATTRIBUTE.type, ATTRIBUTE_TYPE.int);
  }
  if (typeof value === "string") {
    return proto.string(ATTRIBUTE.string, value).varint(ATTRIBUTE.type, ATTRIBUTE_TYPE.string);
  }
  if ("float" in value) {
    return proto.float(ATTRIBUTE.float, value.float).varint(ATTRIBUTE.type, ATTRIBUTE_TYPE.float);
  }
  for (const item of value) proto.varint(ATTRIBUTE.ints, item);
  return proto.varint(ATTRIBUTE.type, ATTRIBUTE_TYPE.ints);
}

function valueInfo(name: string, type: ElementType, shape: readonly Dimension[]): ProtobufWriter {
  const dims = new ProtobufWriter();
  for (const length of shape) {
    const dim = new ProtobufWriter();
    if (typeof length === "number") dim.varint(TYPE.dimValue, length);
    else dim.string(TYPE.dimName, length);
    dims.message(TYPE.dim, dim);
  }
  const tensor = new ProtobufWriter().varint(TYPE.elementType, ELEMENT_TYPE[type]).message(TYPE.shape, dims);
  return new ProtobufWriter()
    .string(VALUE.name, name)
    .message(VALUE.type, new ProtobufWriter().message(TYPE.tensor, tensor));
}
