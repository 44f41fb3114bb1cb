import { isDeepStrictEqual } from "node:util";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JsonFloat } from "@sheaf/protocol";
import { MessageDecoder } from "./message-decoder.ts";
import { MessageEncoder } from "./message-encoder.ts";

const HEADROOM = 4;

/** As the other side gets it: in a buffer of its own. */
function bytesOf(message: unknown, encoder = new MessageEncoder()): Buffer {
  const encoded = encoder.encode(message, HEADROOM).subarray(HEADROOM);
  const received = Buffer.allocUnsafeSlow(encoded.length);
  encoded.copy(received);
  return received;
}

const decoded = (bytes: Buffer): unknown => new MessageDecoder().decode(bytes);
const copyOf = (message: unknown): unknown => decoded(bytesOf(message));

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

  it("arrive as they were one after the other, whatever could not be sent between them", () => {
    const unsendable = fc.dictionary(fc.string(), message).map((value) => ({ ...value, last: () => 1 }));
    const inV8Form = fc.dictionary(fc.string(), message).map((value) => ({ ...value, last: new Set([1]) }));
    fc.assert(
      fc.property(fc.array(fc.oneof(message, inV8Form, unsendable), { maxLength: 12 }), (values) => {
        const encoder = new MessageEncoder();
        const decoder = new MessageDecoder();
        for (const value of values) {
          try {
            expect(decoder.decode(bytesOf(value, encoder))).toStrictEqual(value);
          } catch (error) {
            expect(error).toHaveProperty("message", "() => 1 could not be cloned.");
          }
        }
      }),
      { numRuns: 500 },
    );
  });

  it("carry floats that are whole, as deep as a body can be and deeper", () => {
    let nested: unknown = [new JsonFloat(2), new JsonFloat(-0), 2, 2.5];
    for (let depth = 0; depth < 100; depth++) nested = { nested };
    expect(copyOf(nested)).toStrictEqual(nested);
  });

  it("have numbers for some names and carry all the others", () => {
    const encoder = new MessageEncoder();
    const decoder = new MessageDecoder();
    const rows = Array.from({ length: 3_000 }, (_, i) => ({ [`name ${i}`]: i, ["long".repeat(i % 40)]: i }));
    for (let round = 0; round < 2; round++) {
      for (const row of rows) expect(decoder.decode(bytesOf(row, encoder))).toStrictEqual(row);
    }
    const [first, last] = [rows[0], rows[2_999]].map((row) => bytesOf(row, encoder).toString("latin1"));
    expect(first).not.toContain("name");
    expect(last).toContain("name 2999");
  });

  it("are refused where they are too large, and the next one is sound", () => {
    const encoder = new MessageEncoder();
    const decoder = new MessageDecoder();
    const large = { text: "x".repeat(100), newName: 1 };
    expect(() => encoder.encode(large, HEADROOM, 100)).toThrow("too large");
    expect(decoder.decode(bytesOf(large, encoder))).toStrictEqual(large);
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

  it("write the name of a member once, in all messages of an encoder", () => {
    const encoder = new MessageEncoder();
    const rows = Array.from({ length: 100 }, (_, id) => ({ aNameOfSomeLength: id }));
    expect(bytesOf(rows, encoder).toString("latin1").split("aNameOfSomeLength")).toHaveLength(2);
    expect(bytesOf(rows, encoder).toString("latin1")).not.toContain("aNameOfSomeLength");
  });

  it("are an error where they name what was never told", () => {
    const encoder = new MessageEncoder();
    bytesOf({ told: 1 }, encoder);
    expect(() => decoded(bytesOf({ told: 1 }, encoder))).toThrow("unknown");
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
        expect(() => decoded(bytes.subarray(0, cut % bytes.length))).toThrow();
        expect(() => decoded(Buffer.concat([bytes, Buffer.alloc(1)]))).toThrow();
      }),
    );
  });
});
