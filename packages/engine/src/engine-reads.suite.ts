/** Reads of several batches as every engine does them: one state, an owner, an end. */
import { randomUUID } from "node:crypto";
import {
  type CollectionRef,
  type ResultRecord,
  type SearchRequest,
  fromDocumentText,
  parseSearchRequest,
} from "@sheaf/protocol";
import { beforeEach, describe, expect, it } from "vitest";
import type { Engine } from "./engine.ts";
import { ALL, AT, INCLUDE, listsOf, makeCollection, record, write } from "./testing/engine-fixtures.ts";

const RECORDS = 8;
const GET = { ids: null, where: null, ...ALL, include: INCLUDE };

/** `current` gives the engine under test. */
export function engineReadsSuite(current: () => Engine): void {
  let engine: Engine;
  let ref: CollectionRef;

  const text = (i: number, number: number): string => `${number} of ${i} `.padEnd(400_000, "x");
  const fill = async (version: number): Promise<void> => {
    const records = Array.from({ length: RECORDS }, (_, i) =>
      record(`r${i}`, { document: text(i, version) }),
    );
    await write(engine, ref, "upsert", ...records);
  };
  /** Without what all have in common: nobody can read a difference of megabytes. */
  const shown = (list: readonly ResultRecord[]): readonly string[] =>
    list.map(({ document }) => `${textOf(document).replace(/x+$/u, "")}of ${document?.length}`);
  const version = (number: number): readonly string[] =>
    Array.from({ length: RECORDS }, (_, i) => `${number} of ${i} of 400000`);
  const searches = (count: number): SearchRequest =>
    parseSearchRequest({
      searches: Array.from({ length: count }, () => ({ select: { keys: ["#document"] } })),
    });

  beforeEach(async () => {
    engine = current();
    ref = await makeCollection(engine);
    await fill(0);
  });

  describe("reads of several batches", () => {
    it("show one state in all lists, whatever is written meanwhile", async () => {
      const first = await engine.search(ref, searches(3));
      expect(first.cursor).not.toBeNull();
      await fill(1);
      const second = await engine.search(ref, searches(1));
      await engine.delete(ref, { ids: ["r0", "r5", "r7"], where: null, limit: null });
      await fill(2);
      const lists = await listsOf(engine, ref, Promise.resolve(first));
      expect(lists.map(shown)).toEqual([version(0), version(0), version(0)]);
      const [later = []] = await listsOf(engine, ref, Promise.resolve(second));
      expect(shown(later)).toEqual(version(1));
      expect((await engine.statistics()).openReads).toBe(0);
    });

    it("are closed whenever their caller leaves", async () => {
      const leave = async (afterMs: number): Promise<void> => {
        const gone = new AbortController();
        setTimeout(() => gone.abort(), afterMs);
        const batch = await engine.get(ref, GET, { signal: gone.signal }).catch(() => null);
        if (batch !== null && batch.cursor !== null) await engine.closeRead(batch.cursor);
      };
      for (let round = 0; round < 4; round++) {
        await Promise.all(Array.from({ length: 24 }, (_, i) => leave(i / 2)));
      }
      await expect.poll(async () => (await engine.statistics()).openReads, { timeout: 10_000 }).toBe(0);
    });

    it("show one state while writers never rest", async () => {
      const over = new AbortController();
      const writing = (async () => {
        for (let number = 1; !over.signal.aborted; number++) await fill(number);
      })();
      for (let turn = 0; turn < 10; turn++) {
        const [list = []] = await listsOf(engine, ref, engine.get(ref, GET));
        expect(shown(list)).toEqual(version(Number(textOf(list[0]?.document).split(" ")[0])));
      }
      over.abort();
      await writing;
    });

    it("end where their collection does", async () => {
      const name = `c-${randomUUID()}`;
      ref = await makeCollection(engine, name);
      await fill(0);
      const { cursor } = await engine.get(ref, GET);
      await engine.deleteCollection({ ...AT, name });
      await expect(engine.nextBatch(ref, cursor ?? 0)).rejects.toMatchObject({ code: "not_found" });
      expect((await engine.statistics()).openReads).toBe(0);
    });

    it("end when they are closed, aborted or asked for twice at once", async () => {
      const gone = { code: "unavailable", retryAfterSeconds: 1 };
      const closed = (await engine.get(ref, GET)).cursor ?? 0;
      await engine.closeRead(closed);
      await engine.closeRead(closed);
      await expect(engine.nextBatch(ref, closed)).rejects.toMatchObject(gone);
      const other = await makeCollection(engine);
      const open = (await engine.get(ref, GET)).cursor ?? 0;
      await expect(engine.nextBatch(other, open)).rejects.toMatchObject(gone);
      await expect(engine.nextBatch(ref, open)).resolves.toMatchObject({ first: 0 });
      await engine.closeRead(open);
      expect((await engine.statistics()).openReads).toBe(0);
    });

    it("are refused beyond what a tenant may have open, and nobody else's are", async () => {
      const open: number[] = [];
      const refused = await (async () => {
        try {
          for (;;) open.push((await engine.get(ref, GET)).cursor ?? 0);
        } catch (error) {
          return error;
        }
      })();
      expect(refused).toMatchObject({ code: "rate_limited", retryAfterSeconds: 1 });
      expect(open.length).toBeGreaterThan(400);
      for (const cursor of open) await engine.closeRead(cursor);
      const [list] = await listsOf(engine, ref, engine.get(ref, GET));
      expect(list).toHaveLength(RECORDS);
    });
  });
}

function textOf(document: ResultRecord["document"]): string {
  return fromDocumentText(document ?? "");
}
