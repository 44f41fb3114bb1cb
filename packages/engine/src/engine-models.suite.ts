/** What every engine remembers of the models that vectors of a collection were made with. */
import { randomUUID } from "node:crypto";
import type { CollectionRef, ModelIdentity } from "@sheaf/protocol";
import { beforeEach, describe, expect, it } from "vitest";
import type { Engine } from "./engine.ts";
import { AT, makeCollection, record, write } from "./testing/engine-fixtures.ts";

function weights(revision: string, identifier = "some/model"): ModelIdentity {
  return { identifier, revision, digest: `sha256:${revision.repeat(64)}` };
}

/** `current` gives the engine under test. */
export function engineModelsSuite(current: () => Engine): void {
  let engine: Engine;
  let ref: CollectionRef;

  beforeEach(async () => {
    engine = current();
    ref = await makeCollection(engine);
  });

  const known = async (of = ref): Promise<unknown> => (await engine.getCollection(of)).models;

  describe("models of a collection", () => {
    it("are none at first, and what is remembered of one stays", async () => {
      expect(await known()).toEqual({});
      expect(await engine.rememberModels(ref, [weights("a")])).toEqual({ "some/model": weights("a") });
      expect(await engine.rememberModels(ref, [weights("b"), weights("c", "other/model")])).toEqual({
        "some/model": weights("a"),
        "other/model": weights("c", "other/model"),
      });
      expect(await known()).toEqual({
        "some/model": weights("a"),
        "other/model": weights("c", "other/model"),
      });
    });

    it("are those of the first of two writers that come at once, to both", async () => {
      const answers = await Promise.all([
        engine.rememberModels(ref, [weights("a")]),
        engine.rememberModels(ref, [weights("b")]),
      ]);
      expect(answers[0]).toEqual(answers[1]);
      expect(await known()).toEqual(answers[0]);
    });

    it("are replaced where that is accepted, and others stay", async () => {
      await engine.rememberModels(ref, [weights("a"), weights("c", "other/model")]);
      const accepted = { "some/model": weights("b"), "other/model": weights("c", "other/model") };
      expect(await engine.acceptModels(ref, [weights("b")])).toEqual(accepted);
      expect(await known()).toEqual(accepted);
    });

    it("go with a fork, and then their own way", async () => {
      await write(engine, ref, "add", record("a"));
      await engine.rememberModels(ref, [weights("a")]);
      const { id } = await engine.forkCollection(ref, `f-${randomUUID()}`);
      await engine.acceptModels(ref, [weights("b")]);
      expect(await known({ ...AT, id })).toEqual({ "some/model": weights("a") });
      expect(await known()).toEqual({ "some/model": weights("b") });
    });

    it("outlast changes of the collection and writes", async () => {
      await engine.rememberModels(ref, [weights("a")]);
      await engine.updateCollection(ref, { metadata: new Map([["k", true]]) });
      await write(engine, ref, "add", record("a"));
      await expect.poll(async () => (await engine.getCollection(ref)).version, { timeout: 10_000 }).toBe(1);
      expect(await known()).toEqual({ "some/model": weights("a") });
    });

    it("belong to a collection that is there, under its own database", async () => {
      for (const wrong of [
        { ...AT, id: randomUUID() },
        { ...ref, database: "other" },
      ]) {
        await expect(engine.rememberModels(wrong, [weights("a")])).rejects.toMatchObject({ status: 404 });
        await expect(engine.acceptModels(wrong, [weights("a")])).rejects.toMatchObject({ status: 404 });
      }
      expect(await known()).toEqual({});
    });
  });
}
