/**
 * What Sheaf must know of an ONNX file before ONNX Runtime opens it: inputs, outputs, operator set, the operators by
 * output name, and the files its tensors live in. Weights are skipped, never read. Field numbers:
 * https://github.com/onnx/onnx/blob/main/onnx/onnx.proto.
 */
import { SheafError } from "@sheaf/protocol";
import { openModelFile } from "./model-file.ts";
import type { Dimension } from "./onnx-writer.ts";
import { type ByteRange, ProtobufFile } from "./protobuf-reader.ts";

/** An input or output of the graph. */
export interface OnnxValue {
  readonly name: string;
  /** TensorProto.DataType; 0 when the file does not say. */
  readonly elementType: number;
  /** Lengths, and names of axes of any length (`""` if unnamed); `null` when the file does not say. */
  readonly shape: readonly Dimension[] | null;
}

interface OnnxNode {
  readonly opType: string;
  readonly inputs: readonly string[];
}

export interface OnnxSummary {
  /** Version of the default operator set. */
  readonly opset: number;
  /** Without initializers, which old files list among the inputs. */
  readonly inputs: readonly OnnxValue[];
  readonly outputs: readonly OnnxValue[];
  /** Output name -> the node that computes it. */
  readonly producers: ReadonlyMap<string, OnnxNode>;
  /** Files with tensor data, relative to the model, as written in it. */
  readonly externalFiles: readonly string[];
}

interface Draft {
  opset: number;
  readonly inputs: OnnxValue[];
  readonly outputs: OnnxValue[];
  readonly producers: Map<string, OnnxNode>;
  readonly initializers: Set<string>;
  readonly externalFiles: Set<string>;
}

const MODEL = { graph: 7, opsetImport: 8 } as const;
const OPSET = { domain: 1, version: 2 } as const;
const GRAPH = { node: 1, initializer: 5, input: 11, output: 12, sparseInitializer: 15 } as const;
const NODE = { input: 1, output: 2, opType: 4, attribute: 5 } as const;
const ATTRIBUTE = { tensor: 5, graph: 6, tensors: 10, graphs: 11 } as const;
const TENSOR = { name: 8, externalData: 13 } as const;
const ENTRY = { key: 1, value: 2 } as const;
const VALUE = { name: 1, type: 2 } as const;
const TYPE = { tensor: 1, elementType: 1, shape: 2, dim: 1, dimValue: 1, dimName: 2 } as const;

/** Reads the summary of an ONNX file; 503 `model_unavailable` if it is none. */
export async function readOnnxSummary(path: string): Promise<OnnxSummary> {
  const file = await openModelFile(path);
  try {
    const { size } = await file.stat();
    const reader = new OnnxReader(new ProtobufFile(file, path));
    const draft = await reader.model({ start: 0, end: size });
    if (draft.opset === 0 || draft.outputs.length === 0) {
      throw new SheafError("model_unavailable", `${path}: not an ONNX model (no operator set or no outputs)`);
    }
    return {
      opset: draft.opset,
      inputs: draft.inputs.filter(({ name }) => !draft.initializers.has(name)),
      outputs: draft.outputs,
      producers: draft.producers,
      externalFiles: [...draft.externalFiles],
    };
  } finally {
    await file.close();
  }
}

