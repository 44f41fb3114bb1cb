import { readFileSync } from "node:fs";
import { JsonFloat, type Metadata, type MetadataValue, integerArray } from "@sheaf/protocol";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type CollectionEntry, decodeCollection, encodeCollection } from "../../catalog/catalog-codec.ts";
import { distance, prepare } from "../../kernels/distance.ts";
import { QueryDistance } from "../../kernels/value-memory.ts";
import { decodeChangeRuns, encodeChangeRuns } from "./change-runs.ts";
import { CorruptDataError } from "../corrupt-data-error.ts";
import { EMPTY_HEAD } from "../record-store.ts";
import type { StoredRecord } from "../stored-record.ts";
import { decodeDistance, decodeHead, decodeRecord, encodeHead, encodeRecord } from "./value-codec.ts";
import { ValueWriter } from "./value-writer.ts";

/** As long as the vector of the golden record. */
const QUERY = new QueryDistance("l2", Float32Array.of(1, 2, 3));
const ORIGIN = { store: "collections/ab/test", key: Uint8Array.of(2, 7) };

/** Written by codec version 1 in version 1 of the data folder; never changed. */
const GOLDEN = readGolden("value-v1.golden.json");
/** What version 2 of the data folder writes otherwise, or has beside; never changed. */
const FOLDER_2 = readGolden("folder-v2.golden.json");
const FOLDER_4 = readGolden("folder-v4.golden.json");

function readGolden(name: string): Readonly<Record<string, string>> {
  return JSON.parse(readFileSync(new URL(name, import.meta.url), "utf8")) as Record<string, string>;
}

const EVERY_KIND: Metadata = new Map<string, MetadataValue>([
  ["yes", true],
  ["no", false],
  ["int", 9_007_199_254_740_993n],
  ["lowest", -9_223_372_036_854_775_808n],
  ["float", 3],
  ["negative zero", -0],
  ["text", "Grüße 🌾"],
  ["empty", ""],
  ["sparse", { indices: Uint32Array.of(1, 4_294_967_295), values: Float32Array.of(0.5, -1.25) }],
  ["labels", { indices: Uint32Array.of(7), values: Float32Array.of(2), tokens: ["ähre"] }],
  ["bools", [true, false]],
  ["ints", Int8Array.of(1, -1)],
  ["floats", Float64Array.of(1, 0.1)],
  ["texts", ["a", ""]],
  ["nothing", []],
]);

const FULL: StoredRecord = {
  ...{ offset: 7, sequence: 4_294_967_299, id: "id-ü", embedding: Float32Array.of(1, -0.5, 3.25) },
  ...{ document: "a document", uri: "https://example.org/a", metadata: EVERY_KIND },
};
const MINIMAL: StoredRecord = {
  ...{
    offset: 0,
    sequence: 1,
    id: "x",
    embedding: Float32Array.of(0),
    document: null,
    uri: null,
    metadata: null,
  },
};
const HEAD = { sequence: 12, nextOffset: 9, dimension: 384 };
const RUNS = [
  { sequence: 12, offset: 3, count: 1 },
  { sequence: 4_294_967_298, offset: 4_294_967_300, count: 3 },
];
const COLLECTION: CollectionEntry = {
  ...{ id: "01234567-89ab-4cde-8f01-23456789abcd", name: "texts", tenant: "t-1", database: "d-1" },
  ...{
    databaseId: "11234567-89ab-4cde-8f01-23456789abcd",
    created: 3,
    configuration: { a: [1, null] },
    schema: {},
  },
  ...{ dimension: null, logPosition: 5, version: 2, metadata: new Map<string, MetadataValue>([["n", 1n]]) },
  ...{ models: {} },
  ...{ tree: "01234567-89ab-4cde-8f01-23456789abcd", epoch: "", shared: false, held: null },
};
const COLLECTION_WITH_MODELS: CollectionEntry = {
  ...COLLECTION,
  models: { "a/model": { identifier: "a/model", revision: "r", digest: "sha256:00ff" } },
};

const COLLECTION_WITH_FLOATS: CollectionEntry = {
  ...COLLECTION,
  configuration: { whole: new JsonFloat(2), zero: new JsonFloat(-0), deep: [{ one: new JsonFloat(1e21) }] },
  schema: { integer: 2, float: 2.5, text: "\u007f2", marked: "\u007f\u007f", "\u007f3": "3" },
};

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

function golden(name: string): Uint8Array {
  return Buffer.from(GOLDEN[name] ?? "", "hex");
}

