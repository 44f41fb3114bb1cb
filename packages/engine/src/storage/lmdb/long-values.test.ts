/** Values that are encoded, copied and decoded in steps are what they are in one piece. */
import { LIMITS, type MetadataValue } from "@sheaf/protocol";
import { describe, expect, it } from "vitest";
import { copyInSteps } from "./copy-in-steps.ts";
import type { StoredRecord } from "../stored-record.ts";
import { runSteps } from "../steps.ts";
import {
  decodeRecord,
  decodeRecordInSteps,
  encodeRecord,
  encodeRecordInSteps,
  isLongValue,
} from "../values/value-codec.ts";
import { ValueWriter } from "../values/value-writer.ts";

const ORIGIN = { store: "collections/ab/test", key: Uint8Array.of(2, 7) };
const LONG: StoredRecord = {
  ...{ offset: 7, sequence: 9, id: "long", embedding: Float32Array.of(1, 2), uri: "https://example.org/a" },
  document: new Uint8Array(LIMITS.documentBytes).fill(0x61),
  metadata: new Map<string, MetadataValue>([
    ["ints", Int8Array.from({ length: 130_001 }, (_, i) => i)],
    // Takes more than is reserved for it.
    ["text", "€".repeat(300_000)],
    ["scalar", 7n],
    ["texts", Array.from({ length: 100_000 }, (_, i) => `tëxt ${i}`)],
    ["flags", Array.from({ length: 100_000 }, (_, i) => i % 3 === 0)],
  ]),
};
const VALUE = Buffer.from(encodeRecord(new ValueWriter(), LONG));

function stepsOf(steps: Generator<void, unknown>): number {
  let count = 0;
  while (steps.next().done !== true) count++;
  return count;
}

describe("a long value", () => {
  it("is encoded and decoded in steps as it is at once", () => {
    expect(isLongValue(VALUE.length)).toBe(true);
    expect(VALUE.equals(runSteps(encodeRecordInSteps(LONG)))).toBe(true);
    const decoded = runSteps(decodeRecordInSteps(VALUE, 7, ORIGIN));
    const atOnce = decodeRecord(VALUE, 7, { origin: ORIGIN });
    expect({ ...decoded, document: null }).toEqual({ ...atOnce, document: null });
    for (const { document } of [decoded, atOnce]) {
      expect(Buffer.from(document as Uint8Array).equals(LONG.document as Uint8Array)).toBe(true);
    }
    expect(stepsOf(encodeRecordInSteps(LONG))).toBeGreaterThan(64);
    expect(stepsOf(decodeRecordInSteps(VALUE, 7, ORIGIN))).toBeGreaterThan(64);
  });

  it("is refused where it is damaged", () => {
    const damaged = Buffer.from(VALUE);
    damaged[VALUE.length - 1]! ^= 1;
    expect(() => runSteps(decodeRecordInSteps(damaged, 7, ORIGIN))).toThrow(/checksum/u);
    expect(() => runSteps(decodeRecordInSteps(VALUE, 8, ORIGIN))).toThrow(/offset/u);
  });

  it("is copied as one version, whatever is written meanwhile", () => {
    const other = Buffer.from(encodeRecord(new ValueWriter(), { ...LONG, sequence: 10 }));
    const shorter = Buffer.from(encodeRecord(new ValueWriter(), { ...LONG, metadata: null }));
    for (const later of [other, shorter]) {
      let peeks = 0;
      const copy = runSteps(copyInSteps(() => (peeks++ < 5 ? VALUE : later)));
      expect(later.equals(copy!)).toBe(true);
    }
    let peeks = 0;
    expect(runSteps(copyInSteps(() => (peeks++ < 5 ? VALUE : null)))).toBeNull();
    expect(VALUE.equals(runSteps(copyInSteps(() => VALUE))!)).toBe(true);
  });
});
