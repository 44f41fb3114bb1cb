/** Writes and deletes as every engine does them. */
import { randomUUID } from "node:crypto";
import { type CollectionRef, type Where, parseCreateCollection } from "@sheaf/protocol";
import { beforeEach, describe, expect, it } from "vitest";
import type { Engine } from "./engine.ts";
import { AT, idsOf, makeCollection, readAll, record, write } from "./testing/engine-fixtures.ts";

/** `current` gives the engine under test. */
export function engineRecordsSuite(current: () => Engine, mayOvertake: boolean): void {
  let engine: Engine;
  let ref: CollectionRef;

  beforeEach(async () => {
    engine = current();
    ref = await makeCollection(engine);
  });

  describe("writes", () => {
    it("stores every field and reads it back", async () => {
      const full = record("a", {
        document: "text",
        uri: "file:///a",
        metadata: new Map<string, bigint | number | boolean | string>([
          ["float", 3],
          ["negative zero", -0],
          ["int", -9007199254740993n],
          ["yes", true],
          ["text", "ü"],
        ]),
      });
      await write(engine, ref, "add", full, record("b"));
      expect(await readAll(engine, ref)).toEqual([full, record("b")]);
      const [first] = await readAll(engine, ref);
      expect(Object.is(first?.metadata?.get("negative zero"), -0)).toBe(true);
    });

    it("stores records as they are given only where the schema has nothing made of them", async () => {
      const records = [record("a")];
      expect(await engine.writeAsGiven(ref, { kind: "add", records })).toBe(true);
      expect(await readAll(engine, ref)).toEqual(records);
      const index = { sparse_vector_index: { enabled: true, config: {} } };
      for (const schema of [{ keys: { words: { sparse_vector: index } } }, { chunking: { by: "none" } }]) {
        const body = parseCreateCollection({ name: `c-${randomUUID()}`, schema }, AT);
        const other = { ...AT, id: (await engine.createCollection(body)).id };
        expect(await engine.writeAsGiven(other, { kind: "add", records })).toBe(false);
        expect(await readAll(engine, other)).toEqual([]);
      }
    });

    it("add ignores ids that exist, in the store and in the batch", async () => {
      await write(engine, ref, "add", record("a", { document: "first" }));
      await write(
        engine,
        ref,
        "add",
        record("a", { document: "second" }),
        record("b"),
        record("b", { document: "x" }),
      );
      expect((await readAll(engine, ref)).map(({ id, document }) => [id, document])).toEqual([
        ["a", "first"],
        ["b", null],
      ]);
    });

    it("update merges and ignores ids that do not exist", async () => {
      const metadata = new Map<string, bigint | string>([
        ["keep", 1n],
        ["gone", "x"],
      ]);
      await write(engine, ref, "add", record("a", { document: "text", metadata }));
      const patch = new Map<string, bigint | null>([
        ["gone", null],
        ["new", 2n],
      ]);
      await write(
        engine,
        ref,
        "update",
        record("a", { embedding: null, metadata: patch }),
        record("missing"),
      );
      const expected = new Map([
        ["keep", 1n],
        ["new", 2n],
      ]);
      expect(await readAll(engine, ref)).toEqual([record("a", { document: "text", metadata: expected })]);
    });

    it("upsert inserts, merges, and merges within a batch", async () => {
      const batch = [record("a", { document: "one" }), record("a", { embedding: null, uri: "u" })];
      await write(engine, ref, "upsert", ...batch);
      await write(engine, ref, "upsert", record("a", { embedding: Float32Array.of(5, 6) }));
      const embedding = Float32Array.of(5, 6);
      expect(await readAll(engine, ref)).toEqual([record("a", { document: "one", uri: "u", embedding })]);
    });

    it("reads metadata without keys back as none", async () => {
      await write(engine, ref, "add", record("a", { metadata: new Map() }));
      await write(engine, ref, "add", record("b", { metadata: new Map([["k", true]]) }));
      await write(engine, ref, "update", record("b", { metadata: new Map([["k", null]]) }));
      expect((await readAll(engine, ref)).map(({ metadata }) => metadata)).toEqual([null, null]);
    });

    it("takes an id that comes twice in a call as if it came in two", async () => {
      const text = (document: string): ReturnType<typeof record> => record("a", { document });
      const document = async (): Promise<unknown> => (await readAll(engine, ref))[0]?.document;
      await write(engine, ref, "add", text("first"), text("second"));
      expect(await document()).toBe("first");
      const k = record("a", { embedding: null, metadata: new Map([["k", true]]) });
      await write(engine, ref, "upsert", text("third"), k);
      await write(engine, ref, "update", text("fourth"), text("fifth"));
      expect(await readAll(engine, ref)).toMatchObject([{ document: "fifth", metadata: k.metadata }]);
      expect(await engine.delete(ref, { ids: ["a", "a"], where: null, limit: null })).toBe(1);
    });

    it("refuses a new record without embedding, and the whole batch with it", async () => {
      const batch = write(engine, ref, "upsert", record("a"), record("b", { embedding: null }));
      await expect(batch).rejects.toMatchObject({
        status: 400,
        message:
          'ids[1]: record "b" is new and needs an embedding: ' +
          "send one, or a document for a collection whose embedding function this server has",
      });
      expect(await readAll(engine, ref)).toEqual([]);
    });

    it("fixes the dimension with the first embedding", async () => {
      await write(engine, ref, "add", record("a"));
      expect(await engine.getCollection(ref)).toMatchObject({ dimension: 2 });
      const wrong = write(
        engine,
        ref,
        "add",
        record("b"),
        record("c", { embedding: Float32Array.of(1, 2, 3) }),
      );
      await expect(wrong).rejects.toMatchObject({
        status: 400,
        message: "embeddings[1]: Collection expecting embedding with dimension of 2, got 3",
      });
      expect(await idsOf(engine, ref)).toEqual(["a"]);
    });

    it("does not fix the dimension with a write that stores nothing", async () => {
      await write(engine, ref, "update", record("a", { embedding: Float32Array.of(1, 2, 3) }));
      expect(await engine.getCollection(ref)).toMatchObject({ dimension: null });
      await write(engine, ref, "add", record("a"));
    });

    it("keeps insertion order under concurrent writers", async () => {
      const batches = Array.from({ length: 30 }, (_, i) =>
        write(engine, ref, "add", record(`a${i}`), record(`b${i}`)),
      );
      await Promise.all(batches);
      const ids = await idsOf(engine, ref);
      expect(new Set(ids).size).toBe(60);
      for (let i = 0; i < 30; i++) expect(ids.indexOf(`b${i}`)).toBe(ids.indexOf(`a${i}`) + 1);
    });

    it("shows new metadata keys in the schema with the write", async () => {
      await write(engine, ref, "add", record("a", { metadata: new Map([["k", 1n]]) }));
      expect((await engine.getCollection(ref)).schema["keys"]).toHaveProperty("k.int");
      await write(engine, ref, "add", record("b", { metadata: new Map([["k", 1.5]]) }));
      expect((await engine.getCollection(ref)).schema["keys"]).toHaveProperty("k.float");
    });
  });

  describe("deletes", () => {
    const where: Where = { type: "compare", key: "n", operator: "$gte", value: 2n };

    beforeEach(async () => {
      const records = [0n, 1n, 2n, 3n, 4n].map((n) => record(`r${n}`, { metadata: new Map([["n", n]]) }));
      await write(engine, ref, "add", ...records);
    });

    it("by ids counts what existed", async () => {
      const request = { ids: ["r1", "nobody", "r1", "r3"], where: null, limit: null };
      expect(await engine.delete(ref, request)).toBe(2);
      expect(await idsOf(engine, ref)).toEqual(["r0", "r2", "r4"]);
      expect(await engine.delete(ref, request)).toBe(0);
    });

    it("by filter, with a limit in insertion order", async () => {
      expect(await engine.delete(ref, { ids: null, where, limit: 2 })).toBe(2);
      expect(await idsOf(engine, ref)).toEqual(["r0", "r1", "r4"]);
    });

    it("by ids and filter takes the intersection", async () => {
      expect(await engine.delete(ref, { ids: ["r0", "r2"], where, limit: null })).toBe(1);
      expect(await idsOf(engine, ref)).toEqual(["r0", "r1", "r3", "r4"]);
    });

    it("of nothing removes nothing", async () => {
      expect(await engine.delete(ref, { ids: null, where: null, limit: null })).toBe(0);
      expect(await engine.count(ref, { ids: null, where: null })).toBe(5);
    });

    it("by filter sees the writes before it and none after", async () => {
      const first = write(engine, ref, "add", record("early", { metadata: new Map([["n", 9n]]) }));
      if (mayOvertake) await first;
      const deleted = engine.delete(ref, { ids: null, where, limit: null });
      if (mayOvertake) await deleted;
      const later = write(engine, ref, "add", record("late", { metadata: new Map([["n", 9n]]) }));
      await Promise.all([first, later]);
      expect(await deleted).toBe(4);
      expect(await idsOf(engine, ref)).toEqual(["r0", "r1", "late"]);
    });

    it("lets an id be written again, as a new record", async () => {
      await engine.delete(ref, { ids: ["r0"], where: null, limit: null });
      await write(engine, ref, "add", record("r0"));
      expect(await idsOf(engine, ref)).toEqual(["r1", "r2", "r3", "r4", "r0"]);
    });
  });

  it("counts the values of keys as they are after each write", async () => {
    const metadata = (n: bigint | number): Map<string, bigint | number> => new Map([["n", n]]);
    await write(
      engine,
      ref,
      "add",
      record("i", { metadata: metadata(1n) }),
      record("f", { metadata: metadata(1) }),
    );
    await write(engine, ref, "add", record("j", { metadata: metadata(1n) }), record("none"));
    await engine.delete(ref, { ids: ["f"], where: null, limit: null });
    const request = { ids: null, where: null, keys: ["n", "absent"], limit: 3, histogram: 2 };
    const nothing = { values: [], missing: 3, other: 0, min: null, max: null, histogram: [] };
    expect(await engine.facets(ref, request)).toEqual([
      {
        ...{ key: "n", values: [{ value: 1n, count: 2 }], missing: 1, other: 0, min: 1n, max: 1n },
        histogram: [{ from: 1, to: 1, count: 2 }],
      },
      { key: "absent", ...nothing },
    ]);
  });
}
