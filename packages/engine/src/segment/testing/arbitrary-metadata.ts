/** Metadata of every kind, for property tests. */
import { type Metadata, type MetadataValue, integerArray } from "@sheaf/protocol";
import * as fc from "fast-check";

const texts = fc.oneof(
  fc.constantFrom(
    "",
    "a",
    "ä",
    "日本",
    "x".repeat(64),
    "x".repeat(65),
    "\u{1f600}",
    "\ud800",
    "日".repeat(300),
  ),
  fc.string({ maxLength: 100 }),
);
const ints = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const floats = fc.double({ noNaN: true });

export const arbitraryValue: fc.Arbitrary<MetadataValue> = fc.oneof(
  ...[texts, ints, floats, fc.boolean()],
  ...[texts, fc.boolean()].map((member) => fc.array(member as fc.Arbitrary<never>, { maxLength: 4 })),
  ...[
    fc.array(ints, { minLength: 1, maxLength: 4 }),
    fc.array(fc.bigInt({ min: -200n, max: 200n }), { minLength: 1, maxLength: 5_000 }),
  ].map((list) => list.map(integerArray)),
  fc.array(floats, { minLength: 1, maxLength: 4 }).map((list) => Float64Array.from(list)),
  fc.constant({ indices: Uint32Array.of(3), values: Float32Array.of(1) }),
);

export const arbitraryKey = fc.oneof(
  fc.constantFrom("a", "b", "__proto__", "", "\ud800", "\udfff"),
  fc.string({ maxLength: 5 }),
);

export const arbitraryMetadata: fc.Arbitrary<Metadata | null> = fc.option(
  fc.array(fc.tuple(arbitraryKey, arbitraryValue), { maxLength: 6 }).map((entries) => new Map(entries)),
);
