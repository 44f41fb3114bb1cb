/** The largest legal requests of each kind: 100,000 long ids, the longest sparse vectors, the largest rank expressions. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LIMITS } from "@sheaf/protocol";
import {
  LARGEST_RANKS,
  LONG_IDS,
  SPARSE_SCHEMA,
  SPARSE_TERMS,
  longId,
  longIdWrite,
  rankSearches,
  sparseSearches,
  sparseWrite,
} from "./testing/largest-requests.ts";
import { Stage } from "./testing/stage.ts";

const WITHIN_MIB = 2_000;
/** Tells slow from hung on a machine that does other things. */
const MOST_MS = 240_000;
/** An attack need not be served, but ends. */
const REQUEST_SECONDS = 6;

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

describe("100,000 ids of 512 bytes", () => {
  it(
    "are read, searched by and deleted in one call each",
    async () => {
      const { attacker } = stage;
      const path = await attacker.createCollection("ids", { configuration: { embedding_function: null } });
      const ids = Array.from({ length: LONG_IDS }, (_, i) => longId(i));
      await stage.unharmed(WITHIN_MIB, async () => {
        for (let from = 0; from < LONG_IDS; from += LONG_IDS / 4) {
          await attacker.expect(201, `${path}/add`, longIdWrite(from, LONG_IDS / 4));
        }
        const got = await attacker.expect<{ ids: string[] }>(200, `${path}/get`, { ids, include: [] });
        expect(got.ids.length).toBe(LONG_IDS);
        const search = { filter: { "#id": { $in: ids } }, limit: { limit: 3 } };
        const found = await attacker.expect<{ ids: string[][] }>(200, `${path}/search`, {
          searches: [search],
        });
        expect(found.ids).toEqual([ids.slice(0, 3)]);
        const all = JSON.stringify({ ids });
        expect(await attacker.expect(200, `${path}/delete`, all)).toEqual({ deleted: LONG_IDS });
        expect(await attacker.expect(200, `${path}/count`)).toBe(0);
      });
    },
    MOST_MS,
  );
});

describe("sparse vectors of 16,384 terms", () => {
  it(
    "are written and searched, 64 in an expression",
    async () => {
      const { attacker } = stage;
      const path = await attacker.createCollection("sparse", { schema: SPARSE_SCHEMA });
      await stage.unharmed(WITHIN_MIB, async () => {
        await attacker.expect(201, `${path}/add`, sparseWrite());
        const reply = await attacker.send(`${path}/search`, sparseSearches());
        expect([200, 504]).toContain(reply.status);
        const { ids } = (await reply.json()) as { ids?: string[][] };
        if (reply.status === 200) expect(ids?.every(([first]) => first === "r0")).toBe(true);
      });
      const few = await attacker.expect<{ ids: string[][] }>(200, `${path}/search`, sparseSearches(1, 2));
      expect([few.ids[0]![0], SPARSE_TERMS]).toEqual(["r0", LIMITS.sparseNonZeros]);
    },
    MOST_MS,
  );
});

describe("rank expressions of 1,000 nodes over 64 leaves", () => {
  let hurried: Stage;
  beforeAll(async () => {
    hurried = await Stage.open({ args: ["--request-seconds", String(REQUEST_SECONDS)] });
  });
  afterAll(() => hurried.close());

  it(
    "are answered or ended in time, 100 in each of several calls",
    async () => {
      const { attacker } = hurried;
      const path = await attacker.createCollection("ranked");
      for (let from = 0; from < LARGEST_RANKS.records; from += 10_000) {
        const numbers = Array.from({ length: 10_000 }, (_, i) => from + i);
        await attacker.expect(201, `${path}/add`, {
          ids: numbers.map((i) => `r${i}`),
          embeddings: numbers.map((i) => [i, 1]),
        });
      }
      const { value } = await hurried.unharmed(WITHIN_MIB, () =>
        Promise.all(
          Array.from({ length: LARGEST_RANKS.callers }, async () => {
            const reply = await attacker.send(`${path}/search`, rankSearches(100));
            await reply.arrayBuffer();
            return reply.status;
          }),
        ),
      );
      expect(value.filter((status) => ![200, 429, 504].includes(status))).toEqual([]);
      const { ids } = await attacker.expect<{ ids: string[][] }>(200, `${path}/search`, rankSearches(1));
      expect(ids[0]!.slice(0, 3)).toEqual(["r0", "r1", "r2"]);
    },
    MOST_MS,
  );
});
