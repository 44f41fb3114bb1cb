/** The behaviour of every record store. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type CommitOperation, LIMITS } from "@sheaf/protocol";
import * as fc from "fast-check";
import { planOperations } from "../collection/plan-write.ts";
import {
  EMPTY_HEAD,
  type RecordStore,
  type StoreChange,
  type StoreView,
  type StoredChange,
  oldestTracked,
} from "./record-store.ts";
import type { StoredRecord } from "./stored-record.ts";

export interface RecordStoreSuite {
  readonly name: string;
  readonly open: () => RecordStore | Promise<RecordStore>;
  /** Operations that it has to remember; by default `LIMITS.trackedOperations`. */
  readonly tracked?: number;
}

export function storedRecord(offset: number, fields: Partial<StoredRecord> = {}): StoredRecord {
  return {
    ...{ offset, sequence: offset + 1, id: `r${offset}`, embedding: Float32Array.of(offset, 0.5) },
    ...{ document: null, uri: null, metadata: null },
    ...fields,
  };
}

/** Appends records after what is there. */
function append(...records: readonly StoredRecord[]): (view: StoreView) => StoreChange {
  return ({ head }) => ({
    head: {
      sequence: head.sequence + records.length,
      nextOffset: head.nextOffset + records.length,
      dimension: 2,
    },
    puts: records,
    removes: [],
  });
}

function upsert(ids: readonly string[]): CommitOperation {
  const records = ids.map((id) => ({
    id,
    embedding: Float32Array.of(1),
    document: null,
    uri: null,
    metadata: null,
  }));
  return { kind: "upsert", records };
}

function contents(store: RecordStore): Map<number, StoredRecord> {
  return new Map([...store.scan(0)].map((record) => [record.offset, record]));
}

function bringUpToDate(
  records: Map<number, StoredRecord>,
  changes: Iterable<StoredChange> | "trimmed",
): void {
  if (changes === "trimmed") throw new Error("nothing is trimmed so early");
  let before = 0;
  for (const change of changes) {
    expect(change.sequence).toBeGreaterThan(before);
    before = change.sequence;
    if (change.kind === "put") records.set(change.record.offset, change.record);
    if (change.kind !== "remove") continue;
    for (const { id, offset } of records.values()) if (id === change.id) records.delete(offset);
  }
}

