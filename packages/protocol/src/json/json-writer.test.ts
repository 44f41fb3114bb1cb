import { describe, expect, it } from "vitest";
import type { MetadataValue } from "../metadata.ts";
import { writeDense, writeMetadata, writeSparse } from "./json-writer.ts";

describe("writeMetadata", () => {
  it("prints each kind so that it is read back as the same kind", () => {
    const metadata = new Map<string, MetadataValue>([
      ["text", 'a "b" \u2028 é'],
      ["flag", true],
      ["int", 3n],
      ["long", 2n ** 63n - 1n],
      ["float", 3],
      ["negative zero", -0],
      ["large", 1e21],
      ["small", 1.5e-7],
      ["floats", Float64Array.of(1, 2.5)],
      ["ints", Int16Array.of(1, -300)],
      ["longs", BigInt64Array.of(-(2n ** 63n), 1n)],
    ]);
    expect(writeMetadata(metadata)).toBe(
      '{"text":"a \\"b\\" \u2028 é","flag":true,"int":3,"long":9223372036854775807,"float":3.0,' +
        '"negative zero":-0.0,"large":1e+21,"small":1.5e-7,"floats":[1.0,2.5],"ints":[1,-300],"longs":[-9223372036854775808,1]}',
    );
  });

  it("prints sparse vectors with their type and the shortest values", () => {
    const vector = { indices: Uint32Array.of(1, 4_294_967_295), values: Float32Array.of(123.456, 2) };
    expect(writeMetadata(new Map([["k", vector]]))).toBe(
      '{"k":{"#type":"sparse_vector","indices":[1,4294967295],"values":[123.456,2]}}',
    );
    expect(writeMetadata(new Map([["k", { ...vector, tokens: ["a", "b"] }]]))).toContain(
      ',"tokens":["a","b"]}',
    );
  });

  it("prints null for nothing", () => {
    expect(writeMetadata(null)).toBe("null");
    expect(writeMetadata(new Map())).toBe("null");
  });
});

it("prints dense vectors of an embed reply", () => {
  expect(writeDense([])).toBe("[]");
  expect(writeDense([Float32Array.of(0.1, 1), Float32Array.of(-2.5, 0)])).toBe("[[0.1,1.0],[-2.5,0.0]]");
});

it("prints sparse vectors of an embed reply, labels where they are asked for and known", () => {
  const vector = { indices: Uint32Array.of(7), values: Float32Array.of(0.5) };
  const labelled = { ...vector, tokens: ["word"] };
  expect(writeSparse([vector, labelled], false)).toBe(
    '[{"indices":[7],"values":[0.5]},{"indices":[7],"values":[0.5]}]',
  );
  expect(writeSparse([vector, labelled], true)).toBe(
    '[{"indices":[7],"values":[0.5]},{"indices":[7],"values":[0.5],"labels":["word"]}]',
  );
});