class OnnxReader {
  readonly #file: ProtobufFile;
  readonly #draft: Draft = {
    opset: 0,
    inputs: [],
    outputs: [],
    producers: new Map(),
    initializers: new Set(),
    externalFiles: new Set(),
  };

  constructor(file: ProtobufFile) {
    this.#file = file;
  }

  async model(range: ByteRange): Promise<Draft> {
    for await (const field of this.#file.fields(range)) {
      if (!("range" in field)) continue;
      if (field.number === MODEL.graph) await this.#graph(field.range, { nested: false });
      else if (field.number === MODEL.opsetImport) await this.#opset(field.range);
    }
    return this.#draft;
  }

  async #opset(range: ByteRange): Promise<void> {
    let domain = "";
    let version = 0;
    for await (const field of this.#file.fields(range)) {
      if ("value" in field && field.number === OPSET.version) version = Number(field.value);
      else if ("range" in field && field.number === OPSET.domain)
        domain = await this.#file.string(field.range);
    }
    if (domain === "" || domain === "ai.onnx") this.#draft.opset = version;
  }

  /** Of a nested graph (the branch of an `If`) only the files count. */
  async #graph(range: ByteRange, { nested }: { readonly nested: boolean }): Promise<void> {
    for await (const field of this.#file.fields(range)) {
      if (!("range" in field)) continue;
      switch (field.number) {
        case GRAPH.node:
          await this.#node(field.range, { nested });
          break;
        case GRAPH.initializer: {
          const name = await this.#tensor(field.range);
          if (!nested) this.#draft.initializers.add(name);
          break;
        }
        case GRAPH.input:
          if (!nested) this.#draft.inputs.push(await this.#value(field.range));
          break;
        case GRAPH.output:
          if (!nested) this.#draft.outputs.push(await this.#value(field.range));
          break;
        default:
      }
    }
  }

  async #node(range: ByteRange, { nested }: { readonly nested: boolean }): Promise<void> {
    const inputs: string[] = [];
    const outputs: string[] = [];
    let opType = "";
    for await (const field of this.#file.fields(range)) {
      if (!("range" in field)) continue;
      if (field.number === NODE.input) inputs.push(await this.#file.string(field.range));
      else if (field.number === NODE.output) outputs.push(await this.#file.string(field.range));
      else if (field.number === NODE.opType) opType = await this.#file.string(field.range);
      else if (field.number === NODE.attribute) await this.#attribute(field.range);
    }
    if (!nested) for (const output of outputs) this.#draft.producers.set(output, { opType, inputs });
  }

  async #attribute(range: ByteRange): Promise<void> {
    for await (const field of this.#file.fields(range)) {
      if (!("range" in field)) continue;
      if (field.number === ATTRIBUTE.tensor || field.number === ATTRIBUTE.tensors) {
        await this.#tensor(field.range);
      } else if (field.number === ATTRIBUTE.graph || field.number === ATTRIBUTE.graphs) {
        await this.#graph(field.range, { nested: true });
      }
    }
  }

  /** Notes the tensor's file, if it has one, and returns its name. */
  async #tensor(range: ByteRange): Promise<string> {
    let name = "";
    for await (const field of this.#file.fields(range)) {
      if (!("range" in field)) continue;
      if (field.number === TENSOR.name) name = await this.#file.string(field.range);
      else if (field.number === TENSOR.externalData) await this.#externalEntry(field.range);
    }
    return name;
  }

  async #externalEntry(range: ByteRange): Promise<void> {
    let key = "";
    let value = "";
    for await (const field of this.#file.fields(range)) {
      if (!("range" in field)) continue;
      if (field.number === ENTRY.key) key = await this.#file.string(field.range);
      else if (field.number === ENTRY.value) value = await this.#file.string(field.range);
    }
    if (key === "location") this.#draft.externalFiles.add(value);
  }

  async #value(range: ByteRange): Promise<OnnxValue> {
    let name = "";
    let type: Pick<OnnxValue, "elementType" | "shape"> = { elementType: 0, shape: null };
    for await (const field of this.#file.fields(range)) {
      if (!("range" in field)) continue;
      if (field.number === VALUE.name) name = await this.#file.string(field.range);
      else if (field.number === VALUE.type) type = await this.#type(field.range);
    }
    return { name, ...type };
  }

  async #type(range: ByteRange): Promise<Pick<OnnxValue, "elementType" | "shape">> {
    let elementType = 0;
    let shape: Dimension[] | null = null;
    for await (const kind of this.#file.fields(range)) {
      if (!("range" in kind) || kind.number !== TYPE.tensor) continue;
      for await (const field of this.#file.fields(kind.range)) {
        if ("value" in field && field.number === TYPE.elementType) elementType = Number(field.value);
        else if ("range" in field && field.number === TYPE.shape) shape = await this.#shape(field.range);
      }
    }
    return { elementType, shape };
  }

  async #shape(range: ByteRange): Promise<Dimension[]> {
    const shape: Dimension[] = [];
    for await (const dim of this.#file.fields(range)) {
      if (!("range" in dim) || dim.number !== TYPE.dim) continue;
      let length: Dimension = "";
      for await (const field of this.#file.fields(dim.range)) {
        if ("value" in field && field.number === TYPE.dimValue) length = Number(field.value);
        else if ("range" in field && field.number === TYPE.dimName)
          length = await this.#file.string(field.range);
      }
      shape.push(length);
    }
    return shape;
  }
}
