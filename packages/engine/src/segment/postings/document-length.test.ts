import { describe, expect, it } from "vitest";
import { MAX_DOCUMENT_LENGTH, documentLength, totalsWhere } from "./document-length.ts";

const lengthOf = (...values: number[]): number => documentLength(Float32Array.from(values));

describe("documentLength", () => {
  it("is the number of terms of a text, and a whole number for any values", () => {
    expect(lengthOf(1, 3, 2)).toBe(6);
    expect(lengthOf(0.25, 1.5)).toBe(2);
    expect(lengthOf(2, -7, 1)).toBe(3);
  });

  it("is 0 without a term alone, and has a largest value", () => {
    expect(lengthOf()).toBe(0);
    expect(lengthOf(-1)).toBe(1);
    expect(lengthOf(0.1)).toBe(1);
    expect(lengthOf(3e38, 3e38)).toBe(MAX_DOCUMENT_LENGTH);
    expect(Math.fround(MAX_DOCUMENT_LENGTH - 1)).toBe(MAX_DOCUMENT_LENGTH - 1);
  });
});

describe("totalsWhere", () => {
  it("adds up the rows whose bit is set, or is not", () => {
    const lengths = new Float32Array(64);
    lengths.set([5, 0, 7], 30);
    const mask = Uint32Array.of(2 ** 30 + 2 ** 31, 1);
    expect(totalsWhere(lengths, mask, true)).toEqual({ documents: 2, length: 12 - 7 + 7 });
    expect(totalsWhere(lengths, mask, false)).toEqual({ documents: 0, length: 0 });
    expect(totalsWhere(lengths, Uint32Array.of(2 ** 30, 0), false)).toEqual({ documents: 1, length: 7 });
  });
});
