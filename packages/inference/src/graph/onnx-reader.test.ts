import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readOnnxSummary } from "./onnx-reader.ts";
import { BUILT_OPSET, OnnxGraph } from "./onnx-writer.ts";
import { ProtobufWriter } from "./protobuf-writer.ts";
import { fixtureFolder } from "./testing/fixture-models.ts";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "sheaf-onnx-"));
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function place(name: string, ...parts: readonly Uint8Array[]): Promise<string> {
  const file = path.join(folder, name);
  await writeFile(file, Buffer.concat(parts));
  return file;
}

/** y = x * 2 - 3, with the constants in the graph. */
function doubled(): OnnxGraph {
  const graph = new OnnxGraph({ opset: BUILT_OPSET, prefix: "test" });
  const x = graph.input("x", "float32", ["rows", 2]);
  graph.node("Sub", [graph.node("Mul", [x, graph.float(2)]), graph.floats([3, -3])], {}, "y");
  graph.output("y", "float32", ["rows", 2]);
  return graph;
}

describe("a written model", () => {
  test("is read back", async () => {
    const summary = await readOnnxSummary(await place("model.onnx", doubled().toModel()));
    expect(summary.opset).toBe(BUILT_OPSET);
    expect(summary.inputs).toEqual([{ name: "x", elementType: 1, shape: ["rows", 2] }]);
    expect(summary.outputs).toEqual([{ name: "y", elementType: 1, shape: ["rows", 2] }]);
    expect(summary.producers.get("y")).toMatchObject({ opType: "Sub" });
    expect(summary.externalFiles).toEqual([]);
  });

  test("runs, and so does one that a fragment extends", async () => {
    const fragment = new OnnxGraph({ opset: BUILT_OPSET, prefix: "more" });
    fragment.node("Neg", ["y"], {}, "z");
    fragment.output("z", "float32", ["rows", 2]);
    const file = await place("extended.onnx", doubled().toModel(), fragment.toFragment());
    expect((await readOnnxSummary(file)).outputs.map(({ name }) => name)).toEqual(["y", "z"]);
    const session = await InferenceSession.create(file);
    const { y, z } = await session.run({ x: new Tensor("float32", [1, 2, 3, 4], [2, 2]) });
    expect(y?.data).toEqual(Float32Array.of(-1, 7, 3, 11));
    expect(z?.data).toEqual(Float32Array.of(1, -7, -3, -11));
    await session.release();
  });

  test("stores equal constants once and keeps negative integers", async () => {
    const graph = new OnnxGraph({ opset: BUILT_OPSET, prefix: "test" });
    const x = graph.input("x", "float32", ["rows", 2]);
    const shape = graph.ints([1, -1]);
    expect(graph.ints([1, -1])).toBe(shape);
    graph.node("Softmax", [graph.node("Reshape", [x, shape])], { axis: -1 }, "y");
    graph.output("y", "float32", [1, "all"]);
    const session = await InferenceSession.create(await place("negative.onnx", graph.toModel()));
    const { y } = await session.run({ x: new Tensor("float32", [0, 0, 0, 0], [2, 2]) });
    expect(y?.data).toEqual(Float32Array.of(0.25, 0.25, 0.25, 0.25));
    await session.release();
  });

  test("names the files of its tensors and no initializer among its inputs", async () => {
    const graph = new OnnxGraph({ opset: BUILT_OPSET, prefix: "test" });
    const x = graph.input("x", "float32", [2]);
    // Files of IR version 3 list their weights as inputs too.
    graph.input("w", "float32", [2]);
    const tensor = {
      type: "float32",
      shape: [2],
      location: "weights.bin",
      offset: 8,
      byteLength: 8,
    } as const;
    graph.node("Add", [x, graph.external("w", tensor)], {}, "y");
    graph.output("y", "float32", [2]);
    const summary = await readOnnxSummary(await place("external.onnx", graph.toModel()));
    expect(summary.externalFiles).toEqual(["weights.bin"]);
    expect(summary.inputs.map(({ name }) => name)).toEqual(["x"]);
  });

  test("names the file of a tensor inside a node", async () => {
    const entry = new ProtobufWriter().string(1, "location").string(2, "constant.bin");
    const attribute = new ProtobufWriter()
      .string(1, "value")
      .message(5, new ProtobufWriter().message(13, entry));
    const node = new ProtobufWriter().string(2, "c").string(4, "Constant").message(5, attribute);
    const graph = new ProtobufWriter().message(1, node);
    const bytes = new ProtobufWriter().message(7, graph).finish();
    const { externalFiles } = await readOnnxSummary(await place("node.onnx", doubled().toModel(), bytes));
    expect(externalFiles).toEqual(["constant.bin"]);
  });
});

describe("files of other exporters", () => {
  test("inputs and outputs are those that ONNX Runtime reports", async () => {
    for (const model of ["tiny-bert-mean/onnx", "tiny-qwen3-last/onnx_kv", "tiny-xlmr-cls/onnx"]) {
      const file = path.join(fixtureFolder(model), "model.onnx");
      const summary = await readOnnxSummary(file);
      const session = await InferenceSession.create(file);
      expect(summary.inputs.map(({ name, shape }) => ({ name, shape }))).toEqual(
        session.inputMetadata.map((input) => ({ name: input.name, shape: input.isTensor && input.shape })),
      );
      expect(summary.outputs.map(({ name }) => name)).toEqual(session.outputNames);
      await session.release();
    }
  });

  test("external data is found", async () => {
    const { externalFiles } = await readOnnxSummary(
      path.join(fixtureFolder("tiny-xlmr-cls"), "onnx/model.onnx"),
    );
    expect(externalFiles).toEqual(["model.onnx_data"]);
  });
});

describe("a damaged file", () => {
  test("is refused by name, wherever it is cut", async () => {
    const whole = await readFile(path.join(fixtureFolder("tiny-bert-mean"), "onnx/model.onnx"));
    for (const end of [0, 1, 7, 100, Math.floor(whole.length / 2), whole.length - 1]) {
      const file = await place("cut.onnx", whole.subarray(0, end));
      await expect(readOnnxSummary(file)).rejects.toMatchObject({
        code: "model_unavailable",
        message: expect.stringContaining("cut.onnx: not an ONNX model") as string,
      });
    }
  });

  test("with an endless number or an unknown wire type is refused", async () => {
    for (const bytes of [Buffer.alloc(32, 0xff), Buffer.from([0x0b, 0x00]), Buffer.from("{}")]) {
      await expect(readOnnxSummary(await place("noise.onnx", bytes))).rejects.toThrow("not an ONNX model");
    }
  });
});
