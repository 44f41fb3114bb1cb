/** How records become requests: columns, base64, and batches that fit the server. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { base64OfFloats } from "./base64.ts";
import { batchesOf } from "./batches.ts";
import { type RecordInput, columnsOf, needsLimits, writeBatches } from "./write.ts";

const sizes = (records: readonly RecordInput[], batchSize?: number): readonly number[] =>
  [...writeBatches(records, { maxBatchSize: 1_000, supportsBase64Encoding: true }, batchSize)].map(
    (batch) => batch.length,
  );
const many = (count: number, record: Partial<RecordInput>): readonly RecordInput[] =>
  Array.from({ length: count }, (_, i) => ({ id: `${i}`, ...record }));

describe("batches", () => {
  it("keep all items in order, and stay within both limits where one item does", () => {
    const limits = fc.record({
      records: fc.integer({ min: 1, max: 5 }),
      bytes: fc.integer({ min: 1, max: 50 }),
    });
    fc.assert(
      fc.property(fc.array(fc.nat(60)), limits, (items, most) => {
        const batches = [...batchesOf(items, most, (size) => size)];
        expect(batches.flat()).toEqual(items);
        for (const batch of batches) {
          expect(batch.length).toBeGreaterThan(0);
          expect(batch.length).toBeLessThanOrEqual(most.records);
          const bytes = batch.reduce((sum, size) => sum + size, 0);
          expect(bytes <= most.bytes || batch.length === 1).toBe(true);
        }
      }),
    );
  });

  it("hold as many records as the server takes, fewer if it embeds them, and what the caller says", () => {
    expect(sizes(many(2_500, { embedding: [1] }))).toEqual([1_000, 1_000, 500]);
    expect(sizes(many(250, { document: "d" }))).toEqual([100, 100, 50]);
    expect(sizes(many(250, { document: "d", embedding: [1] }))).toEqual([250]);
    expect(sizes(many(250, { metadata: { n: 1 } }))).toEqual([250]);
    expect(sizes(many(2_500, { document: "d" }), 2_000)).toEqual([1_000, 1_000, 500]);
    expect(sizes(many(7, { embedding: [1] }), 3)).toEqual([3, 3, 1]);
    expect(sizes([])).toEqual([]);
  });

  it("hold no more than some 16 MB", () => {
    const document = "d".repeat(5 * 1024 * 1024);
    expect(sizes(many(7, { document, embedding: [1] }))).toEqual([3, 3, 1]);
    expect(sizes(many(3, { metadata: { text: "d".repeat(9 * 1024 * 1024) } }))).toEqual([1, 1, 1]);
    expect(sizes(many(900, { embedding: new Float32Array(4_096) }))).toEqual([767, 133]);
  });

  it("need the server's limits only where these may matter", () => {
    expect(needsLimits(many(100, { document: "d" }))).toBe(false);
    expect(needsLimits(many(101, { document: "d" }))).toBe(true);
    expect(needsLimits(many(1, { embedding: [1] }))).toBe(true);
  });
});

describe("columns", () => {
  it("are left out where no record fills them, and hold null where one does not", () => {
    expect(
      columnsOf(
        [
          { id: "a", document: "d" },
          { id: "b", uri: null, metadata: { n: 1 } },
        ],
        true,
      ),
    ).toEqual({
      ids: ["a", "b"],
      documents: ["d", null],
      metadatas: [null, { n: 1 }],
    });
  });

  it("hold vectors as base64 or decimals, and name sparse vectors", () => {
    const record = {
      id: "a",
      embedding: Float32Array.of(0.5, -2),
      metadata: { t: { indices: [1], values: [2] } },
    };
    const metadatas = [{ t: { "#type": "sparse_vector", indices: [1], values: [2] } }];
    expect(columnsOf([record], false)).toEqual({ ids: ["a"], embeddings: [[0.5, -2]], metadatas });
    expect(columnsOf([record], true)).toEqual({ ids: ["a"], embeddings: ["AAAAPwAAAMA="], metadatas });
  });

  it("hold little-endian 32-bit floats in base64, of any length", () => {
    fc.assert(
      fc.property(fc.float32Array({ maxLength: 20 }), fc.integer({ min: 0, max: 5_000 }), (values, zeros) => {
        const all = [...values, ...new Float32Array(zeros)];
        const expected = Buffer.alloc(all.length * 4);
        for (const [i, value] of all.entries()) expected.writeFloatLE(value, i * 4);
        expect(base64OfFloats(all)).toBe(expected.toString("base64"));
      }),
    );
  });
});
