import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { crc32c } from "./crc32c.ts";

/** Test vectors of RFC 3720, appendix B.4. */
const VECTORS: readonly (readonly [string, Uint8Array, number])[] = [
  ["32 zeros", new Uint8Array(32), 0x8a9136aa],
  ["32 ones", new Uint8Array(32).fill(0xff), 0x62a8ab43],
  ["ascending", Uint8Array.from({ length: 32 }, (_, i) => i), 0x46dd794e],
  ["descending", Uint8Array.from({ length: 32 }, (_, i) => 31 - i), 0x113fdb5c],
  ["digits", Buffer.from("123456789"), 0xe3069283],
  ["nothing", new Uint8Array(0), 0],
];

/** Bit by bit. */
function remainder(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  }
  return ~crc >>> 0;
}

describe("crc32c", () => {
  it.each(VECTORS)("of %s", (_name, bytes, expected) => {
    expect(crc32c(bytes)).toBe(expected);
  });

  it("of a part is that of the part alone", () => {
    const bytes = Buffer.from("xx123456789yy");
    expect(crc32c(bytes, 2, 11)).toBe(0xe3069283);
  });

  it("is the remainder that its polynomial defines, over any length", () => {
    fc.assert(
      fc.property(fc.nat(130_000), fc.nat(255), (length, step) => {
        const bytes = Uint8Array.from({ length }, (_, i) => i * step + (i >> 8));
        expect(crc32c(bytes)).toBe(remainder(bytes));
      }),
      { numRuns: 30 },
    );
  });
});
