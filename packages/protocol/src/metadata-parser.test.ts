import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readJson } from "./json/json-reader.ts";
import { writeMetadata } from "./json/json-writer.ts";
import { integerArray } from "./integer-array.ts";
import { LIMITS } from "./limits.ts";
import { type MetadataValue, metadataKind } from "./metadata.ts";
import { parseMetadata, parseMetadataPatch } from "./metadata-parser.ts";
import { refusal } from "./testing/refusal.ts";

const read = (text: string): unknown => readJson(new TextEncoder().encode(text));
const parse = (text: string) => parseMetadata(read(text), "metadatas[0]");

describe("parseMetadata", () => {
  it.each([
    ["true", true, "bool"],
    ["3", 3n, "int"],
    ["3.0", 3, "float"],
    ["-0.0", -0, "float"],
    ["1e2", 100, "float"],
    ["2.5", 2.5, "float"],
    ["9007199254740993", 2n ** 53n + 1n, "int"],
    ["9223372036854775807", 2n ** 63n - 1n, "int"],
    ["-9223372036854775808", -(2n ** 63n), "int"],
    ["9223372036854775808", 2 ** 63, "float"],
    ["18446744073709551615", 2 ** 64, "float"],
    ["1e300", 1e300, "float"],
    ['"1"', "1", "string"],
    ["[]", [], "bool_array"],
    ["[true,false]", [true, false], "bool_array"],
    ["[1,2]", Int8Array.of(1, 2), "int_array"],
    ["[1,200]", Int16Array.of(1, 200), "int_array"],
    ["[-32769,2]", Int32Array.of(-32_769, 2), "int_array"],
    ["[1,2147483648]", BigInt64Array.of(1n, 2_147_483_648n), "int_array"],
    ["[1,2.5]", Float64Array.of(1, 2.5), "float_array"],
    ["[1,2.0]", Float64Array.of(1, 2), "float_array"],
    ["[9223372036854775808,1]", Float64Array.of(2 ** 63, 1), "float_array"],
    ['["a",""]', ["a", ""], "string_array"],
  ] as const)("keeps the kind of %s", (text, value, kind) => {
    const parsed = parse(`{"k":${text}}`).get("k")!;
    expect(parsed).toEqual(value);
    expect(metadataKind(parsed)).toBe(kind);
  });

  it.each([
    '{"#type":"sparse_vector","indices":[0,7,4294967295],"values":[1.5,-2.0,3]}',
    '{"indices":[0,7,4294967295],"values":[1.5,-2.0,3],"tokens":null}',
  ])("reads a sparse vector %s", (text) => {
    const value = parse(`{"k":${text}}`).get("k")!;
    expect(metadataKind(value)).toBe("sparse_vector");
    expect(value).toEqual({
      indices: Uint32Array.of(0, 7, 4_294_967_295),
      values: Float32Array.of(1.5, -2, 3),
    });
  });

  it("keeps tokens, and an empty sparse vector", () => {
    expect(parse('{"k":{"indices":[1],"values":[1],"tokens":["a"]}}').get("k")).toHaveProperty("tokens", [
      "a",
    ]);
    expect(parse('{"k":{"indices":[],"values":[]}}').get("k")).toEqual({
      indices: new Uint32Array(),
      values: new Float32Array(),
    });
  });

  it("keeps the order of keys and treats `__proto__` as one", () => {
    expect([...parse('{"z":1,"__proto__":2.0,"a":3}').entries()]).toEqual([
      ["z", 1n],
      ["__proto__", 2],
      ["a", 3n],
    ]);
  });
});