describe("value codec v1", () => {
  const writer = new ValueWriter();

  it("writes what version 1 wrote", () => {
    expect({
      fullRecord: hex(encodeRecord(writer, FULL)),
      minimalRecord: hex(encodeRecord(writer, MINIMAL)),
      head: GOLDEN["head"],
      emptyHead: GOLDEN["emptyHead"],
      collection: hex(encodeCollection(COLLECTION)),
      collectionWithModels: hex(encodeCollection(COLLECTION_WITH_MODELS)),
      collectionWithFloats: hex(encodeCollection(COLLECTION_WITH_FLOATS)),
    }).toEqual(GOLDEN);
  });

  it("reads what version 1 wrote", () => {
    expect(decodeRecord(golden("fullRecord"), 7, { origin: ORIGIN })).toEqual(FULL);
    expect(decodeRecord(golden("minimalRecord"), 0, { origin: ORIGIN })).toEqual(MINIMAL);
    expect(decodeHead(golden("head"), ORIGIN)).toEqual({
      head: HEAD,
      completeFrom: HEAD.sequence,
      counts: null,
    });
    expect(decodeHead(golden("emptyHead"), ORIGIN)).toEqual({
      head: EMPTY_HEAD,
      completeFrom: 0,
      counts: null,
    });
    expect(decodeCollection(golden("collection"), ORIGIN)).toEqual(COLLECTION);
    expect(decodeCollection(golden("collectionWithModels"), ORIGIN)).toEqual(COLLECTION_WITH_MODELS);
    expect(decodeCollection(golden("collectionWithFloats"), ORIGIN)).toStrictEqual(COLLECTION_WITH_FLOATS);
  });

  it("writes and reads what version 2 of the data folder has", () => {
    const head = { head: HEAD, completeFrom: 7, counts: null };
    expect({
      head: hex(encodeHead(writer, head)),
      changes: hex(encodeChangeRuns(writer, RUNS)),
    }).toEqual(FOLDER_2);
    expect(decodeHead(Buffer.from(FOLDER_2["head"]!, "hex"), ORIGIN)).toEqual(head);
    expect(decodeChangeRuns(Buffer.from(FOLDER_2["changes"]!, "hex"), 4_294_967_300, ORIGIN)).toEqual(RUNS);
  });

  it("writes and reads a head with counts, as version 4 of the data folder has it", () => {
    const head = { head: HEAD, completeFrom: 7, counts: { records: 3, entries: 9, bytes: 2 ** 33 } };
    expect(hex(encodeHead(writer, head))).toBe(FOLDER_4["head"]);
    expect(decodeHead(Buffer.from(FOLDER_4["head"]!, "hex"), ORIGIN)).toEqual(head);
  });

  it("refuses a head whose changes begin above it", () => {
    const value = encodeHead(writer, { head: HEAD, completeFrom: 13, counts: null });
    expect(() => decodeHead(value, ORIGIN)).toThrow("its changes begin at 13, above it");
  });

  it("reads back any record", () => {
    fc.assert(
      fc.property(anyRecord(), (record) => {
        expect(decodeRecord(encodeRecord(writer, record), record.offset, { origin: ORIGIN })).toEqual(record);
      }),
    );
  });

  it("compares the vector of any record as it was given", () => {
    const factor = fc.integer({ min: -3, max: 3 });
    fc.assert(
      fc.property(anyRecord(), fc.constantFrom("l2", "ip", "cosine"), factor, (record, space, times) => {
        const { offset, sequence, embedding } = record;
        const other = embedding.map((x, j) => x * times + j);
        const query = new QueryDistance(space, prepare(space, other));
        const decoded = decodeDistance(encodeRecord(writer, record), offset, { origin: ORIGIN, query });
        expect(decoded).toEqual({ sequence, distance: distance(space, other, embedding) });
      }),
    );
  });

  it("notices every flipped bit", () => {
    const value = golden("fullRecord");
    for (let bit = 0; bit < value.length * 8; bit++) {
      const damaged = Buffer.from(value);
      damaged.writeUInt8(damaged.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      expect(() => decodeRecord(damaged, 7, { origin: ORIGIN })).toThrow(CorruptDataError);
      expect(() => decodeDistance(damaged, 7, { origin: ORIGIN, query: QUERY })).toThrow(CorruptDataError);
    }
  });

  it("notices every cut", () => {
    const value = golden("fullRecord");
    for (let length = 0; length < value.length; length++) {
      const cut = value.slice(0, length);
      expect(() => decodeRecord(cut, 7, { origin: ORIGIN })).toThrow(CorruptDataError);
      expect(() => decodeDistance(cut, 7, { origin: ORIGIN, query: QUERY })).toThrow(CorruptDataError);
    }
  });

  it("names key and byte of a value under a wrong key", () => {
    const message = "collections/ab/test, key 0207, byte 16: holds offset 7 under the key of offset 8";
    expect(() => decodeRecord(golden("fullRecord"), 8, { origin: ORIGIN })).toThrow(message);
    expect(() => decodeDistance(golden("fullRecord"), 8, { origin: ORIGIN, query: QUERY })).toThrow(message);
  });

  it("refuses a value of another kind", () => {
    expect(() => decodeHead(golden("minimalRecord"), ORIGIN)).toThrow("expected a value of kind 2, found 1");
  });
});

function anyRecord(): fc.Arbitrary<StoredRecord> {
  const text = fc.string({ unit: "grapheme", maxLength: 40 });
  const int = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
  const float = fc.double({ noNaN: true });
  const sparse = fc
    .uniqueArray(fc.nat(2 ** 32 - 1), { maxLength: 20 })
    .map((indices) => Uint32Array.from(indices).sort())
    .map((indices) => ({ indices, values: Float32Array.from(indices, (index) => Math.fround(index / 3)) }));
  const value: fc.Arbitrary<MetadataValue> = fc.oneof(
    ...[text, int, float, fc.boolean(), sparse],
    ...[fc.array(text), fc.array(fc.boolean())],
    ...[int, fc.bigInt({ min: -70_000n, max: 300n })].map((member) =>
      fc.array(member, { minLength: 1, maxLength: 5_000 }).map(integerArray),
    ),
    fc.array(float, { minLength: 1 }).map((list) => Float64Array.from(list)),
  );
  return fc.record({
    offset: fc.maxSafeNat(),
    sequence: fc.maxSafeNat(),
    id: text,
    embedding: fc.float32Array({ noNaN: true, minLength: 1, maxLength: 50 }),
    document: fc.option(text),
    uri: fc.option(text),
    metadata: fc.option(fc.array(fc.tuple(text, value), { maxLength: 8 }).map((entries) => new Map(entries))),
  });
}
