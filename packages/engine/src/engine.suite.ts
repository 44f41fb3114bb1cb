/** The behaviour of every `Engine`: run on the one in this process and on the one behind its host. */
import { type CollectionRef, parseCreateCollection } from "@sheaf/protocol";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { engineCatalogSuite } from "./engine-catalog.suite.ts";
import { engineChunksSuite } from "./engine-chunks.suite.ts";
import { engineForksSuite } from "./engine-forks.suite.ts";
import { engineKeysSuite } from "./engine-keys.suite.ts";
import { engineModelsSuite } from "./engine-models.suite.ts";
import { engineReadsSuite } from "./engine-reads.suite.ts";
import { engineRecordsSuite } from "./engine-records.suite.ts";
import { engineTransactionsSuite } from "./engine-transactions.suite.ts";
import type { CollectionUsage, Engine } from "./engine.ts";
import { AT, INCLUDE, makeCollection, readAll, record, write } from "./testing/engine-fixtures.ts";

export interface EngineSuiteOptions {
  /** Of calls at the same time, a later one may come first. */
  readonly mayOvertake?: boolean;
}

/** `open` is called once; the suite closes what it returns. */
export function engineSuite(
  name: string,
  open: () => Promise<Engine>,
  { mayOvertake = false }: EngineSuiteOptions = {},
): void {
  describe(`behaviour of the ${name}`, () => {
    let engine: Engine;
    let ref: CollectionRef;

    beforeAll(async () => {
      engine = await open();
    });
    afterAll(() => engine.close());
    beforeEach(async () => {
      ref = await makeCollection(engine);
    });

    engineCatalogSuite(() => engine);
    engineKeysSuite(() => engine);
    engineRecordsSuite(() => engine, mayOvertake);
    engineReadsSuite(() => engine);
    engineForksSuite(() => engine);
    engineModelsSuite(() => engine);
    engineTransactionsSuite(() => engine);
    engineChunksSuite(() => engine);

    describe("reads", () => {
      it("of a collection without records find nothing", async () => {
        expect(await readAll(engine, ref)).toEqual([]);
        expect(await engine.count(ref, { ids: null, where: null })).toBe(0);
        const query = {
          ids: null,
          where: null,
          embeddings: [Float32Array.of(1)],
          limit: 5,
          include: INCLUDE,
        };
        expect(await engine.query(ref, query)).toEqual({ first: 0, lists: [[]], cursor: null });
        expect(await engine.indexingStatus(ref)).toEqual({ totalOperations: 0, indexedOperations: 0 });
      });

      it("find the nearest records", async () => {
        for (const [id, x] of [
          ["far", 9],
          ["near", 1],
          ["middle", 4],
        ] as const) {
          await write(engine, ref, "add", record(id, { embedding: Float32Array.of(x, 0) }));
        }
        const query = {
          ids: null,
          where: null,
          embeddings: [Float32Array.of(0, 0)],
          limit: 2,
          include: INCLUDE,
        };
        const [row] = (await engine.query(ref, query)).lists;
        expect(row?.map(({ id, score }) => [id, score])).toEqual([
          ["near", 1],
          ["middle", 16],
        ]);
      });

      it("stop when they are aborted", async () => {
        await write(engine, ref, "add", record("a"));
        const signal = AbortSignal.abort();
        const count = engine.count(ref, { ids: null, where: null }, { signal });
        await expect(count).rejects.toMatchObject({ code: "cancelled" });
      });
    });

    it("raises version and log position after a write, not with it", async () => {
      await write(engine, ref, "add", record("a"), record("b"));
      const before = await engine.getCollection(ref);
      expect(before).toMatchObject({ version: 0, logPosition: 0 });
      expect(await engine.indexingStatus(ref)).toEqual({ totalOperations: 2, indexedOperations: 0 });
      await expect.poll(async () => (await engine.getCollection(ref)).version, { timeout: 10_000 }).toBe(1);
      expect(await engine.getCollection(ref)).toMatchObject({ logPosition: 2 });
      expect(await engine.indexingStatus(ref)).toEqual({ totalOperations: 2, indexedOperations: 2 });
      const { held, ...usage } = await usageOf(engine, ref);
      expect(usage).toMatchObject({ dimension: before.dimension, totalOperations: 2, indexedOperations: 2 });
      expect(held).toMatchObject({ records: 2, bytes: expect.any(Number) });
      expect(held!.bytes).toBeGreaterThan(0);
      expect(Math.abs(Date.now() - held!.writtenAt!)).toBeLessThan(60_000);
      // An ignored record is an operation too: who waits for it must not wait in vain.
      await write(engine, ref, "add", record("a"));
      await expect.poll(async () => (await engine.getCollection(ref)).version, { timeout: 10_000 }).toBe(2);
    });

    it("answers 404 for a dropped collection, also to calls under way", async () => {
      await write(engine, ref, "add", record("a"));
      const { name } = await engine.getCollection(ref);
      const message = `Collection [${ref.id}] does not exist.`;
      const underWay = Array.from({ length: 20 }, () => write(engine, ref, "upsert", record("a")));
      const dropped = engine.deleteCollection({ ...AT, name });
      for (const result of await Promise.allSettled(underWay)) {
        if (result.status === "rejected") expect(result.reason).toMatchObject({ message });
      }
      await dropped;
      await expect(readAll(engine, ref)).rejects.toMatchObject({ message });
      await expect(engine.deleteCollection({ ...AT, name })).rejects.toMatchObject({
        message: `Collection [${name}] does not exist`,
      });
      const again = await engine.createCollection(parseCreateCollection({ name }, AT));
      expect(again.id).not.toBe(ref.id);
    });

    it("reset removes everything and makes the defaults again", async () => {
      await write(engine, ref, "add", record("a"));
      await engine.createTenant("short-lived");
      await engine.reset();
      expect((await engine.listTenants({ limit: null, offset: 0 })).items).toEqual([
        { name: "default_tenant", resourceName: null },
      ]);
      expect(await engine.countCollections(AT)).toBe(0);
      await expect(engine.getCollection(ref)).rejects.toMatchObject({ code: "not_found" });
      expect((await engine.getDatabase(AT)).name).toBe("default_database");
    });
  });
}

async function usageOf(engine: Engine, ref: CollectionRef): Promise<CollectionUsage> {
  for (let after: string | undefined; ;) {
    const page = { limit: null, offset: 0, ...(after !== undefined && { after }) };
    const { items, next } = await engine.collectionUsage(ref, page);
    const found = items.find(({ id }) => id === ref.id);
    if (found !== undefined) return found;
    if (next === null) throw new Error("the collection is not listed");
    after = next;
  }
}
