import { describe, expect, test } from "vitest";
import { batchFeeds, describeInputs, type ModelInput } from "./model-inputs.ts";

const INT64 = 7;
const INT32 = 6;
const FLOAT16 = 10;
const ROWS = [[5, 6, 7], [8]];
const PER_TOKEN = ["batch", "length"];

const ids: ModelInput = { name: "input_ids", kind: "input_ids", type: "int64", shape: PER_TOKEN };

describe("describing inputs", () => {
  test("takes what the graph declares", () => {
    const cache = ["batch", 2, "past", 16];
    expect(
      describeInputs("m.onnx", [
        { name: "input_ids", elementType: INT64, shape: PER_TOKEN },
        { name: "attention_mask", elementType: INT32, shape: null },
        { name: "past_key_values.0.key", elementType: FLOAT16, shape: cache },
      ]),
    ).toEqual([
      ids,
      { name: "attention_mask", kind: "attention_mask", type: "int32", shape: PER_TOKEN },
      { name: "past_key_values.0.key", kind: "past_key_value", type: "float16", shape: cache },
    ]);
  });

  test("refuses an input that nobody fills, and a graph without the needed ones", () => {
    const mask = { name: "attention_mask", elementType: INT64, shape: PER_TOKEN };
    const tokens = { ...mask, name: "input_ids" };
    expect(() => describeInputs("m.onnx", [tokens, mask, { ...mask, name: "use_cache_branch" }])).toThrow(
      "m.onnx: input use_cache_branch is not supported",
    );
    expect(() => describeInputs("m.onnx", [tokens])).toThrow("m.onnx: has no input attention_mask");
    expect(() => describeInputs("m.onnx", [{ ...tokens, elementType: 1 }, mask])).toThrow("input_ids");
  });
});

describe("feeding a batch", () => {
  const values = (kind: ModelInput["kind"], paddingSide: "left" | "right"): number[] => {
    const [feed] = batchFeeds([{ ...ids, kind }], ROWS, { padId: 1, paddingSide });
    expect(feed?.dims).toEqual([2, 3]);
    return Array.from(feed?.data ?? [], Number);
  };

  test("pads on the right", () => {
    expect(values("input_ids", "right")).toEqual([5, 6, 7, 8, 1, 1]);
    expect(values("attention_mask", "right")).toEqual([1, 1, 1, 1, 0, 0]);
    expect(values("token_type_ids", "right")).toEqual([0, 0, 0, 0, 0, 0]);
    expect(values("position_ids", "right")).toEqual([0, 1, 2, 0, 0, 0]);
  });

  test("pads on the left", () => {
    expect(values("input_ids", "left")).toEqual([5, 6, 7, 1, 1, 8]);
    expect(values("attention_mask", "left")).toEqual([1, 1, 1, 0, 0, 1]);
    expect(values("position_ids", "left")).toEqual([0, 1, 2, 0, 0, 0]);
  });

  test("feeds the type that is declared", () => {
    const [feed] = batchFeeds([{ ...ids, type: "int32" }], ROWS, { padId: 0 });
    expect(feed).toEqual({
      name: "input_ids",
      type: "int32",
      data: Int32Array.of(5, 6, 7, 8, 0, 0),
      dims: [2, 3],
    });
  });

  test("feeds an empty cache", () => {
    const cache: ModelInput = {
      name: "past_key_values.0.key",
      kind: "past_key_value",
      type: "float16",
      shape: ["batch", 2, "past", 16],
    };
    expect(batchFeeds([cache], ROWS, { padId: 0 })).toEqual([
      { name: cache.name, type: "float16", data: new Uint16Array(0), dims: [2, 2, 0, 16] },
    ]);
  });
});