export function recordStoreSuite({ name, open, tracked = LIMITS.trackedOperations }: RecordStoreSuite): void {
  describe(`behaviour of the ${name}`, () => {
    let store: RecordStore;

    beforeEach(async () => {
      store = await open();
    });

    afterEach(() => store.close());

    it("lists ids under a prefix in the order of their bytes, page by page", async () => {
      expect(store.idsUnder("", null, 10)).toEqual([]);
      const ids = ["x#1", "x#10", "x#2", "x", "x$", "y", "x#é", "x#\u{1f642}", "x#"];
      await store.apply(append(...ids.map((id, i) => storedRecord(i, { id }))));
      expect(store.idsUnder("x#", null, 10)).toEqual(["x#", "x#1", "x#10", "x#2", "x#é", "x#\u{1f642}"]);
      expect(store.idsUnder("x#", "x#1", 2)).toEqual(["x#10", "x#2"]);
      expect(store.idsUnder("x#", "x#\u{1f642}", 2)).toEqual([]);
      expect(store.idsUnder("z", null, 2)).toEqual([]);
    });

    const changesAfter = (sequence: number): StoredChange[] => {
      const changes = store.changesAfter(sequence);
      if (changes === "trimmed") throw new Error(`changes after ${sequence} are trimmed`);
      return [...changes];
    };

    it("is empty before the first batch", () => {
      expect(store.head).toEqual(EMPTY_HEAD);
      expect(store.offsetOf("r0")).toBeNull();
      expect(store.find("r0")).toBeNull();
      expect(store.read(0)).toBeNull();
      expect([...store.scan(0)]).toEqual([]);
    });

    it("keeps every field", async () => {
      const full = storedRecord(0, {
        document: "Grüße 🌾",
        uri: "file:///a",
        metadata: new Map<string, bigint | number>([
          ["int", 9007199254740993n],
          ["float", 3],
        ]),
      });
      await store.apply(append(full, storedRecord(1)));
      expect(store.read(0)).toEqual(full);
      expect(store.find("r1")).toEqual(storedRecord(1));
      expect(store.head).toEqual({ sequence: 2, nextOffset: 2, dimension: 2 });
    });

    it("finds nothing under an id that no record can have", async () => {
      await store.apply(append(storedRecord(0)));
      for (const length of [LIMITS.idBytes + 1, 2_000, 5_000, 100_000]) {
        expect(store.offsetOf("x".repeat(length))).toBeNull();
        expect(store.find("é".repeat(length / 2))).toBeNull();
      }
    });

    it("scans in insertion order from any offset", async () => {
      await store.apply(append(storedRecord(0), storedRecord(1)));
      await store.apply(append(storedRecord(2)));
      expect([...store.scan(0)].map(({ offset }) => offset)).toEqual([0, 1, 2]);
      expect([...store.scan(1)].map(({ offset }) => offset)).toEqual([1, 2]);
      for (const { offset } of store.scan(0)) {
        expect(offset).toBe(0);
        break;
      }
    });

    it("replaces a record in its place", async () => {
      await store.apply(append(storedRecord(0), storedRecord(1)));
      const changed = storedRecord(0, { sequence: 3, document: "new" });
      await store.apply(({ head }) => ({ head: { ...head, sequence: 3 }, puts: [changed], removes: [] }));
      expect([...store.scan(0)]).toEqual([changed, storedRecord(1)]);
    });

    it("forgets a removed record", async () => {
      await store.apply(append(storedRecord(0), storedRecord(1)));
      await store.apply(({ head }) => ({
        head: { ...head, sequence: 3 },
        puts: [],
        removes: [{ id: "r0", offset: 0, sequence: 3 }],
      }));
      expect(store.offsetOf("r0")).toBeNull();
      expect(store.read(0)).toBeNull();
      expect([...store.scan(0)].map(({ id }) => id)).toEqual(["r1"]);
    });

    it("remembers the newest removals and forgets the others", async () => {
      await store.apply(append(...[0, 1, 2, 3].map((offset) => storedRecord(offset))));
      const remove = (offset: number, sequence: number): Promise<StoreChange> =>
        store.apply(({ head }) => ({
          head: { ...head, sequence },
          puts: [],
          removes: [{ id: `r${offset}`, offset, sequence }],
        }));
      await remove(0, 5);
      await remove(2, 6);
      expect([...store.removedAfter(4)]).toEqual(["r0", "r2"]);
      expect([...store.removedAfter(5)]).toEqual(["r2"]);
      expect([...store.removedAfter(6)]).toEqual([]);
      const late = tracked + 300;
      expect(oldestTracked({ ...store.head, sequence: late }, tracked)).toBe(300);
      await remove(3, late);
      expect([...store.removedAfter(0)]).toEqual(["r3"]);
    });

    it("knows of each change after any operation, oldest first", async () => {
      await store.apply(append(storedRecord(0), storedRecord(1), storedRecord(2)));
      const changed = storedRecord(1, { sequence: 5 });
      await store.apply(({ head }) => ({
        head: { ...head, sequence: 6 },
        puts: [changed],
        removes: [{ id: "r0", offset: 0, sequence: 6 }],
      }));
      const last = [
        { kind: "put", sequence: 5, record: changed },
        { kind: "remove", sequence: 6, id: "r0" },
      ];
      const third = { kind: "put", sequence: 3, record: storedRecord(2) };
      const superseded = [1, 2].map((sequence) => ({ kind: "superseded", sequence }));
      expect(changesAfter(0)).toEqual([...superseded, third, ...last]);
      expect(changesAfter(1)).toEqual([...superseded.slice(1), third, ...last]);
      for (const sequence of [3, 4]) expect(changesAfter(sequence)).toEqual(last);
      expect(changesAfter(5)).toEqual(last.slice(1));
      expect(changesAfter(6)).toEqual([]);
      expect(store.completeFrom).toBe(0);
    });

    it("brings a copy of any age up to date", async () => {
      const id = fc.integer({ min: 0, max: 9 }).map(String);
      const operation = fc.oneof(
        { weight: 3, arbitrary: fc.array(id, { maxLength: 6 }).map(upsert) },
        fc.array(id, { maxLength: 3 }).map((ids): CommitOperation => ({ kind: "delete", ids })),
      );
      const batches = fc.array(fc.array(operation, { minLength: 1, maxLength: 3 }), { maxLength: 8 });
      await fc.assert(
        fc.asyncProperty(batches, async (history) => {
          const written = await open();
          const copies = [{ sequence: 0, records: new Map<number, StoredRecord>() }];
          for (const operations of history) {
            const { head } = await written.apply((view) => planOperations(view, operations));
            copies.push({ sequence: head.sequence, records: contents(written) });
          }
          for (const { sequence, records } of copies) {
            bringUpToDate(records, written.changesAfter(sequence));
            expect(records).toEqual(contents(written));
          }
          await written.close();
        }),
        { numRuns: 30 },
      );
    });

    it("forgets old changes, but none that it was asked to keep", async () => {
      await store.apply(append(...Array.from({ length: 600 }, (_, offset) => storedRecord(offset))));
      const skipTo = (sequence: number): Promise<StoreChange> =>
        store.apply(({ head }) => ({ head: { ...head, sequence }, puts: [], removes: [] }));
      store.keepChangesAfter(10);
      await skipTo(tracked + 700);
      expect(store.completeFrom).toBeLessThanOrEqual(10);
      expect(changesAfter(10)).toHaveLength(590);
      await skipTo(1_000_800);
      expect(store.completeFrom).toBeGreaterThan(500);
      expect(store.completeFrom).toBeLessThanOrEqual(800);
      store.keepChangesAfter(2_000_000);
      await skipTo(1_000_900);
      expect(store.completeFrom).toBeLessThanOrEqual(1_000_900 - tracked);
      expect(store.changesAfter(store.completeFrom - 1)).toBe("trimmed");
      expect(changesAfter(store.completeFrom)).toEqual([]);
      expect([...store.scan(0)]).toHaveLength(600);
    });

    it("shows a plan the state that all earlier batches left", async () => {
      const seen: number[] = [];
      const batches = Array.from({ length: 20 }, (_, offset) =>
        store.apply((view) => {
          seen.push(view.head.nextOffset);
          return append(storedRecord(offset))(view);
        }),
      );
      const resolved: number[] = [];
      await Promise.all(batches.map(async (batch) => resolved.push((await batch).head.nextOffset)));
      expect(seen).toEqual(Array.from({ length: 20 }, (_, i) => i));
      expect(resolved).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
    });

    it("applies batches in steps whole and in their order", async () => {
      function* inSteps(view: StoreView, offset: number): Generator<void, StoreChange> {
        expect(view.head.nextOffset).toBe(offset);
        for (const until = performance.now() + 12; performance.now() < until;) yield;
        if (offset === 1) throw new Error("no");
        return append(storedRecord(offset))(view);
      }
      const first = store.apply((view) => inSteps(view, 0));
      const broken = store.apply((view) => inSteps(view, 1));
      const last = store.apply(append(storedRecord(1)));
      await expect(broken).rejects.toThrow("no");
      await Promise.all([first, last]);
      expect([...store.scan(0)].map(({ id }) => id)).toEqual(["r0", "r1"]);
    });

    it("leaves nothing of a batch whose plan throws, and everything of its neighbours", async () => {
      const before = store.apply(append(storedRecord(0)));
      const broken = store.apply(() => {
        throw new Error("no");
      });
      const after = store.apply(append(storedRecord(1)));
      await expect(broken).rejects.toThrow("no");
      await Promise.all([before, after]);
      expect([...store.scan(0)].map(({ id }) => id)).toEqual(["r0", "r1"]);
    });
  });
}
