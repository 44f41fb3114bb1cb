/** Conditional transactions as every engine does them. */
import { randomUUID } from "node:crypto";
import { type CollectionRef, type CommitOperation, LIMITS } from "@sheaf/protocol";
import { beforeEach, describe, expect, it } from "vitest";
import type { Engine } from "./engine.ts";
import { AT, idsOf, makeCollection, readAll, record, write } from "./testing/engine-fixtures.ts";

const CONFLICT = { status: 409, code: "conditional_conflict" };
const STALE = { status: 412, code: "stale_read" };
const REMOVE = { where: null, limit: null };

/** `current` gives the engine under test. */
export function engineTransactionsSuite(current: () => Engine): void {
  let engine: Engine;
  let ref: CollectionRef;

  beforeEach(async () => {
    engine = current();
    ref = await makeCollection(engine);
  });

  const upsert = (id: string, document: string): CommitOperation => ({
    kind: "upsert",
    records: [record(id, { document })],
  });

  describe("conditional transactions", () => {
    it("apply their operations in order, as one", async () => {
      await write(engine, ref, "add", record("old", { document: "x" }), record("gone"));
      const token = await engine.readToken(ref);
      const operations: readonly CommitOperation[] = [
        { kind: "delete", ids: ["gone", "nobody"] },
        { kind: "add", records: [record("gone", { document: "again" }), record("old", { document: "no" })] },
        { kind: "update", records: [record("old", { embedding: null, uri: "u" })] },
        upsert("new", "n"),
        { kind: "delete", ids: ["new"] },
      ];
      const request = { token, readIds: ["old", "gone", "new"], operations };
      expect(await engine.commit(ref, request)).toEqual({ firstSequence: 3, recordCount: 7 });
      expect(await readAll(engine, ref)).toEqual([
        record("old", { document: "x", uri: "u" }),
        record("gone", { document: "again" }),
      ]);
      await expect
        .poll(async () => (await engine.getCollection(ref)).version, { timeout: 10_000 })
        .toBeGreaterThan(0);
    });

    it("do nothing at all when one operation is refused", async () => {
      const operations: readonly CommitOperation[] = [
        upsert("a", "x"),
        { kind: "add", records: [record("b", { embedding: null })] },
      ];
      await expect(engine.commit(ref, { token: null, readIds: [], operations })).rejects.toMatchObject({
        status: 400,
        message: expect.stringMatching(/^operations\[1\]\.payload\.ids\[0\]: /),
      });
      expect(await idsOf(engine, ref)).toEqual([]);
      expect(await engine.getCollection(ref)).toMatchObject({ dimension: null });
    });

    it.each<[string, (id: string) => Promise<unknown>]>([
      ["is changed", () => write(engine, ref, "update", record("a", { document: "new" }))],
      ["is removed", () => engine.delete(ref, { ids: ["a"], ...REMOVE })],
      ["appears", () => write(engine, ref, "add", record("absent"))],
      [
        "is removed and made again",
        async () => {
          await engine.delete(ref, { ids: ["a"], ...REMOVE });
          await write(engine, ref, "add", record("a"));
        },
      ],
      [
        "appears and is removed",
        async () => {
          await write(engine, ref, "add", record("absent"));
          await engine.delete(ref, { ids: ["absent"], ...REMOVE });
        },
      ],
    ])("conflict when a record that was read %s", async (_, change) => {
      await write(engine, ref, "add", record("a"), record("b"));
      const token = await engine.readToken(ref);
      await change("a");
      const before = await readAll(engine, ref);
      const operations = [upsert("b", "lost")];
      await expect(engine.commit(ref, { token, readIds: ["a", "absent"], operations })).rejects.toMatchObject(
        CONFLICT,
      );
      await expect(
        engine.commit(ref, { token, readIds: ["a", "absent"], operations: [] }),
      ).rejects.toMatchObject(CONFLICT);
      expect(await readAll(engine, ref)).toEqual(before);
      // What was not read may have changed.
      expect(await engine.commit(ref, { token, readIds: ["b"], operations })).toMatchObject({
        recordCount: 1,
      });
    });

    it("do not conflict with what happened before the read", async () => {
      await write(engine, ref, "add", record("a"), record("b"));
      await engine.delete(ref, { ids: ["b"], ...REMOVE });
      const token = await engine.readToken(ref);
      const nothing = { firstSequence: null, recordCount: 0 };
      const readIds = ["a", "b", "absent"];
      expect(await engine.commit(ref, { token, readIds, operations: [] })).toEqual(nothing);
      expect(await engine.commit(ref, { token, readIds, operations: [upsert("b", "x")] })).toEqual({
        firstSequence: 4,
        recordCount: 1,
      });
    });

    it("never lose an update", async () => {
      await write(engine, ref, "add", record("counter", { document: "0" }));
      const increment = async (): Promise<void> => {
        for (;;) {
          const token = await engine.readToken(ref);
          const value = Number((await readAll(engine, ref))[0]?.document);
          const operations = [upsert("counter", String(value + 1))];
          try {
            await engine.commit(ref, { token, readIds: ["counter"], operations });
            return;
          } catch (error) {
            expect(error).toMatchObject(CONFLICT);
          }
        }
      };
      await Promise.all(Array.from({ length: 8 }, increment));
      expect((await readAll(engine, ref))[0]?.document).toBe("8");
    });

    it("are stale with a token of a fork, of another collection or epoch, and of a state unknown", async () => {
      await write(engine, ref, "add", record("a"));
      const token = await engine.readToken(ref);
      const forked = { ...AT, id: (await engine.forkCollection(ref, `f-${randomUUID()}`)).id };
      const other = await engine.readToken(await makeCollection(engine));
      const commit = (to: CollectionRef, read: number): Promise<unknown> =>
        engine.commit(to, { token: read, readIds: [], operations: [upsert("a", "x")] });
      await expect(commit(forked, token)).rejects.toMatchObject(STALE);
      await expect(commit(ref, other)).rejects.toMatchObject(STALE);
      await expect(commit(ref, token + 1)).rejects.toMatchObject(STALE);
      await expect(commit(ref, Number.MAX_SAFE_INTEGER)).rejects.toMatchObject(STALE);
      await expect(commit(ref, token)).resolves.toMatchObject({ recordCount: 1 });
    });

    it("are stale once too much has happened", async () => {
      await write(engine, ref, "add", record("a"));
      const token = await engine.readToken(ref);
      const ignored = Array.from({ length: LIMITS.trackedOperations }, () => record("a"));
      await write(engine, ref, "add", ...ignored);
      const request = { token, readIds: ["a"], operations: [upsert("a", "x")] };
      await expect(engine.commit(ref, request)).resolves.toMatchObject({ recordCount: 1 });
      await expect(engine.commit(ref, request)).rejects.toMatchObject(STALE);
    });
  });
}
