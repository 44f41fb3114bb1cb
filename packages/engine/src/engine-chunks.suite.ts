/** Documents that are cut, as every engine stores and selects them: an id stands for its chunks. */
import { randomUUID } from "node:crypto";
import { type CollectionRef, type WriteRecord, parseCreateCollection } from "@sheaf/protocol";
import { beforeEach, describe, expect, it } from "vitest";
import type { Engine } from "./engine.ts";
import { ALL, AT, INCLUDE, idsOf, listsOf, record, write } from "./testing/engine-fixtures.ts";

function document(id: string, texts: readonly string[], fields: Partial<WriteRecord> = {}): WriteRecord {
  const chunks = texts.map((text, i) => ({
    ...{ start: i, end: i + text.length, embedding: Float32Array.of(i, 1), document: text, metadata: null },
  }));
  return record(id, { embedding: null, chunks, ...fields });
}

/** `current` gives the engine under test. */
export function engineChunksSuite(current: () => Engine): void {
  let engine: Engine;
  let ref: CollectionRef;

  beforeEach(async () => {
    engine = current();
    const body = { name: `c-${randomUUID()}`, schema: { chunking: { by: "none" } } };
    ref = { ...AT, id: (await engine.createCollection(parseCreateCollection(body, AT))).id };
    const metadata = new Map([["parent", "a"]]);
    await write(
      engine,
      ref,
      "add",
      document("a", ["x", "y", "z"]),
      document("b", ["x"]),
      record("c", { metadata }),
    );
  });

  const selected = async (ids: readonly string[], where = null): Promise<readonly string[]> => {
    const request = { ids, where, ...ALL, include: INCLUDE };
    const [found = []] = await listsOf(engine, ref, engine.get(ref, request));
    return found.map(({ id }) => id);
  };

  describe("documents that are cut", () => {
    it("are selected by their ids, alone and beside others, in every read", async () => {
      expect(await selected(["a"])).toEqual(["a#0", "a#1", "a#2"]);
      expect(await selected(["c", "b", "a#1", "nobody"])).toEqual(["a#1", "b#0", "c"]);
      expect(await engine.count(ref, { ids: ["a", "c"], where: null })).toBe(4);
      const facets = { ids: ["a", "b"], where: null, keys: ["parent"], limit: 5, histogram: null };
      const [facet] = await engine.facets(ref, facets);
      expect(facet?.values).toEqual([
        { value: "a", count: 3 },
        { value: "b", count: 1 },
      ]);
      const nearest = { ids: ["a"], where: null, limit: 2, include: INCLUDE };
      const query = engine.query(ref, { ...nearest, embeddings: [Float32Array.of(2, 1)] });
      const [found = []] = await listsOf(engine, ref, query);
      expect(found.map(({ id }) => id)).toEqual(["a#2", "a#1"]);
    });

    it("are deleted by their ids, and by their ids and a filter as far as that matches", async () => {
      const where = { type: "compare", operator: "$gte", key: "start", value: 1n } as const;
      expect(await engine.delete(ref, { ids: ["a"], where, limit: null })).toBe(2);
      expect(await idsOf(engine, ref)).toEqual(["a#0", "b#0", "c"]);
      await write(engine, ref, "upsert", document("a", ["new", "text"]));
      expect(await idsOf(engine, ref)).toEqual(["a#0", "b#0", "c", "a#1"]);
      expect(await engine.delete(ref, { ids: ["a", "c"], where: null, limit: null })).toBe(3);
      expect(await idsOf(engine, ref)).toEqual(["b#0"]);
    });

    it("have changed for a transaction where one of their chunks has", async () => {
      const token = await engine.readToken(ref);
      const request = { token, readIds: ["b"], operations: [] };
      await write(engine, ref, "upsert", document("a", ["new"]));
      await engine.commit(ref, request);
      await engine.delete(ref, { ids: ["b"], where: null, limit: null });
      await expect(engine.commit(ref, request)).rejects.toMatchObject({ code: "conditional_conflict" });
      const absent = { token: await engine.readToken(ref), readIds: ["b"], operations: [] };
      await engine.commit(ref, absent);
      await write(engine, ref, "add", document("b", ["again"]));
      await expect(engine.commit(ref, absent)).rejects.toMatchObject({ code: "conditional_conflict" });
    });
  });
}
