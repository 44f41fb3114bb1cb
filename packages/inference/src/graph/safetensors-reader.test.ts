import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readSafeTensors } from "./safetensors-reader.ts";
import { fixtureFolder } from "./testing/fixture-models.ts";
import { readRawTensors, safeTensorsBytes, writeRawTensors } from "./testing/safetensors-writer.ts";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "sheaf-safetensors-"));
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function place(name: string, bytes: Uint8Array | string): Promise<string> {
  const file = path.join(folder, name);
  await writeFile(file, bytes);
  return file;
}

describe("one file", () => {
  test("gives place, shape and type of every float tensor and leaves other buffers out", async () => {
    const file = path.join(fixtureFolder("tiny-bert-mean"), "model.safetensors");
    const tensors = await readSafeTensors(file);
    const raw = await readRawTensors(file);
    expect(raw.get("embeddings.position_ids")?.dtype).toBe("I64");
    expect([...tensors.keys()].toSorted()).toEqual(
      [...raw.keys()].filter((name) => name !== "embeddings.position_ids").toSorted(),
    );
    for (const [name, { type, shape, byteLength }] of tensors) {
      expect({ type, shape, byteLength }).toEqual({
        type: "float32",
        shape: raw.get(name)?.shape,
        byteLength: raw.get(name)?.data.length,
      });
    }
  });

  test("knows half-precision types", async () => {
    const file = path.join(folder, "half.safetensors");
    const data = Buffer.alloc(4);
    await writeRawTensors(
      file,
      new Map([
        ["a", { dtype: "F16", shape: [2], data }],
        ["b", { dtype: "BF16", shape: [1, 2], data }],
      ]),
    );
    const tensors = await readSafeTensors(file);
    expect([...tensors.values()].map(({ type }) => type)).toEqual(["float16", "bfloat16"]);
  });

  test.each([
    ["an empty file", Buffer.alloc(0), "header length 0"],
    ["a header longer than the limit", Buffer.from("ffffffffffffff7f", "hex"), "header length"],
    ["a header longer than the file", Buffer.from("ff00000000000000", "hex"), "header is cut off"],
    ["a header that is no JSON", safeTensorsBytes("{{"), "not valid JSON"],
    ["a header that is no object", safeTensorsBytes("[]"), "not a JSON object"],
    ["a tensor without a description", safeTensorsBytes('{"w":1}'), "tensor w has no description"],
    [
      "a tensor without offsets",
      safeTensorsBytes('{"w":{"dtype":"F32","shape":[1]}}'),
      "tensor w has no dtype",
    ],
    [
      "a negative shape",
      safeTensorsBytes('{"w":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}', Buffer.alloc(4)),
      "tensor w has no dtype",
    ],
    [
      "a tensor behind the end",
      safeTensorsBytes('{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}', Buffer.alloc(4)),
      "tensor w lies outside the file",
    ],
    [
      "a tensor of another length than its shape",
      safeTensorsBytes('{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}', Buffer.alloc(4)),
      "tensor w has 4 bytes, its shape needs 8",
    ],
  ])("refuses %s", async (_, bytes, problem) => {
    const file = await place("damaged.safetensors", bytes);
    await expect(readSafeTensors(file)).rejects.toMatchObject({
      code: "model_unavailable",
      message: expect.stringContaining(problem) as string,
    });
    await expect(readSafeTensors(file)).rejects.toThrow(file);
  });

  test("names a file that is not there", async () => {
    await expect(readSafeTensors(path.join(folder, "none.safetensors"))).rejects.toThrow("ENOENT");
  });
});

describe("shards", () => {
  test("come together as the index places them", async () => {
    const data = Buffer.alloc(4);
    const tensor = { dtype: "F32", shape: [1], data };
    await writeRawTensors(path.join(folder, "a.safetensors"), new Map([["x", tensor]]));
    await writeRawTensors(
      path.join(folder, "b.safetensors"),
      new Map([
        ["x", tensor],
        ["y", tensor],
      ]),
    );
    const index = await place(
      "model.safetensors.index.json",
      JSON.stringify({ weight_map: { x: "a.safetensors", y: "b.safetensors" } }),
    );
    const tensors = await readSafeTensors(index);
    expect([...tensors].map(([name, { file }]) => [name, path.basename(file)])).toEqual([
      ["x", "a.safetensors"],
      ["y", "b.safetensors"],
    ]);
  });

  test("refuses an index that points outside the folder or at nothing", async () => {
    const outside = await place("o.index.json", '{"weight_map":{"x":"../a.safetensors"}}');
    await expect(readSafeTensors(outside)).rejects.toThrow("names no file");
    const nothing = await place("n.index.json", '{"weight_map":{"x":"c.safetensors"}}');
    await expect(readSafeTensors(nothing)).rejects.toThrow("c.safetensors");
    const empty = await place("e.index.json", "{}");
    await expect(readSafeTensors(empty)).rejects.toThrow("no weight_map");
  });
});
