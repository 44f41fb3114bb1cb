/** Forks and resource names as every engine does them. */
import { randomUUID } from "node:crypto";
import { type CollectionRef, LIMITS, parseCreateCollection } from "@sheaf/protocol";
import { beforeEach, describe, expect, it } from "vitest";
import type { Engine } from "./engine.ts";
import { AT, idsOf, makeCollection, readAll, record, write } from "./testing/engine-fixtures.ts";

const UNKNOWN: CollectionRef = { ...AT, id: "01234567-89ab-4cde-8f01-23456789abcd" };

/** `current` gives the engine under test. */
export function engineForksSuite(current: () => Engine): void {
  let engine: Engine;
  let ref: CollectionRef;

  beforeEach(async () => {
    engine = current();
    ref = await makeCollection(engine);
  });

  const fork = async (of = ref, name = `f-${randomUUID()}`): Promise<CollectionRef> => {
    const { id } = await engine.forkCollection(of, name);
    return { ...AT, id };
  };

  describe("forks", () => {
    it("hold the records and the description of their source, and go their own way", async () => {
      const metadata = new Map([["n", 1n]]);
      await write(engine, ref, "add", record("a", { document: "text", metadata }), record("b"));
      await engine.delete(ref, { ids: ["b"], where: null, limit: null });
      const source = await engine.getCollection(ref);
      const name = `f-${randomUUID()}`;
      const made = await engine.forkCollection(ref, name);
      expect(made).toEqual({ ...source, id: made.id, name, version: 0, logPosition: 3 });
      expect(made.id).not.toBe(ref.id);
      const forked = { ...AT, id: made.id };
      expect(await readAll(engine, forked)).toEqual(await readAll(engine, ref));
      expect(await engine.indexingStatus(forked)).toEqual({ totalOperations: 3, indexedOperations: 3 });
      await write(engine, forked, "add", record("only in the fork"));
      await write(engine, ref, "add", record("only in the source"));
      expect(await idsOf(engine, forked)).toEqual(["a", "only in the fork"]);
      expect(await idsOf(engine, ref)).toEqual(["a", "only in the source"]);
      await expect
        .poll(async () => (await engine.getCollection(forked)).version, { timeout: 10_000 })
        .toBe(1);
    });

    it("of a collection without records have none", async () => {
      const forked = await fork();
      expect(await engine.getCollection(forked)).toMatchObject({ dimension: null, logPosition: 0 });
      await write(engine, forked, "add", record("a", { embedding: Float32Array.of(1, 2, 3) }));
      expect(await engine.getCollection(ref)).toMatchObject({ dimension: null });
      expect(await idsOf(engine, ref)).toEqual([]);
    });

    it("are whole batches while others write, and hold all that was acknowledged before", async () => {
      await write(engine, ref, "add", record("a0"), record("b0"));
      let acknowledged = 0;
      const finished = new AbortController();
      const writer = (async () => {
        for (let i = 1; !finished.signal.aborted; i++) {
          await write(engine, ref, "add", record(`a${i}`), record(`b${i}`));
          acknowledged = i;
        }
      })();
      for (let round = 0; round < 3; round++) {
        const before = acknowledged;
        const ids = await idsOf(engine, await fork());
        expect(ids.length % 2).toBe(0);
        expect(ids.length).toBeGreaterThanOrEqual(2 * (before + 1));
        expect(ids).toEqual(ids.map((_, i) => `${i % 2 === 0 ? "a" : "b"}${i >> 1}`));
      }
      finished.abort();
      await writer;
    });

    it("of one tenant do not wait for all those of another", async () => {
      await write(engine, ref, "add", record("a"));
      const at = { tenant: `t-${randomUUID()}`, database: "d" };
      await engine.createTenant(at.tenant);
      await engine.createDatabase(at);
      const { id } = await engine.createCollection(parseCreateCollection({ name: "other" }, at));
      const ended: string[] = [];
      const asked = Array.from({ length: 8 }, () => fork().then(() => ended.push("first tenant")));
      const other = engine.forkCollection({ ...at, id }, "fork").then(() => ended.push("second tenant"));
      await Promise.all([...asked, other]);
      expect(ended.indexOf("second tenant")).toBeLessThan(4);
    });

    it("outlive their source", async () => {
      await write(engine, ref, "add", record("a"));
      const forked = await fork();
      await engine.deleteCollection({ ...AT, name: (await engine.getCollection(ref)).name });
      expect(await idsOf(engine, forked)).toEqual(["a"]);
    });

    it("refuse a taken name, an unknown source and a caller that has left", async () => {
      await write(engine, ref, "add", record("a"));
      const { name } = await engine.getCollection(ref);
      await expect(engine.forkCollection(ref, name)).rejects.toMatchObject({ status: 409 });
      await expect(engine.forkCollection(UNKNOWN, "fork")).rejects.toMatchObject({ status: 404 });
      const signal = AbortSignal.abort();
      const gone = engine.forkCollection(ref, "fork", { signal });
      await expect(gone).rejects.toMatchObject({ code: "cancelled" });
      expect(await engine.forkCount(ref)).toBe(0);
    });

    it("give one of two with the same name", async () => {
      await write(engine, ref, "add", record("a"));
      const name = `f-${randomUUID()}`;
      const results = await Promise.allSettled([
        engine.forkCollection(ref, name),
        engine.forkCollection(ref, name),
      ]);
      expect(results.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
      expect(await engine.forkCount(ref)).toBe(1);
    });

    it("are counted over their whole tree, deleted ones too, up to a limit", async () => {
      expect(await engine.forkCount(ref)).toBe(0);
      await expect(engine.forkCount(UNKNOWN)).rejects.toMatchObject({ status: 404 });
      const child = await fork();
      const grandchild = await fork(child);
      for (const member of [ref, child, grandchild]) expect(await engine.forkCount(member)).toBe(2);
      await engine.deleteCollection({ ...AT, name: (await engine.getCollection(child)).name });
      expect(await engine.forkCount(ref)).toBe(2);
      for (let edges = 2; edges < LIMITS.forkEdges; edges++) await fork(grandchild);
      await expect(fork(ref)).rejects.toMatchObject({
        status: 422,
        message: expect.stringMatching(/^Quota exceeded/),
      });
      expect(await engine.forkCount(ref)).toBe(LIMITS.forkEdges);
      expect(await engine.forkCount(await makeCollection(engine))).toBe(0);
    });
  });

  describe("resource names", () => {
    it("lead to their tenant, and else a name does", async () => {
      const [tenant, resource] = [`t-${randomUUID()}`, `r-${randomUUID()}`];
      expect(await engine.resolveTenant(tenant)).toBeNull();
      await engine.createTenant(tenant);
      expect(await engine.resolveTenant(tenant)).toBe(tenant);
      expect(await engine.resolveTenant(resource)).toBeNull();
      await engine.updateTenant(tenant, resource);
      expect(await engine.resolveTenant(resource)).toBe(tenant);
      await engine.updateTenant(tenant, resource);
      const other = `t-${randomUUID()}`;
      await engine.createTenant(other);
      await expect(engine.updateTenant(other, resource)).rejects.toMatchObject({ status: 409 });
      await engine.deleteTenant(tenant);
      expect(await engine.resolveTenant(resource)).toBeNull();
      await engine.updateTenant(other, resource);
      expect(await engine.resolveTenant(resource)).toBe(other);
    });
  });

  it("keeps the fork count of a name that is used again apart", async () => {
    const name = `c-${randomUUID()}`;
    const first = await makeCollection(engine, name);
    await fork(first);
    await engine.deleteCollection({ ...AT, name });
    const { id } = await engine.createCollection(parseCreateCollection({ name }, AT));
    expect(await engine.forkCount({ ...AT, id })).toBe(0);
  });
}
