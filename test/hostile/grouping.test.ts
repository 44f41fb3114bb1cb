/**
 * Grouping and ordering by metadata of a megabyte and more, asked for by few bytes: the engine host stays within its
 * memory and answers others meanwhile, and the groups are right.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Stage } from "./testing/stage.ts";

const WITHIN_MIB = 2_000;
const MIB = 1024 * 1024;
const RECORDS_PER_CALL = 2;
/** Sixteen copies of their keys are more than may be held. */
const GROUPED_RECORDS = 160;
/** Tells slow from hung on a machine that does other things. */
const MOST_MS = 240_000;

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

interface Found {
  readonly ids: readonly (readonly string[])[];
}

/** Records `r0`, `r1`, ... in the order of their distance from [0]. */
async function fill(name: string, count: number, metadata: (i: number) => object): Promise<string> {
  const path = await stage.attacker.createCollection(name);
  for (let first = 0; first < count; first += RECORDS_PER_CALL) {
    const numbers = Array.from({ length: Math.min(RECORDS_PER_CALL, count - first) }, (_, i) => first + i);
    await stage.attacker.expect(201, `${path}/add`, {
      ids: numbers.map((i) => `r${i}`),
      embeddings: numbers.map((i) => [i]),
      metadatas: numbers.map(metadata),
    });
  }
  return path;
}

async function grouped(path: string, keys: readonly string[], aggregate: object): Promise<readonly string[]> {
  const search = {
    rank: { $knn: { query: [0], limit: 1_000 } },
    group_by: { keys, aggregate },
    limit: { limit: 1_000 },
  };
  const { ids } = await stage.attacker.expect<Found>(200, `${path}/search`, { searches: [search] });
  return ids[0]!;
}

function sixteen(key: string): string[] {
  return Array.from({ length: 16 }, () => key);
}

describe("metadata of a megabyte", () => {
  it(
    "is grouped by in little memory, by one key sixteen times as by one",
    async () => {
      // Pairs share a value, which no other has; what differs comes last.
      const path = await fill("groups", GROUPED_RECORDS, (i) => ({
        k: `${"x".repeat(MIB - 4)}${Math.floor(i / 2)}`,
      }));
      const byScore = { $max_k: { keys: ["#score"], k: 1 } };
      const { value } = await stage.unharmed(WITHIN_MIB, () => grouped(path, sixteen("k"), byScore));
      expect(value).toEqual(Array.from({ length: GROUPED_RECORDS / 2 }, (_, group) => `r${2 * group + 1}`));
      expect(await grouped(path, ["k"], byScore)).toEqual(value);
    },
    MOST_MS,
  );

  it(
    "is ordered by while others are answered",
    async () => {
      // The last character alone tells which is the largest.
      const last = (i: number): string => (i === 37 ? "z" : "y");
      const path = await fill("orders", 100, (i) => ({ k: "é".repeat(500_000) + last(i), n: i }));
      const largest = { $max_k: { keys: sixteen("k"), k: 1 } };
      const { value } = await stage.unharmed(WITHIN_MIB, () => grouped(path, ["absent"], largest));
      expect(value).toEqual(["r37"]);
      expect(await grouped(path, ["absent"], { $max_k: { keys: ["k", "n"], k: 2 } })).toEqual(["r37", "r99"]);
    },
    MOST_MS,
  );

  it(
    "is ordered by sixteen different keys while others are answered",
    async () => {
      const text = "é".repeat(500_000);
      const names = sixteen("k").map((key, i) => `${key}${i}`);
      const metadata = Object.fromEntries(names.map((name) => [name, text]));
      const path = await fill("keys", 10, (i) => ({ ...metadata, k15: `${text}${i}` }));
      const largest = { $max_k: { keys: names, k: 1 } };
      const { value } = await stage.unharmed(WITHIN_MIB, () => grouped(path, names.slice(0, 15), largest));
      expect(value).toEqual(["r9"]);
    },
    MOST_MS,
  );
});