describe("metadata is refused", () => {
  it.each([
    ["5", "422 metadatas[0]: must be an object"],
    ["3.0", "422 metadatas[0]: must be an object"],
    ["[]", "422 metadatas[0]: must be an object"],
    ['{"k":null}', "422 metadatas[0].k: must not be null; only update and upsert take null, to remove a key"],
    ['{"k":{}}', "422 metadatas[0].k: must not be an object, except for a sparse vector"],
    ['{"k":{"a":1}}', "422 metadatas[0].k: must not be an object, except for a sparse vector"],
    ['{"k":[true,1]}', "422 metadatas[0].k: must hold values of one kind"],
    ['{"k":[1,"a"]}', "422 metadatas[0].k: must hold values of one kind"],
    ['{"k":["a",1.5]}', "422 metadatas[0].k: must hold values of one kind"],
    ['{"k":["a",null]}', "422 metadatas[0].k[1]: must be a string, number or boolean"],
    ['{"k":[[1]]}', "422 metadatas[0].k[0]: must be a string, number or boolean"],
    ['{"":1}', "400 metadatas[0]: Metadata key cannot be empty"],
    ['{"#a":1}', "400 metadatas[0].#a: Metadata key cannot start with '#' or '$'"],
    ['{"$a":1}', "400 metadatas[0].$a: Metadata key cannot start with '#' or '$'"],
    ['{"k":{"#type":"dense","indices":[],"values":[]}}', "422 metadatas[0].k.#type: must be `sparse_vector`"],
    ['{"k":{"indices":[1]}}', "422 metadatas[0].k.values: is required"],
    ['{"k":{"indices":1,"values":[]}}', "422 metadatas[0].k.indices: must be an array"],
    [
      '{"k":{"indices":[-1],"values":[1]}}',
      "422 metadatas[0].k.indices[0]: must be an unsigned 32-bit integer",
    ],
    [
      '{"k":{"indices":[1.0],"values":[1]}}',
      "422 metadatas[0].k.indices[0]: must be an unsigned 32-bit integer",
    ],
    [
      '{"k":{"indices":[4294967296],"values":[1]}}',
      "422 metadatas[0].k.indices[0]: must be an unsigned 32-bit integer",
    ],
    ['{"k":{"indices":[1],"values":["a"]}}', "422 metadatas[0].k.values[0]: must be a number"],
    [
      '{"k":{"indices":[1],"values":[1e39]}}',
      "400 metadatas[0].k.values[0]: must be finite as a 32-bit float",
    ],
    ['{"k":{"indices":[1],"values":[1],"tokens":[1]}}', "422 metadatas[0].k.tokens[0]: must be a string"],
    [
      '{"k":{"indices":[2,1],"values":[1,1]}}',
      "400 metadatas[0].k.indices[1]: Sparse vector indices must be sorted in strictly ascending order (no duplicates)",
    ],
    [
      '{"k":{"indices":[1,1],"values":[1,1]}}',
      "400 metadatas[0].k.indices[1]: Sparse vector indices must be sorted in strictly ascending order (no duplicates)",
    ],
    [
      '{"k":{"indices":[1],"values":[]}}',
      "400 metadatas[0].k: Sparse vector indices, values, and tokens (when present) must have the same length",
    ],
    [
      '{"k":{"indices":[1],"values":[1],"tokens":[]}}',
      "400 metadatas[0].k: Sparse vector indices, values, and tokens (when present) must have the same length",
    ],
    [
      '{"k":{"indices":[],"values":[],"extra":1}}',
      "400 metadatas[0].k.extra: is unknown, expected `#type`, `indices`, `values` or `tokens`",
    ],
  ])("%s", (text, message) => {
    expect(refusal(() => parse(text))).toBe(message);
  });

  const ones = (count: number) => Array.from({ length: count }, () => 1);
  const at = (name: string, value: unknown) => ({ [name]: value });
  const sparse = (entries: number) => ({
    indices: Array.from({ length: entries }, (_, index) => index),
    values: Array.from({ length: entries }, () => 0.5),
  });
  const keys = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 1]));
  const { metadataKeys, metadataKeyBytes, metadataValueBytes, sparseNonZeros } = LIMITS;

  it.each([
    ["keys", keys(metadataKeys), keys(metadataKeys + 1), /holds 1025 keys, the limit is 1024$/],
    [
      "key bytes",
      at("é".repeat(metadataKeyBytes / 2), 1),
      at(`${"é".repeat(metadataKeyBytes / 2)}a`, 1),
      /Metadata key is over 256 bytes$/,
    ],
    [
      "value bytes",
      at("k", "é".repeat(metadataValueBytes / 2)),
      at("k", `${"é".repeat(metadataValueBytes / 2)}a`),
      /^400 m\.k: is over 1048576 bytes$/,
    ],
    [
      "array bytes",
      at("k", ones(metadataValueBytes / 8)),
      at("k", ones(metadataValueBytes / 8 + 1)),
      /^400 m\.k: is over 1048576 bytes$/,
    ],
    [
      "strings of an array, which take memory where they are empty",
      at(
        "k",
        Array.from({ length: metadataValueBytes }, () => ""),
      ),
      at(
        "k",
        Array.from({ length: metadataValueBytes + 1 }, () => ""),
      ),
      /^400 m\.k: is over 1048576 bytes$/,
    ],
    [
      "entries of a sparse vector",
      at("k", sparse(sparseNonZeros)),
      at("k", sparse(sparseNonZeros + 1)),
      /^400 m\.k: holds 16385 entries, the limit is 16384$/,
    ],
    [
      "bytes of tokens",
      at("k", { ...sparse(1), tokens: ["a".repeat(metadataValueBytes)] }),
      at("k", { ...sparse(1), tokens: ["a".repeat(metadataValueBytes + 1)] }),
      /^400 m\.k\.tokens: is over 1048576 bytes$/,
    ],
  ])("over the limit of %s, not at it", (_name, within, over, message) => {
    expect(refusal(() => parseMetadata(within, "m"))).toBe("accepted");
    expect(refusal(() => parseMetadata(over, "m"))).toMatch(message);
  });
});

