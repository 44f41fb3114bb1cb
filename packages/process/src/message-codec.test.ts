import { isDeepStrictEqual } from "node:util";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeMessage, encodeMessage } from "./message-codec.ts";

const HEADROOM = 4;

/** As the other side gets it: in a buffer of its own. */
function bytesOf(message: unknown): Buffer {
  const encoded = encodeMessage(message, HEADROOM).subarray(HEADROOM);
  const received = Buffer.allocUnsafeSlow(encoded.length);
  encoded.copy(received);
  return received;
}

const copyOf = (message: unknown): unknown => decodeMessage(bytesOf(message));

const floats = fc.float32Array({ maxLength: 20 });
const leaf = fc.oneof(
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.string({ unit: fc.constantFrom("a", "é", "ÿ", "Ā", "\u{1F469}", "\uD800", "\uDC00"), maxLength: 40 }),
  fc.integer(),
  fc.double(),
  fc.constantFrom(-0, Number.NaN, null, undefined, true, false, 2 ** 31, -(2 ** 31), 2 ** 53),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  floats,
  fc.uint8Array({ maxLength: 20 }),
  fc.bigInt64Array({ maxLength: 3 }),
  fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
);
const message = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    leaf,
    fc.array(tie("value"), { maxLength: 5 }),
    fc.dictionary(fc.oneof(fc.string(), fc.constant("__proto__")), tie("value"), {
      maxKeys: 5,
      noNullPrototype: true,
    }),
    fc
      .array(fc.tuple(fc.oneof(fc.string(), fc.integer()), tie("value")), { maxLength: 5 })
      .map((entries) => new Map(entries)),
  ),
})).value;

describe("messages as bytes", () => {
  it("arrive as they were, to the bit", () => {
    // Strict equality tells -0 from 0 and compares typed arrays byte by byte.
    fc.assert(
      fc.property(message, (value) => isDeepStrictEqual(copyOf(value), value)),
      { numRuns: 2_000 },
    );
  });

  it("keep what only V8's form has", () => {
    const cyclic: { self?: unknown } = {};
    cyclic.self = cyclic;
    for (const value of [
      new Date(5),
      new Set([1n]),
      2n ** 100n,
      [new RangeError("far")],
      cyclic,
      new DataView(new ArrayBuffer(3)),
    ])
      expect(copyOf({ value })).toEqual({ value });
    let deep: unknown = 1;
    for (let depth = 0; depth < 500; depth++) deep = [deep];
    expect(copyOf(deep)).toEqual(deep);
  });

  it("are refused where they cannot be cloned, and the next one is sound", () => {
    expect(() => bytesOf({ a: [1, () => 1] })).toThrow("could not be cloned");
    expect(copyOf({ a: [1, 2] })).toEqual({ a: [1, 2] });
  });

  it("may be larger than what is kept between messages", () => {
    const large = Array.from({ length: 3 }, (_, i) => ({
      text: "ä€".repeat(400_000 + i),
      bytes: Buffer.alloc(900_000, i),
    }));
    expect(isDeepStrictEqual(copyOf(large), large)).toBe(true);
    expect(copyOf("small")).toBe("small");
  });

  it("write the name of a member once", () => {
    const rows = Array.from({ length: 100 }, (_, id) => ({ aNameOfSomeLength: id }));
    expect(bytesOf(rows).toString("latin1").split("aNameOfSomeLength")).toHaveLength(2);
  });

  it("make typed arrays that are views", () => {
    const { vector } = copyOf({ odd: "x", vector: new Float64Array([1.5]) }) as { vector: Float64Array };
    expect(vector.buffer.byteLength).toBeGreaterThan(8);
  });

  it("are an error, never another message, where they are cut or continued", () => {
    fc.assert(
      fc.property(message, fc.nat(), (value, cut) => {
        const bytes = bytesOf(value);
        if (bytes[0] !== 0) return;
        expect(() => decodeMessage(bytes.subarray(0, cut % bytes.length))).toThrow();
        expect(() => decodeMessage(Buffer.concat([bytes, Buffer.alloc(1)]))).toThrow();
      }),
    );
  });
});
