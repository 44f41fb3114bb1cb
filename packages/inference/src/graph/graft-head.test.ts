import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { BUILT_OPSET, type Dimension, type ElementType, OnnxGraph } from "./onnx-writer.ts";
import type { Head } from "./pooling-head.ts";
import { type PreparedModel, prepareModelFolder } from "./prepare-model.ts";
import { FixtureSession } from "./testing/fixture-models.ts";

const LENGTH_AXES: readonly Dimension[] = ["batch", "length"];

let root: string;

beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), "sheaf-graft-"));
});

afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

/** A model folder whose ONNX file takes ids and mask and computes what `body` adds. */
async function prepare(
  head: Head,
  body: (graph: OnnxGraph, ids: string) => void,
  opset = BUILT_OPSET,
): Promise<PreparedModel> {
  const graph = new OnnxGraph({ opset, prefix: "upstream" });
  const ids = graph.input("input_ids", "int64", LENGTH_AXES);
  graph.input("attention_mask", "int64", LENGTH_AXES);
  body(graph, ids);
  await writeFile(path.join(root, "model.onnx"), graph.toModel());
  await writeFile(path.join(root, "config.json"), "{}");
  return prepareModelFolder(root, { head, workFolder: path.join(root, "work") });
}

/** Token outputs [batch, length, 2]: the id and its negative. */
function addTokens(graph: OnnxGraph, ids: string, output: { name: string; type: ElementType }): void {
  const column = graph.node("Reshape", [graph.cast(ids, "float32"), graph.ints([0, -1, 1])]);
  const both = graph.node("Concat", [column, graph.node("Neg", [column])], { axis: -1 });
  graph.node("Cast", [both], { to: output.type === "float16" ? 10 : 1 }, output.name);
  graph.output(output.name, output.type, ["batch", "length", 2]);
}

async function run(model: PreparedModel, rows: readonly (readonly number[])[]): Promise<number[][]> {
  const session = await FixtureSession.open(model);
  try {
    return (await session.run(rows)).map((vector) => [...vector]);
  } finally {
    await session.close();
  }
}

test("vectors that are only pooled are scaled to unit length", async () => {
  const model = await prepare("mean", (graph, ids) => {
    // A mean ends in a division too, though not by a norm.
    graph.node("Div", [graph.cast(ids, "float32"), graph.float(2)], {}, "sentence_embedding");
    graph.output("sentence_embedding", "float32", ["batch", 2]);
  });
  expect(model).toMatchObject({ output: "sheaf_pooled", width: 2 });
  const [vector] = await run(model, [[30, 40]]);
  expect(vector?.[0]).toBeCloseTo(0.6, 6);
  expect(vector?.[1]).toBeCloseTo(0.8, 6);
});

test("vectors of unit length are left alone", async () => {
  const model = await prepare("mean", (graph, ids) => {
    const x = graph.cast(ids, "float32");
    const squares = graph.reduce("ReduceSum", graph.node("Mul", [x, x]), -1, { keepDims: true });
    const norm = graph.node("Max", [graph.node("Sqrt", [squares]), graph.float(1e-12)]);
    graph.node("Div", [x, norm], {}, "sentence_embedding");
    graph.output("sentence_embedding", "float32", ["batch", 2]);
  });
  expect(model).toMatchObject({ output: "sentence_embedding", modelPath: path.join(root, "model.onnx") });
});

test("half-precision token outputs are pooled in float32", async () => {
  const model = await prepare("last", (graph, ids) => {
    addTokens(graph, ids, { name: "last_hidden_state", type: "float16" });
  });
  const unit = Math.fround(Math.SQRT1_2);
  for (const [first, second] of await run(model, [[3, 5, 7], [9]])) {
    expect(first).toBeCloseTo(unit, 6);
    expect(second).toBeCloseTo(-unit, 6);
  }
});

test.each([11, 14, 17, BUILT_OPSET])("a sparse head joins operator set %i", async (opset) => {
  const body = (graph: OnnxGraph, ids: string): void => {
    addTokens(graph, ids, { name: "scores", type: "float32" });
  };
  const rows = await run(await prepare("splade", body, opset), [[3, 5, 2], [9]]);
  expect(rows[0]?.[0]).toBeCloseTo(Math.log(6), 6);
  expect(rows[1]?.[0]).toBeCloseTo(Math.log(10), 6);
  expect(rows.map((row) => row[1])).toEqual([0, 0]);
});

test("padding never reaches a sparse vector", async () => {
  const model = await prepare("splade", (graph, ids) => {
    // log(1 + relu(10 - id)): padding, id 0, would give the largest value.
    const column = graph.node("Reshape", [graph.cast(ids, "float32"), graph.ints([0, -1, 1])]);
    graph.node("Sub", [graph.float(10), column], {}, "logits");
    graph.output("logits", "float32", ["batch", "length", 1]);
  });
  const rows = await run(model, [[9, 8, 9], [7]]);
  expect(rows.flat().map((value) => Math.expm1(value))).toEqual([expect.closeTo(2, 5), expect.closeTo(3, 5)]);
});

test("what cannot be pooled is refused by name", async () => {
  const two = (graph: OnnxGraph, ids: string): void => {
    addTokens(graph, ids, { name: "first", type: "float32" });
    addTokens(graph, ids, { name: "second", type: "float32" });
  };
  await expect(prepare("cls", two)).rejects.toMatchObject({
    code: "model_unavailable",
    message: expect.stringContaining("first, second") as string,
  });
  const one = (graph: OnnxGraph, ids: string): void => addTokens(graph, ids, { name: "x", type: "float32" });
  await expect(prepare("last", one, 11)).rejects.toThrow("operator set 11 is too old");
});
