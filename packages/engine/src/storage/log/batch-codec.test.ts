import * as fc from "fast-check";
import { expect, it } from "vitest";
import { storedRecord } from "../record-store.suite.ts";
import type { StoreChange } from "../record-store.ts";
import { runSteps } from "../steps.ts";
import { decodeBatch, decodeValue, encodeBatch } from "./batch-codec.ts";
import type { LogPart } from "./commit-log.ts";
import { partitionOf } from "./partition-of.ts";

const HEAD = { sequence: 9, nextOffset: 7, dimension: 2 };

function there(change: StoreChange, partitions?: number): readonly LogPart[] {
  return runSteps(encodeBatch(change, { partitions }));
}

function back(parts: readonly LogPart[], wanted?: number): StoreChange {
  return runSteps(decodeBatch({ id: "b", parts }, "c", wanted));
}

it("gives back every batch", () => {
  const record = fc.record({
    offset: fc.nat(),
    sequence: fc.nat(),
    id: fc.string({ minLength: 1 }),
    embedding: fc.float32Array({ noNaN: true, maxLength: 4 }),
    document: fc.option(fc.string({ unit: "grapheme" })),
    uri: fc.option(fc.string()),
    metadata: fc.option(
      fc
        .array(fc.tuple(fc.string({ minLength: 1 }), fc.oneof(fc.bigInt({ min: -9n, max: 9n }), fc.string())))
        .map((pairs) => new Map(pairs)),
    ),
  });
  const removed = fc.record({ id: fc.string(), offset: fc.nat(), sequence: fc.nat() });
  const change = fc.record({ head: fc.constant(HEAD), puts: fc.array(record), removes: fc.array(removed) });
  fc.assert(
    fc.property(change, (one) => {
      expect(back(there(one))).toEqual(one);
    }),
  );
});

it("gives back a batch without an operation that changed a record, before the first embedding", () => {
  const change = { head: { sequence: 3, nextOffset: 0, dimension: null }, puts: [], removes: [] };
  expect(back(there(change))).toEqual(change);
});

it("cuts a batch into parts, in which a long record is alone", () => {
  const long = storedRecord(1, { document: "long".repeat(400_000) });
  const puts = [storedRecord(0), long, ...Array.from({ length: 6_000 }, (_, i) => storedRecord(i + 2))];
  const removes = Array.from({ length: 20_000 }, (_, i) => ({ id: `gone ${i}`, offset: i, sequence: i }));
  const change = { head: HEAD, puts, removes };
  const parts = there(change);
  expect(parts.length).toBeGreaterThan(4);
  expect(parts.filter(({ body }) => body.length > 400_000)).toHaveLength(1);
  const found = back(parts);
  expect(found.removes).toEqual(removes);
  expect(found.puts.map(({ offset }) => offset)).toEqual(puts.map(({ offset }) => offset));
  expect(Buffer.from(found.puts[1]!.document as Uint8Array).toString()).toBe(long.document);
});

it("tells what each record is in a store, also where a part grows", () => {
  const lengths = [1, 60_000, 70_000, 5, 90_000, 300_000, 7, 600_000];
  const puts = lengths.map((length, i) => storedRecord(i, { document: "text".repeat(length / 4) }));
  for (const partitions of [1, 3]) {
    const values: Uint8Array[] = [];
    const onValue = (value: Uint8Array): void => void values.push(value);
    runSteps(encodeBatch({ head: HEAD, puts, removes: [] }, { partitions, onValue }));
    const documents = values.map((value, i) => {
      const { document } = runSteps(decodeValue(value, i, { store: "test", key: Buffer.alloc(0) }));
      return typeof document === "string" ? document : Buffer.from(document!).toString();
    });
    expect(documents).toEqual(puts.map(({ document }) => document));
  }
});

it("refuses a batch that no statement of a database should bring", () => {
  const puts = Array.from({ length: 100 }, (_, i) => storedRecord(i));
  const encode = (): unknown =>
    runSteps(encodeBatch({ head: HEAD, puts, removes: [] }, { mostBytes: 4_000 }));
  expect(encode).toThrow(expect.objectContaining({ code: "too_large" }));
});

it("names the log and the batch whose bytes are others", () => {
  const [part] = there({ head: HEAD, puts: [storedRecord(0)], removes: [] });
  for (const at of [0, 5, 20, part!.body.length - 1]) {
    const damaged = Buffer.from(part!.body);
    damaged[at]! ^= 1;
    expect(() => back([{ partition: 0, body: damaged }])).toThrow("stored data is damaged: log of c, key 62");
  }
});

it("reads version 1 as it was written", () => {
  const golden =
    "6804d37601090000090000000000000007000000000000000200000001000000010000000800000000000000020000000000000004000000676f6e65060000000000000044000000a7056ec00101050006000000000000000700000000000000020000000000c0400000003f020000007236040000007465787401000000010000006e010100000000000000";
  const change = {
    head: HEAD,
    puts: [storedRecord(6, { document: "text", metadata: new Map([["n", 1n]]) })],
    removes: [{ id: "gone", offset: 2, sequence: 8 }],
  };
  expect(Buffer.from(there(change)[0]!.body).toString("hex")).toBe(golden);
  expect(back([{ partition: 0, body: Buffer.from(golden, "hex") }])).toEqual(change);
});

it("gives each partition what is of it, and all of them the head", () => {
  const puts = Array.from({ length: 40 }, (_, i) => storedRecord(i, { sequence: i + 1 }));
  const removes = Array.from({ length: 20 }, (_, i) => ({ id: `gone ${i}`, offset: i, sequence: 50 + i }));
  const change = { head: HEAD, puts, removes };
  const parts = there(change, 5);
  expect(parts.map(({ partition }) => partition)).toEqual([-1, 0, 1, 2, 3, 4]);
  const whole = back(parts);
  expect(whole.puts.map(({ id }) => id)).toEqual(puts.map(({ id }) => id));
  expect(whole.removes).toEqual(removes);
  for (let partition = 0; partition < 5; partition++) {
    const isOwn = ({ id }: { readonly id: string }): boolean => partitionOf(id, 5) === partition;
    const found = back(parts, partition);
    expect(found.head).toEqual(HEAD);
    expect(found.puts.map(({ id }) => id)).toEqual(puts.filter(isOwn).map(({ id }) => id));
    expect(found.removes).toEqual(removes.filter(isOwn));
  }
});

it("refuses a batch of a program that does not divide collections", () => {
  const change = { head: HEAD, puts: [storedRecord(0)], removes: [] };
  for (const partition of [0, 1])
    expect(() => back(there(change), partition)).toThrow(
      expect.objectContaining({ code: "collection_unavailable" }),
    );
});

it("tells a partition of a batch that changes nothing in it", () => {
  const change = { head: HEAD, puts: [storedRecord(0, { id: "a" })], removes: [] };
  const other = partitionOf("a", 2) === 0 ? 1 : 0;
  expect(back(there(change, 2), other)).toEqual({ head: HEAD, puts: [], removes: [] });
});