describe("parseMetadataPatch", () => {
  it("keeps null as the wish to remove a key", () => {
    expect([...parseMetadataPatch({ a: null, b: 1 }, "m")]).toEqual([
      ["a", null],
      ["b", 1n],
    ]);
  });

  it("refuses the rest like metadata", () => {
    expect(refusal(() => parseMetadataPatch({ "#a": null }, "m"))).toMatch(/^400 m\.#a: /);
    expect(refusal(() => parseMetadataPatch({ a: {} }, "m"))).toMatch(/^422 m\.a: /);
  });
});

describe("metadata through JSON and back", () => {
  const double = fc.double({ noNaN: true, noDefaultInfinity: true });
  const whole = fc.oneof(fc.integer(), fc.constantFrom(-0, 1e21, -1e300, 2 ** 63, 2 ** 53)).map(Number);
  const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
  const text = fc.string({ unit: "binary" });
  const float32 = fc.float({ noNaN: true, noDefaultInfinity: true });
  const sparse = fc
    .uniqueArray(fc.tuple(fc.integer({ min: 0, max: 2 ** 32 - 1 }), float32), {
      selector: ([index]) => index,
      maxLength: 6,
    })
    .map((entries) => {
      const sorted = entries.toSorted(([a], [b]) => a - b);
      return {
        indices: Uint32Array.from(sorted, ([index]) => index),
        values: Float32Array.from(sorted, ([, value]) => value),
      };
    });
  const value: fc.Arbitrary<MetadataValue> = fc.oneof(
    fc.boolean(),
    double,
    whole,
    int64,
    text,
    sparse,
    fc.array(fc.boolean()),
    fc.array(int64, { minLength: 1 }).map(integerArray),
    fc.array(fc.integer({ min: -300, max: 300 }), { minLength: 1 }).map(integerArray),
    fc.array(fc.oneof(double, whole), { minLength: 1 }).map((list) => Float64Array.from(list)),
    fc.array(text, { minLength: 1 }),
  );
  const key = fc
    .string({ minLength: 1, maxLength: 20 })
    .filter((candidate) => !candidate.startsWith("#") && !candidate.startsWith("$"));

  it("keeps every value and its kind", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(key, value), { selector: ([name]) => name }), (entries) => {
        // Integer-like keys come first in JavaScript objects, whatever their place in the text.
        const metadata = new Map(entries.filter(([name]) => !/^\d+$/.test(name)));
        const text = writeMetadata(metadata);
        if (metadata.size === 0) expect(text).toBe("null");
        else expect([...parse(text)]).toEqual([...metadata]);
      }),
      { numRuns: 1000 },
    );
  });
});
