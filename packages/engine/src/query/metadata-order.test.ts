import type { MetadataValue } from "@sheaf/protocol";
import { describe, expect, it } from "vitest";
import { compareMetadata, metadataIdentity } from "./metadata-order.ts";

const sparse = (indices: number[], values: number[]): MetadataValue => ({
  indices: Uint32Array.from(indices),
  values: Float32Array.from(values),
});

const ASCENDING: readonly (MetadataValue | undefined)[] = [
  undefined,
  false,
  true,
  -5n,
  2n ** 53n,
  2n ** 53n + 1n,
  -1.5,
  1,
  "",
  "B",
  "a",
  "ab",
  "é",
  // U+FFEE is before U+10400 in UTF-8, and after it in UTF-16.
  "\uffee",
  "\u{10400}",
  sparse([], []),
  sparse([1], [1]),
  sparse([1], [2]),
  sparse([1, 2], [0, 0]),
  [],
  [false],
  [true],
  Int8Array.of(1),
  Int8Array.of(1, 2),
  BigInt64Array.of(1n, 2n ** 53n),
  BigInt64Array.of(1n, 2n ** 53n + 1n),
  Int8Array.of(2),
  Float64Array.of(0.5),
  ["a", "b"],
  ["ab"],
];

describe("order of metadata values", () => {
  it("orders across and within kinds", () => {
    // Array.sort never asks about undefined.
    const present = ASCENDING.slice(1);
    expect(present.toReversed().sort(compareMetadata)).toStrictEqual(present);
  });

  it("is a total order", () => {
    for (const [i, a] of ASCENDING.entries()) {
      for (const [j, b] of ASCENDING.entries()) {
        expect(Math.sign(compareMetadata(a, b))).toBe(Math.sign(i - j));
      }
    }
  });

  it("has one identity per value", () => {
    const identities = ASCENDING.flatMap((value) => (value === undefined ? [] : [metadataIdentity(value)]));
    expect(new Set(identities).size).toBe(identities.length);
    expect(metadataIdentity(1n)).not.toBe(metadataIdentity(1));
    expect(metadataIdentity("1")).not.toBe(metadataIdentity(1));
    expect(metadataIdentity(["a", "b"])).toBe(metadataIdentity(["a", "b"]));
  });
});
